package workspace

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"codeagent/backends/bwrap"
	"codeagent/backends/container"
	"codeagent/backends/wasm"
	"codeagent/cmd/codeagent/cli"
	"codeagent/config"
	"codeagent/exec"
	"codeagent/hostfile"
	"codeagent/internal/visible"
	"codeagent/linuxsandbox"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
	"codeagent/seatbelt"

	"golang.org/x/net/http/httpproxy"
)

// Linux prepares the Linux backend. It begins to copy the helper and to check its sum, and starts the session's first keeper, which takes some milliseconds. The earlier it
// is called, the less there is to wait for.
func Linux(p cli.Process) (*linuxsandbox.Backend, error) {
	o := optionsOf(p)
	o.Ahead, o.Bound = true, true
	return linuxsandbox.New(o)
}

func optionsOf(p cli.Process) linuxsandbox.Options {
	return linuxsandbox.Options{HelperSum: p.HelperSum, OpenFiles: p.OpenFiles, Lookup: net.DefaultResolver.LookupNetIP, Proxy: proxyOf(httpproxy.FromEnvironment().ProxyFunc())}
}

// proxyOf finds the proxy of the environment for a host: HTTP_PROXY is for port 80, HTTPS_PROXY for all others.
func proxyOf(find func(*url.URL) (*url.URL, error)) linuxsandbox.ProxyFunc {
	return func(h sandbox.HostPort) (*url.URL, error) {
		scheme := "https"
		if h.Port == 80 {
			scheme = "http"
		}
		return find(&url.URL{Scheme: scheme, Host: h.String()})
	}
}

// backend chooses the system's backend: one line each. If it does not work, the
// setting sandbox.fallback decides. The check asks for the enforcement of the session's own
// policy.
func (ws *Workspace) backend() (resolved.Backend, error) {
	var backend resolved.Backend
	kind, err := ws.Config.BackendKind("")
	if err != nil {
		return nil, cli.Usage(err)
	}
	if ws.native = kind == config.Native; kind == config.Wasm {
		if ws.modules, err = ws.onlyModules(); err != nil {
			return nil, CannotConfine(err, false)
		}
	}
	switch {
	case !ws.native && ws.modules == nil:
		if backend, err = ws.other(); err != nil {
			return nil, CannotConfine(err, false)
		}
	case runtime.GOOS == "linux":
		if err = ws.unprepared; err == nil && !ws.unchecked() {
			err = ws.linux.Ready()
		}
		if err == nil {
			err = ws.linux.Share(ws.locks())
		}
		if err == nil {
			backend = ws.linux
		}
	case runtime.GOOS == "darwin":
		backend = seatbelt.New(seatbelt.Options{})
	default:
		err = fmt.Errorf("there is no sandbox for %s", runtime.GOOS)
	}
	if real := ws.linux; err == nil && real != nil {
		ws.MadeGit = func() []string {
			return madeGit(ws.Paths.MadeGit, ws.Folder, sandbox.PathsOf(ws.Policy.Write), ws.others.madeGit(ws.linux))
		}
		// What is made on a draft is in no folder.
		ws.AtClose(func() error { return noteMadeGit(ws.Paths.MadeGit, ws.others.madeGit(real)) })
	}
	ws.Offered = backend
	if ws.Policy.Unconfined {
		return backend, nil // never used: the runner takes None
	}
	if err != nil && runtime.GOOS == "linux" {
		// A helper that is unreadable or has the wrong sum does not describe the system, so no
		// setting allows running unconfined.
		return nil, CannotConfine(err, false)
	}
	if err == nil && ws.unchecked() {
		return backend, nil
	}
	return ws.check(backend, err)
}

// other makes the chosen backend in place of the system's own. Commands have it or none: nothing stands in for it.
func (ws *Workspace) other() (resolved.Backend, error) {
	made, err := ws.ready("")
	if err != nil {
		return nil, err
	}
	if ws.linux != nil {
		_ = ws.linux.Close() // it was prepared before the settings were read
	}
	ws.linux, ws.unprepared = made, nil
	ws.AtClose(made.Close)
	return made, nil
}

