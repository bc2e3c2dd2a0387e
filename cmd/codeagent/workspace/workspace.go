// Package workspace opens a folder to work in: it reads the settings, builds the policy
// and starts the system's sandbox, so that a command of codeagent has a runner. It may
// look at files through hostfile and ask git inside the sandbox; it writes only the
// record of what commands could write, and the commands' caches. Read Workspace.open
// first, then backend.go for what happens if no sandbox works.
package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"codeagent/approvals"
	"codeagent/cmd/codeagent/cli"
	"codeagent/config"
	"codeagent/draft"
	"codeagent/exec"
	"codeagent/exec/experiment"
	"codeagent/exec/verdict"
	"codeagent/gitrun"
	"codeagent/hostfile"
	"codeagent/linuxsandbox"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// Workspace is an opened folder: the settings, the policy made from them, and a runner over
// this system's backend.
type Workspace struct {
	Config config.Config
	Paths  config.Paths
	Folder string // canonical
	Place  config.Place
	Policy sandbox.Policy
	// FetchHosts are the hosts that fetch_url may reach and commands may not.
	FetchHosts []sandbox.HostPort
	Files      verdict.FileSystem
	Runner     *exec.Runner
	// InUse, if set, returns a file that is locked as long as processes of the session run: exec.Options.Alive.
	InUse func() *os.File
	// Enforcement is what the runner's backend enforces for Policy; unknown after OpenForOne.
	Enforcement sandbox.Enforcement
	git         gitState
	// confined runs what is always confined, also where the commands of the model are not; nil
	// without a sandbox.
	confined *exec.Runner
	// reports: the workspace is opened for a report, even if no sandbox works. Cannot is then
	// why no command can run under the settings. Without a sandbox there is no Runner;
	// otherwise Runner uses a read-only policy.
	reports bool
	Cannot  error
	// forOne: the workspace is opened for one command, which shows what the backend enforces.
	// It has no git. used is the backend.
	forOne bool
	used   resolved.Backend
	// Offered is the system's backend; nil if the system has none.
	Offered resolved.Backend
	Stdio   cli.Stdio
	Process cli.Process
	// linux is the Linux backend, which is prepared while the settings are read; unprepared is why
	// that failed.
	linux      *linuxsandbox.Backend
	unprepared error
	// native: the system's own backend is chosen.
	native bool
	// modules, if set, makes a backend whose commands are WebAssembly modules in the given sandbox of the system.
	modules func(inner resolved.Backend) resolved.Backend
	others  others
	closers []func() error
	// recorded is what commands of earlier sessions could write. Live returns the policy with
	// this session's grants; nil before there is a gate.
	recorded hostfile.Ground
	noting   sync.Mutex // guards recorded once commands run
	// MadeGit lists the git directories that commands of the session made; nil if that is not
	// known.
	MadeGit func() []string
	// Trees are the commands, servers and edits of the session, and what they changed.
	Trees exec.Trees
	// Draft is what the session works on; nil: on the files. Real is then a runner for these.
	Draft *draft.Draft
	Real  *exec.Runner
	Live  func() sandbox.Policy
}

// Open reads the settings and builds the policy and the runner.
func Open(ctx context.Context, s cli.Stdio, f cli.Flags) (*Workspace, error) {
	return prepare(ctx, &Workspace{Files: exec.OS{}, Stdio: s}, f)
}

// OpenReport is Open for a report: a missing sandbox is not an error.
func OpenReport(ctx context.Context, s cli.Stdio, f cli.Flags) (*Workspace, error) {
	return prepare(ctx, &Workspace{Files: exec.OS{}, Stdio: s, reports: true}, f)
}

// OpenForOne is Open for a single command: its start finds out what this machine enforces, which
// otherwise takes a start of its own. Unfit says why it could not start.
func OpenForOne(ctx context.Context, s cli.Stdio, f cli.Flags) (*Workspace, error) {
	return prepare(ctx, &Workspace{Files: exec.OS{}, Stdio: s, forOne: true}, f)
}

func prepare(ctx context.Context, ws *Workspace, f cli.Flags) (*Workspace, error) {
	ws.Process = f.Process
	if ws.linux, ws.unprepared = Linux(f.Process); ws.unprepared == nil {
		ws.AtClose(ws.linux.Close)
	}
	if err := ws.open(ctx, f); err != nil {
		ws.Close()
		return nil, err
	}
	return ws, nil
}

