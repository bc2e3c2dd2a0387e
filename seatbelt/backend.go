package seatbelt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// sandboxExec is the path at which Apple installs the tool.
const sandboxExec = "/usr/bin/sandbox-exec"

// FileWorkerArg as the only argument makes codeagent's own executable run package
// internal/fileworker on standard input and output.
const FileWorkerArg = "__file-worker"

// Options configure a Backend.
type Options struct {
	// Self is the path of codeagent's own executable, for the file worker. If it is empty, the
	// Backend uses os.Executable.
	Self string
}

// Backend runs commands under sandbox-exec. It is safe for concurrent use.
type Backend struct {
	self, tool, system string

	mu sync.Mutex
	// tried holds the result of the first run for each profile with its parameters.
	tried map[string]error
}

// New returns the backend. On other systems than macOS each of its methods returns an error.
func New(o Options) *Backend {
	return &Backend{self: o.Self, tool: sandboxExec, system: runtime.GOOS, tried: map[string]error{}}
}

// Name is "seatbelt".
func (b *Backend) Name() string { return "seatbelt" }

// Enforcement tries the profile of p with a program that does nothing, and a read-only profile with
// a write that must fail.
func (b *Backend) Enforcement(p resolved.Policy) (sandbox.Enforcement, error) {
	e := sandbox.Enforcement{Backend: b.Name(), Layers: []sandbox.Layer{{Name: "seatbelt", State: sandbox.LayerAbsent}}, Weaknesses: Weaknesses(p)}
	_, err := b.prepare(p, "")
	if err == nil {
		err = b.try([]string{"a write that must fail"}, b.deniesWrite)
	}
	if err != nil {
		e.Layers[0].Reason = err.Error()
		return e, err
	}
	e.Layers[0] = sandbox.Layer{Name: "seatbelt", State: sandbox.LayerActive, Reason: "a write outside was refused"}
	return e, nil
}

// prepare builds the start of the argv (the tool, the profile, its parameters) and tries it once.
// terminal is the path of the command's own terminal; "" if it has none.
func (b *Backend) prepare(p resolved.Policy, terminal string) ([]string, error) {
	if b.system != "darwin" {
		return nil, fmt.Errorf("seatbelt needs macOS, this is %s", b.system)
	}
	text, params, err := Profile(p)
	if err != nil {
		return nil, err
	}
	if err := checkRoots(p); err != nil {
		return nil, err
	}
	if terminal != "" {
		rules, err := terminalRules(terminal)
		if err != nil {
			return nil, err
		}
		text += rules
	}
	argv := Argv(b.tool, text, params)
	return argv, b.try(argv, func() error { return b.nothing(argv) })
}

// checkRoots refuses roots that are missing or are links, and the whole system as a write root.
func checkRoots(p resolved.Policy) error {
	for _, r := range slices.Concat(p.Read, declared(p)) {
		leads, err := filepath.EvalSymlinks(r.Path)
		if errors.Is(err, fs.ErrNotExist) && r.Optional {
			continue
		}
		if err != nil {
			return fmt.Errorf("root %s: %w", r.Path, err)
		}
		if r.Optional {
			continue // the kernel checks the link's target, which the profile then does not open
		}
		// Some paths differ on every Mac: /tmp is a link to /private/tmp.
		want, err := exact(r.Path)
		if err != nil {
			return err
		}
		if is, err := exact(leads); err != nil || is != want {
			return fmt.Errorf("root %s: a symbolic link is on the way that was not there when the policy was made", r.Path)
		}
	}
	if slices.Contains(p.Paths(), "/") {
		return errors.New("write root /: the whole system cannot be a write root")
	}
	return nil
}

// Argv is the command line up to and including "--".
func Argv(tool, profile string, params []Param) []string {
	argv := []string{tool, "-p", profile}
	for _, p := range params {
		argv = append(argv, "-D", p.Name+"="+p.Value)
	}
	return append(argv, "--")
}

// try runs a check once for each key and stores its result.
func (b *Backend) try(key []string, check func() error) error {
	name := strings.Join(key, "\x00")
	b.mu.Lock()
	defer b.mu.Unlock()
	err, ok := b.tried[name]
	if !ok {
		err = check()
		b.tried[name] = err
	}
	return err
}