// ready makes the backend with that name, whose commands may start. It shares the locks of the session.
func (ws *Workspace) ready(name string) (*linuxsandbox.Backend, error) {
	made, err := ws.made(name)
	if err != nil {
		return nil, err
	}
	if err = made.Ready(); err == nil {
		err = made.Share(ws.locks())
	}
	if err != nil {
		_ = made.Close()
		return nil, err
	}
	return made, nil
}

// onlyModules makes commands WebAssembly modules, in a sandbox of the system. That stays for all else: the file tools, git, and
// the servers that the user has set.
func (ws *Workspace) onlyModules() (func(inner resolved.Backend) resolved.Backend, error) {
	if ws.Policy.Unconfined {
		return nil, errors.New("modules never run unconfined: choose another sandbox.mode, or another backend")
	}
	extra, err := Extra(ws.Process)
	if err != nil {
		return nil, err
	}
	return wasm.New(extra, ws.Paths.Modules)
}

// commands is the backend of commands in the given sandbox of the system.
func (ws *Workspace) commands(inner resolved.Backend) resolved.Backend {
	if ws.modules == nil || inner == nil {
		return inner
	}
	return ws.modules(inner)
}

// outside is the backend of what may run unconfined; nil where nothing may.
func (ws *Workspace) outside() resolved.Backend {
	if ws.modules != nil {
		return nil
	}
	return exec.Plain{}
}

// made makes the backend with that name; "" is the chosen one. The error says what is missing.
func (ws *Workspace) made(name string) (*linuxsandbox.Backend, error) {
	kind, err := ws.Config.BackendKind(name)
	if err != nil {
		return nil, err
	}
	o := optionsOf(ws.Process)
	if kind == config.Native {
		return linuxsandbox.New(o)
	}
	if kind == config.Bwrap {
		program := ws.Program(bwrap.Name)
		if program == "" {
			return nil, errors.New("bwrap is not installed, or lies where commands may write: install the package bubblewrap")
		}
		return bwrap.New(program, o)
	}
	table := ws.Config.BackendTable(name)
	engines := container.Engines
	if table.Engine != "" {
		engines = []string{table.Engine}
	}
	program := ws.Program(engines...)
	if program == "" {
		return nil, fmt.Errorf("%s is not installed, or lies where commands may write: install the package podman, or Docker", strings.Join(engines, " or "))
	}
	run := func(ctx context.Context, dir string, argv []string) error {
		cmd, err := ws.Ground().Command(ctx, ws.Stdio.Environ, argv[0], argv[1:]...)
		if err != nil {
			return err
		}
		cmd.Dir = dir
		cmd.SysProcAttr, cmd.WaitDelay = &syscall.SysProcAttr{Setsid: true}, time.Second // no ^C of a terminal
		if out, err := cmd.CombinedOutput(); err != nil {                                // warnings come first
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			return fmt.Errorf("%s: %w: %s", filepath.Base(argv[0]), err, visible.Line(strings.ToValidUTF8(lines[len(lines)-1], "")))
		}
		return nil
	}
	return container.New(container.Options{Program: program, Run: run, Image: table.Image, Memory: table.Memory, CPUs: table.CPUs, Tasks: table.Tasks},
		o, filepath.Join(ws.Paths.Temp, "containers"))
}

// Try finds out what the backend with that name enforces for the policy of the workspace.
func (ws *Workspace) Try(name string) (sandbox.Enforcement, error) {
	kind, err := ws.Config.BackendKind(name)
	if err != nil {
		return sandbox.Enforcement{}, err
	}
	if kind == config.Wasm {
		modules, err := ws.onlyModules()
		if err != nil {
			return sandbox.Enforcement{}, err
		}
		return exec.New(exec.Options{Backend: modules(ws.used)}).Enforcement(ws.Policy)
	}
	made, err := ws.made(name)
	if err != nil {
		return sandbox.Enforcement{}, err
	}
	defer made.Close()
	return exec.New(exec.Options{Backend: made}).Enforcement(ws.Policy)
}