// Enter returns the folder that a run would work in.
func Enter(s cli.Stdio, f cli.Flags) (string, error) {
	ws := &Workspace{Files: exec.OS{}, Stdio: s}
	err := ws.enter(f.Folder)
	return ws.Folder, err
}

func (ws *Workspace) open(ctx context.Context, f cli.Flags) error {
	sources, err := ws.locate(ctx, f)
	if err != nil {
		return err
	}
	if ws.Config, err = config.Load(ctx, sources); err != nil {
		return cli.Usage(err, "codeagent help config lists the settings")
	}
	if err := ws.Paths.Create(); err != nil {
		return cli.StorageError(err, "CODEAGENT_HOME can name another folder for settings and sessions")
	}
	temp, remove, err := ws.Paths.NewTemp()
	if err != nil {
		return cli.StorageError(err)
	}
	ws.AtClose(remove)
	ws.AtClose(ws.git.settle)
	ws.AtClose(ws.others.close)
	go ws.Paths.SweepTemp() // nothing waits for it
	ws.Place = config.Place{
		Workspace: ws.Folder, Home: ws.Stdio.Env("HOME"), Paths: ws.Paths, Own: OwnPrograms(), Temp: temp, Files: ws.Files, Ground: ws.recorded, Program: ws.Program,
	}
	ws.Policy, err = config.Policy(ws.Config, ws.Place)
	if err != nil && ws.reports {
		ws.Cannot = cli.Usage(err)
		ws.Policy, err = ws.onlyRead() // the enforcement of this machine is still tested
	}
	if err != nil {
		return cli.Usage(err)
	}
	if ws.FetchHosts, err = config.FetchHosts(ws.Config); err != nil {
		return cli.Usage(err)
	}
	if ws.Policy, err = ws.withCaches(ws.Policy); err != nil {
		return err
	}
	if err := ws.noteRoots(ws.Policy); err != nil {
		return err
	}
	backend, err := ws.backend()
	if err != nil && ws.reports {
		ws.Cannot = cmp.Or(ws.Cannot, err)
		return nil
	}
	if err != nil {
		return err
	}
	if f.Draft != "" {
		if err := ws.workOnDraft(f.Draft, backend); err != nil {
			if start := (*sandbox.StartError)(nil); errors.As(err, &start) {
				err = start.Err
			}
			return cli.Hinted(cli.ExitFailed, &DraftError{fmt.Errorf("no draft: %w", err)})
		}
		backend = ws.linux
	}
	ws.Runner = runnerOf(ws, ws.commands(backend), ws.outside(), ws.draft())
	if ws.used = backend; !ws.forOne {
		ws.git.Git = ws.newGit(backend)
	}
	if ws.Enforcement.Backend == "" && !ws.unchecked() { // not the system's own backend
		ws.Enforcement, err = ws.Runner.Enforcement(ws.Policy)
	}
	return err
}

// runnerOf returns a runner over backend, which works on the draft on; none runs what is not confined.
func runnerOf(ws *Workspace, backend, none resolved.Backend, on exec.Draft) *exec.Runner {
	ground := ws.Ground
	if ws.Policy.Unconfined {
		ground = nil // nothing is kept from commands
	}
	return exec.New(exec.Options{
		Backend: backend, None: none, Draft: on, SpillDir: ws.Paths.Output,
		SpillAll: ws.Config.Sandbox.Limits.OutputAllMB << 20, Environ: ws.Stdio.Environ, Files: ws.Files,
		Evidence: ws.Config.Sandbox.EvidenceLevel(), Begins: ws.NoteGrants, Trees: &ws.Trees, Ground: ground, Versions: ws.git.versions,
		Alive: func() *os.File {
			if ws.InUse == nil {
				return nil
			}
			return ws.InUse()
		},
	})
}

// Apart returns a runner whose programs share no network with the commands of the session nor with
// those of other such runners, where the system has networks of their own. over releases it.
func (ws *Workspace) Apart() (r *exec.Runner, over func(), err error) { return ws.apart(ws.commands) }

// ApartAsSystem is Apart for programs that the user has set up, which the sandbox of the system confines: a backend that
// runs modules alone could not start them.
func (ws *Workspace) ApartAsSystem() (r *exec.Runner, over func(), err error) {
	return ws.apart(asSystem)
}

// ApartOn is ApartAsSystem in the backend with that name; "" is that of the session.
func (ws *Workspace) ApartOn(name string) (r *exec.Runner, over func(), err error) {
	if name == "" {
		return ws.ApartAsSystem()
	}
	of, made, err := ws.another(name)
	switch {
	case err != nil:
		return nil, nil, err
	case made != nil:
		return runnerOf(ws, made, nil, nil), func() { _ = made.Close() }, nil
	}
	return ws.apart(of)
}

