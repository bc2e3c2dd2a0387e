package main

import (
	"cmp"
	"context"
	"crypto/sha512"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"codeagent/cmd/codeagent/cli"
	"codeagent/config"
	"codeagent/exec"
	"codeagent/exec/verdict"
	"codeagent/gitrun"
	"codeagent/hostfile"
	"codeagent/linuxsandbox"
	"codeagent/sandbox"
	"codeagent/seatbelt"
)

// box is everything a command needs to run: the settings, the policy they make,
// and a runner over this system's backend.
type box struct {
	cfg       config.Config
	paths     config.Paths
	workspace string // canonical
	place     config.Place
	policy    sandbox.Policy
	// fetchHosts are what fetch_url may reach besides.
	fetchHosts []sandbox.HostPort
	files      verdict.FileSystem
	runner     *exec.Runner
	// enforcement is what the runner's backend holds of policy.
	enforcement sandbox.Enforcement
	git         *gitrun.Git
	// grantsHosts and grantsSockets: single ones can be opened here.
	grantsHosts, grantsSockets bool
	// reports: the box is made to say what works, and is made where nothing does. cannot
	// is then why no command can run under the settings; without a sandbox there is no
	// runner, with one it runs under a policy that only reads.
	reports bool
	cannot  error
	// offered is the system's backend, nil where there is none.
	offered sandbox.Backend
	s       cli.Stdio
	// linux returns the Linux backend, which is made ready while the settings
	// are read.
	linux   func() (*linuxsandbox.Backend, error)
	closers []func() error
	// recorded is what commands of earlier sessions could write, live the policy with
	// what this one granted; nil before there is a gate.
	recorded hostfile.Ground
	noting   sync.Mutex // guards recorded once commands run
	// madeGit lists the git directories that commands of the session made, nil where
	// that is not known.
	madeGit func() []string
	live    func() sandbox.Policy
}

// newBox reads the settings and builds the policy and the runner.
func newBox(ctx context.Context, s cli.Stdio, f cli.Flags, x sandboxFlags) (*box, error) {
	return openBox(ctx, &box{files: exec.OS{}, s: s, linux: prepareLinux(s.HelperSum)}, f, x)
}

// newReportBox is newBox for a report: no sandbox is no error.
func newReportBox(ctx context.Context, s cli.Stdio, f cli.Flags) (*box, error) {
	return openBox(ctx, &box{files: exec.OS{}, s: s, linux: prepareLinux(s.HelperSum), reports: true}, f, sandboxFlags{})
}