// Settle waits until it is known whether commands of the session are bounded together, and says so in Enforcement.
func (ws *Workspace) Settle() {
	if ws.linux == nil || ws.used == nil {
		return
	}
	ws.linux.Settled()
	if e, err := exec.New(exec.Options{Backend: ws.used}).Enforcement(ws.Policy); err == nil {
		ws.Enforcement = e
	}
}

// locks is the file of the locks against other sessions.
func (ws *Workspace) locks() string { return filepath.Join(ws.Paths.Sessions, "locks") }

// unchecked reports whether the one command may start before it is known what this machine
// enforces. No setting may ask for more or for less than its policy, and the start must test the
// confinement, as only Linux' does.
func (ws *Workspace) unchecked() bool {
	return ws.forOne && runtime.GOOS == "linux" && !ws.Policy.Unconfined && len(ws.Config.Sandbox.RequiredLayers) == 0 && (ws.Config.Sandbox.Fallback != "warn" || !ws.native)
}

// Unfit explains the error of the one command of OpenForOne, if no command can run under the
// settings.
func (ws *Workspace) Unfit(err error) error {
	var start *sandbox.StartError
	if !ws.unchecked() || !errors.As(err, &start) || start.Code != sandbox.ExitCannotConfine {
		return err
	}
	if err := ws.linux.Ready(); err != nil {
		return CannotConfine(err, false)
	}
	if _, unfit := ws.check(ws.used, nil); unfit != nil {
		return unfit
	}
	return err
}

// check asks for the enforcement of the session's policy. err is why there is no backend.
func (ws *Workspace) check(backend resolved.Backend, err error) (resolved.Backend, error) {
	tried := exec.New(exec.Options{Backend: ws.commands(backend)})
	if err == nil {
		ws.Enforcement, err = tried.Enforcement(ws.Policy)
	}
	if err == nil {
		if missing := ws.Config.Sandbox.MissingLayers(ws.Enforcement); len(missing) > 0 {
			return nil, CannotConfine(fmt.Errorf("sandbox.required_layers: not active here: %s", strings.Join(missing, ", ")), false)
		}
		return backend, nil
	}
	if backend != nil {
		// If another policy can be enforced, the user should change this one instead of giving up
		// the sandbox.
		if _, other := tried.Enforcement(sandbox.ReadOnly()); other == nil {
			return nil, CannotConfine(err, false)
		}
	}
	if !ws.native {
		return nil, CannotConfine(err, false)
	}
	switch {
	case len(ws.Policy.Programs) > 0:
		return nil, CannotConfine(fmt.Errorf("sandbox.allowed_programs: nothing enforces it without a sandbox: %w", err), false)
	case ws.Config.Sandbox.Fallback == "warn":
		return exec.Plain{}, nil
	}
	return nil, CannotConfine(err, true)
}

// CannotConfine returns the error of a run that cannot be sandboxed. It offers the setting
// that gives up the sandbox only if none works.
func CannotConfine(err error, none bool) error {
	var start *sandbox.StartError
	if !errors.As(err, &start) {
		err = &sandbox.StartError{Code: sandbox.ExitCannotConfine, Stage: "backend", Err: err}
	}
	hints := []string{"codeagent doctor says what this machine can enforce"}
	if none {
		hints = append(hints, "-c sandbox.fallback=warn runs commands unconfined, under a standing warning")
	}
	return cli.Hinted(sandbox.ExitCannotConfine, err, hints...)
}

// OwnPrograms are the programs that a command must not be able to replace: this one, the helper
// and the side program beside it. Their paths count even if they are missing: the next start
// would run, unconfined, what a command had put there.
func OwnPrograms() []string {
	exe, err := os.Executable()
	if err != nil {
		return nil
	}
	if real, err := sandbox.Canonical(hostfile.OS{}, "/", exe); err == nil {
		exe = real
	}
	dir := filepath.Dir(exe)
	return []string{exe, filepath.Join(dir, linuxsandbox.HelperName), filepath.Join(dir, ExtraName)}
}