// nothing runs a program without effect under the profile. sandbox-exec reports an invalid profile
// only by its exit status, which a command could also return. So the backend tries each profile
// before its first command.
func (b *Backend) nothing(argv []string) error {
	if stderr, err := confined(argv, "/usr/bin/true"); err != nil {
		said := strings.TrimSpace(stderr)
		if strings.Contains(said, "sandbox_apply") {
			said += " (codeagent itself runs in a sandbox, and a second one cannot be put inside)"
		}
		return fmt.Errorf("sandbox-exec does not take the profile: %w: %.500q", err, said)
	}
	return nil
}

// confined runs a program of the system under a profile.
func confined(argv []string, program ...string) (stderr string, err error) {
	argv = slices.Concat(argv, program)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = []string{}, "/"
	var said bytes.Buffer
	cmd.Stderr = &said
	err = cmd.Run()
	return said.String(), err
}

func (b *Backend) deniesWrite() error {
	dir, err := os.MkdirTemp("", "codeagent-seatbelt-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	text, params, err := Profile(resolved.ReadOnly())
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "probe")
	_, err = confined(Argv(b.tool, text, params), "/usr/bin/touch", file)
	var exit *exec.ExitError
	if _, missing := os.Lstat(file); !errors.Is(missing, fs.ErrNotExist) {
		return errors.New("a write that the profile refuses went through")
	}
	if !errors.As(err, &exit) {
		return fmt.Errorf("a write that must fail was not refused: %v", err)
	}
	return nil
}

// Start runs cmd under the profile of p. It ignores the Holder, because it cannot hold calls.
func (b *Backend) Start(ctx context.Context, p resolved.Policy, c sandbox.Command, _ sandbox.Holder) (sandbox.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, cannot("start", err)
	}
	program, args, err := b.program(c)
	if err != nil {
		return nil, err
	}
	if c.Path == sandbox.FileWorker {
		p = p.Plus(nil, []string{program}) // codeagent's own executable, which must be readable to start
	}
	terminal := ""
	if c.Terminal && c.Stdin != nil {
		terminal = c.Stdin.Name()
	}
	argv, err := b.prepare(p, terminal)
	if err != nil {
		return nil, cannot("seatbelt", err)
	}
	if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
		if err == nil {
			err = fmt.Errorf("%q is not a folder", c.Dir)
		}
		return nil, cannot("chdir", err)
	}
	shield()
	argv = append(argv, wrap(p.Limits, program, args, c.Env)...)
	process, err := start(ctx, argv, c)
	if err != nil {
		return nil, cannot("sandbox-exec", err)
	}
	return process, nil
}

// program returns the program to run and its arguments.
func (b *Backend) program(c sandbox.Command) (string, []string, error) {
	if c.Path == sandbox.FileWorker {
		self := b.self
		if self == "" {
			exe, err := os.Executable()
			if err != nil {
				return "", nil, cannot("file worker", err)
			}
			self = exe
		}
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		return self, []string{self, FileWorkerArg}, nil
	}
	program, err := lookUp(c)
	if err != nil {
		return "", nil, err
	}
	args := c.Args
	if len(args) == 0 {
		args = []string{program}
	}
	return program, args, nil
}

// lookUp finds the program that can be executed. sandbox-exec reports that it cannot by an exit
// status that the command could also return.
func lookUp(c sandbox.Command) (string, error) {
	if strings.Contains(c.Path, "/") && !filepath.IsAbs(c.Path) {
		return "", cannot("exec", fmt.Errorf("%q is not absolute", c.Path))
	}
	err := &sandbox.StartError{Code: sandbox.ExitNotFound, Stage: "exec", Err: fmt.Errorf("%q: %w", c.Path, fs.ErrNotExist)}
	for _, name := range sandbox.Programs(c.Path, c.Env) {
		info, bad := os.Stat(name)
		if bad == nil && (!info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0) {
			bad = &fs.PathError{Op: "exec", Path: name, Err: fs.ErrPermission}
		}
		if bad == nil {
			return name, nil
		}
		if !errors.Is(bad, fs.ErrNotExist) && err.Code == sandbox.ExitNotFound {
			err = &sandbox.StartError{Code: sandbox.ExitCannotExec, Stage: "exec", Err: bad}
		}
	}
	return "", err
}

// cannot is the error of a command that could not be confined.
func cannot(stage string, err error) error {
	return &sandbox.StartError{Code: sandbox.ExitCannotConfine, Stage: stage, Err: err}
}