func openBox(ctx context.Context, b *box, f cli.Flags, x sandboxFlags) (*box, error) {
	if err := b.open(ctx, f, x); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// prepareLinux copies the helper and checks its sum, some milliseconds, while
// other things are done. It starts nothing.
func prepareLinux(helperSum string) func() (*linuxsandbox.Backend, error) {
	type made struct {
		backend *linuxsandbox.Backend
		err     error
	}
	ready := make(chan made, 1)
	go func() { // ends by itself; what nobody takes is closed by the exit
		backend, err := linuxsandbox.New(linuxsandbox.Options{HelperSum: helperSum, Hash: sha512.New, Lookup: net.DefaultResolver.LookupNetIP})
		ready <- made{backend, err}
	}()
	return func() (*linuxsandbox.Backend, error) {
		m := <-ready
		return m.backend, m.err
	}
}

func (b *box) open(ctx context.Context, f cli.Flags, x sandboxFlags) error {
	var err error
	if b.paths, b.recorded, err = places(ctx, b.s); err != nil {
		return err
	}
	if err := b.enter(f.Folder); err != nil {
		return err
	}
	sources, err := b.sources(f, x)
	if err != nil {
		return err
	}
	if b.cfg, err = config.Load(ctx, sources); err != nil {
		return &cli.UsageError{Err: err, Hints: []string{"the settings are listed in docs/config.md"}}
	}
	if err := b.paths.Create(); err != nil {
		return &cli.HintError{Err: err, Code: cli.ExitFailed, Hints: []string{"CODEAGENT_HOME can name another folder for settings and sessions"}}
	}
	temp, remove, err := b.paths.NewTemp()
	if err != nil {
		return cli.StorageError(err)
	}
	b.closers = append(b.closers, remove)
	go b.paths.SweepTemp() // nothing waits for it
	b.place = config.Place{
		Workspace: b.workspace, Home: b.s.Env("HOME"), Paths: b.paths, Own: ownBinaries(), Temp: temp, Files: b.files, Ground: b.recorded,
	}
	b.policy, err = config.Policy(b.cfg, b.place)
	if err != nil && b.reports {
		b.cannot = &cli.UsageError{Err: err}
		b.policy, err = b.onlyRead() // what this machine holds is tried all the same
	}
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	if b.fetchHosts, err = config.FetchHosts(b.cfg); err != nil {
		return &cli.UsageError{Err: err}
	}
	if b.policy, err = b.withCaches(b.policy); err != nil {
		return err
	}
	if err := b.noteRoots(b.policy); err != nil {
		return err
	}
	backend, err := b.backend()
	if err != nil && b.reports {
		b.cannot = cmp.Or(b.cannot, err)
		return nil
	}
	if err != nil {
		return err
	}
	b.runner = exec.New(exec.Options{
		Backend: backend, None: exec.Plain{}, SpillDir: b.paths.Output, SpillSession: b.cfg.Sandbox.Limits.OutputSessionMB << 20,
		SpillAll: b.cfg.Sandbox.Limits.OutputAllMB << 20, Environ: b.s.Environ, Files: b.files,
		Evidence: b.cfg.Sandbox.EvidenceLevel(), Begins: b.noteGrants,
	})
	b.git = b.newGit(backend)
	b.grantsHosts = opens(backend, sandbox.Grant{Hosts: []sandbox.HostPort{{Host: "localhost", Port: 1}}})
	b.grantsSockets = opens(backend, sandbox.Grant{Sockets: []string{"/run/socket"}})
	if b.enforcement.Backend == "" { // not the system's own backend
		b.enforcement, err = b.runner.Enforcement(b.policy)
	}
	return err
}

// onlyRead is a policy that every workspace allows.
func (b *box) onlyRead() (sandbox.Policy, error) {
	c := b.cfg
	c.Sandbox.Mode, c.Sandbox.AddDirs, c.Sandbox.AddFiles = config.ReadOnly, nil, nil
	return config.Policy(c, b.place)
}

// opens reports whether the backend can open what g names, and nothing else.
func opens(backend sandbox.Backend, g sandbox.Grant) bool {
	if backend == nil {
		return false
	}
	_, err := backend.Enforcement(sandbox.ReadOnly().With(g))
	return err == nil
}

// newGit returns what asks git for codeagent itself: always confined, also when
// commands are not. Without a sandbox there is no git to ask.
func (b *box) newGit(backend sandbox.Backend) *gitrun.Git {
	o := gitrun.Options{Policy: b.policy}
	if _, plain := backend.(exec.Plain); backend != nil && !plain {
		o.Runner, o.Program = exec.New(exec.Options{Backend: backend, Files: b.files}), b.program("git")
	}
	return gitrun.New(o)
}

// enter settles the workspace: the folder of --cd, else the current one, which
// need not be there where another is named.
func (b *box) enter(folder string) error {
	here, name := "", "--cd "+folder
	if !filepath.IsAbs(folder) {
		var err error
		if here, err = os.Getwd(); err != nil {
			return &cli.UsageError{Err: fmt.Errorf("current folder: %w", err), Hints: []string{"go to another, or name one with --cd"}}
		}
	}
	// Where the user stands already is taken as it is; a name that leads there now, or
	// that a session kept, may be a link that a command has put there since.
	resolve := b.recorded.Resolve
	if folder == "" {
		folder, name, resolve = here, "current folder", b.follow
	}
	var err error
	if b.workspace, err = resolve(here, folder); err != nil {
		return &cli.UsageError{Err: fmt.Errorf("%s: %w", name, err)}
	}
	info, err := hostfile.Lstat(b.workspace)
	if err == nil && !info.IsDir() {
		err = errors.New("not a folder")
	}
	if err != nil {
		return &cli.UsageError{Err: fmt.Errorf("%s: %w", name, err)}
	}
	return nil
}

// sources are what the settings are read from. An empty value of a list's flag is
// an unset variable in the shell, mostly: it is refused, and not left out.
func (b *box) sources(f cli.Flags, x sandboxFlags) (config.Sources, error) {
	src := config.Sources{File: b.paths.File, Workspace: b.workspace, Getenv: b.s.Env, Overrides: f.Settings}
	add := func(name, key, value string) {
		if value != "" {
			src.Flags = append(src.Flags, config.Flag{Name: name, Key: key, Values: []string{value}})
		}
	}
	var empty error
	addAll := func(name, key string, values []string) {
		if slices.Contains(values, "") {
			empty = errors.Join(empty, fmt.Errorf("%s: the value is empty", name))
		}
		if len(values) > 0 {
			src.Flags = append(src.Flags, config.Flag{Name: name, Key: key, Values: values})
		}
	}
	add("--sandbox", "sandbox.mode", f.Sandbox)
	add("--ask-for-approval", "ask_for_approval", f.Approval)
	add("--model", "model", f.Model)
	addAll("--add-dir", "sandbox.add_dirs", absolute(f.AddDirs))
	addAll("--add-file", "sandbox.add_files", absolute(f.AddFiles))
	addAll("--deny-read", "sandbox.deny_read", x.denyRead)
	addAll("--allow-host", "sandbox.allow_hosts", f.Hosts)
	addAll("--allow-fetch", "sandbox.allow_fetch", f.FetchHosts)
	addAll("--allow-socket", "sandbox.allow_sockets", x.sockets)
	if empty != nil {
		return src, &cli.UsageError{Err: empty}
	}
	return src, nil
}

// absolute makes what was typed mean what it means in the shell it was typed
// in, also with --cd. An empty one stays empty.
func absolute(dirs []string) []string {
	var out []string
	for _, d := range dirs {
		if a, err := filepath.Abs(d); err == nil && d != "" && !strings.HasPrefix(d, "~") {
			d = a
		}
		out = append(out, d)
	}
	return out
}

// backend picks the system's backend: one line each. Where none works, the
// setting sandbox.fallback decides; it is checked by asking for the
// enforcement of this very policy.
func (b *box) backend() (sandbox.Backend, error) {
	var backend sandbox.Backend
	var err error
	switch runtime.GOOS {
	case "linux":
		var linux *linuxsandbox.Backend
		if linux, err = b.linux(); err == nil {
			b.closers = append(b.closers, linux.Close)
			backend, b.madeGit = linux, linux.MadeGit
		}
	case "darwin":
		backend = seatbelt.New(seatbelt.Options{})
	default:
		err = fmt.Errorf("there is no sandbox for %s", runtime.GOOS)
	}
	b.offered = backend
	if b.policy.Unconfined {
		return backend, nil // never used: the runner takes None
	}
	if err != nil && runtime.GOOS == "linux" {
		// A helper that cannot be read or is not ours says nothing about the system: no
		// setting makes that a reason to run unconfined.
		return nil, cannotConfine(err, false)
	}
	if err == nil {
		b.enforcement, err = backend.Enforcement(b.policy)
	}
	if err == nil {
		if missing := b.cfg.Sandbox.MissingLayers(b.enforcement); len(missing) > 0 {
			return nil, cannotConfine(fmt.Errorf("sandbox.required_layers: not active here: %s", strings.Join(missing, ", ")), false)
		}
		return backend, nil
	}
	if backend != nil {
		// Where another policy can be held, this one is to be changed, and not
		// given up with all the rest.
		if _, other := backend.Enforcement(sandbox.ReadOnly()); other == nil {
			return nil, cannotConfine(err, false)
		}
	}
	if b.cfg.Sandbox.Warn {
		return exec.Plain{}, nil
	}
	return nil, cannotConfine(err, true)
}

// cannotConfine is the error of a run without a sandbox. The setting that gives
// up on one is offered only where none works.
func cannotConfine(err error, none bool) error {
	var start *sandbox.StartError
	if !errors.As(err, &start) {
		err = &sandbox.StartError{Code: sandbox.ExitCannotConfine, Stage: "backend", Err: err}
	}
	hints := []string{"codeagent doctor says what this machine can enforce"}
	if none {
		hints = append(hints, "-c sandbox.fallback=warn runs commands unconfined, under a standing warning")
	}
	return &cli.HintError{Err: err, Code: sandbox.ExitCannotConfine, Hints: hints}
}

// ownBinaries are the programs that a command must not be able to replace: this
// one and the helper beside it, also where there is none: the next start would take up
// what a command has put there, and run it unconfined.
func ownBinaries() []string {
	exe, err := os.Executable()
	if err != nil {
		return nil
	}
	if real, err := sandbox.Canonical(hostfile.OS{}, "/", exe); err == nil {
		exe = real
	}
	return []string{exe, filepath.Join(filepath.Dir(exe), linuxsandbox.HelperName)}
}

func (b *box) close() {
	for i := len(b.closers) - 1; i >= 0; i-- {
		_ = b.closers[i]() // leaving: what cannot be closed is closed by the exit
	}
}

// shell is what runs the model's commands: bash, or sh where there is none.
func (b *box) shell() string {
	if sh := b.program("bash", "sh"); sh != "" {
		return sh
	}
	return "/bin/sh"
}

// workdirs are the folders a model may choose as its working directory.
func (b *box) workdirs() []string {
	dirs := []string{b.workspace}
	for _, r := range b.policy.Write {
		dirs = append(dirs, r.Path)
	}
	return dirs
}