func asSystem(system resolved.Backend) resolved.Backend { return system }

// System is the runner of programs that the sandbox of the system confines.
func (ws *Workspace) System() *exec.Runner {
	if ws.modules != nil && ws.confined != nil {
		return ws.confined
	}
	return ws.Runner
}

func (ws *Workspace) apart(of func(system resolved.Backend) resolved.Backend) (r *exec.Runner, over func(), err error) {
	if ws.linux == nil {
		return ws.Runner, func() {}, nil
	}
	backend, err := ws.linux.Apart()
	if err != nil {
		return nil, nil, err
	}
	return runnerOf(ws, of(backend), nil, ws.draft()), func() { _ = backend.Close() }, nil
}

// OnDrafts is Apart for one command on a draft. Nothing that it does is remembered for the session.
func (ws *Workspace) OnDrafts() (r *exec.Runner, over func(), err error) {
	return ws.onDrafts(ws.commands)
}

func (ws *Workspace) onDrafts(of func(system resolved.Backend) resolved.Backend) (r *exec.Runner, over func(), err error) {
	if ws.linux == nil {
		return ws.Runner, func() {}, nil // which has no drafts, and says so
	}
	if ws.Draft != nil {
		return nil, nil, errors.New("the session itself works on a draft")
	}
	backend, err := ws.linux.OnDrafts()
	if err != nil {
		return nil, nil, err
	}
	over = func() { _ = backend.Close() }
	if err := backend.Share(ws.locks()); err != nil {
		over()
		return nil, nil, err
	}
	return runnerOf(ws, of(backend), nil, nil), over, nil
}

// Lab is where failed commands of the model run again on drafts; nil where that is switched off or impossible.
func (ws *Workspace) Lab() *experiment.Lab {
	if ws.linux == nil || ws.Draft != nil || !ws.Config.Sandbox.Experiments || !slices.Contains(ws.Enforcement.Active(), "mountns") || !ws.Enforcement.Observes {
		return nil
	}
	return &experiment.Lab{Runner: ws.OnDrafts, Drafts: ws.Paths.Drafts, Trees: &ws.Trees, Files: ws.Files}
}

// Grantable reports whether the backend can grant a single host and a single socket.
func (ws *Workspace) Grantable() (hosts, sockets bool) {
	return approvals.Grantable(exec.New(exec.Options{Backend: ws.commands(ws.used)}).Enforcement)
}

// Confines reports whether a sandbox works here, also where commands run without one.
func (ws *Workspace) Confines() bool { return ws.confined != nil }

// onlyRead returns a policy that every workspace allows.
func (ws *Workspace) onlyRead() (sandbox.Policy, error) {
	c := ws.Config
	c.Sandbox.Mode, c.Sandbox.AddDirs, c.Sandbox.AddFiles = config.ReadOnly, nil, nil
	return config.Policy(c, ws.Place)
}

// newGit returns the runner of codeagent's own git queries. They are always confined, also
// when commands are not. Without a sandbox there is no git.
func (ws *Workspace) newGit(backend resolved.Backend) *gitrun.Git {
	o := gitrun.Options{Policy: ws.Policy}
	if _, plain := backend.(exec.Plain); backend != nil && !plain {
		ws.confined = exec.New(exec.Options{Backend: backend, Environ: ws.Stdio.Environ, Files: ws.Files, Trees: &ws.Trees, Draft: ws.draft()})
		o.Runner, o.Program = ws.confined, ws.Program("git")
	}
	return gitrun.New(o)
}

// AtClose adds what Close calls. All that is built over the workspace is closed by this one stack.
func (ws *Workspace) AtClose(end func() error) { ws.closers = append(ws.closers, end) }

// Close releases what was opened, the last first. It names processes that cannot be killed; other errors
// nobody reads: the program ends, and the exit closes what else is open.
func (ws *Workspace) Close() {
	for _, end := range slices.Backward(ws.closers) {
		if left := (*sandbox.LeftError)(nil); errors.As(end(), &left) {
			fmt.Fprintf(ws.Stdio.Err, "codeagent: could not be killed and still there: %q\n", left.Processes)
		}
	}
}

// Shell returns the shell for the model's commands: bash, else sh.
func (ws *Workspace) Shell() string {
	if sh := ws.Program("bash", "sh"); sh != "" {
		return sh
	}
	return "/bin/sh"
}
