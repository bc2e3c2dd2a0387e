package exec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"codeagent/internal/fileworker"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"

	"golang.org/x/sys/unix"
)

// Plain is the backend "none". Commands run unconfined, each in a session of its own, and
// the processes they leave behind are killed as far as they can be found.
type Plain struct{}

// Name is "none".
func (Plain) Name() string { return "none" }

// Enforcement returns that nothing is enforced.
func (Plain) Enforcement(p resolved.Policy) (sandbox.Enforcement, error) {
	e := sandbox.Enforcement{Backend: "none", Layers: []sandbox.Layer{}, Weaknesses: []sandbox.Weakness{processWeakness}}
	if !p.Unconfined {
		e.Weaknesses = append(e.Weaknesses, sandbox.Weakness{
			ID:   "unconfined",
			What: "Commands run without a sandbox: they may write, read and reach whatever the user may.",
			Why:  "no sandbox backend is in use",
		})
	}
	l := p.Limits
	if l.CPUSeconds > 0 || l.CPUPercent > 0 || l.Memory > 0 || l.Processes > 0 || l.OpenFiles > 0 || l.FileSize > 0 {
		e.Weaknesses = append(e.Weaknesses, sandbox.Weakness{
			ID:   "limits",
			What: "A command may use more processor time, memory, processes or files than the limits say.",
			Why:  "outside the sandbox only the wall and output limits are applied",
		})
	}
	return e, nil
}

// Start runs cmd with the user's own permissions.
func (Plain) Start(ctx context.Context, _ resolved.Policy, cmd sandbox.Command, _ sandbox.Holder) (sandbox.Process, error) {
	if cmd.Path == sandbox.FileWorker {
		return startInside(ctx, cmd)
	}
	path, err := lookUp(cmd)
	if err != nil {
		return nil, err
	}
	if fi, err := os.Stat(cmd.Dir); err != nil || !fi.IsDir() {
		if err == nil {
			err = &fs.PathError{Op: "chdir", Path: cmd.Dir, Err: syscall.ENOTDIR}
		}
		return nil, &sandbox.StartError{Code: sandbox.ExitCannotExec, Stage: "chdir", Err: err}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, cannot("stdin", err)
	}
	defer null.Close()
	files := []*os.File{cmd.Stdin, cmd.Stdout, cmd.Stderr}
	for i := range files {
		if files[i] == nil {
			files[i] = null
		}
	}
	// Hide descriptors that codeagent inherited or a library left open.
	if err := shieldDescriptors(); err != nil {
		return nil, cannot("descriptors", err)
	}
	p := &plainProcess{foreground: cmd.Foreground, noTrace: noTrace{gone: make(chan struct{})}}
	started := make(chan error)
	// Without variables the environment is empty, not codeagent's.
	attr := &os.ProcAttr{Dir: cmd.Dir, Env: append([]string{}, cmd.Env...), Files: files, Sys: plainAttr(cmd.Foreground)}
	if cmd.Terminal {
		attr.Sys.Setctty, attr.Sys.Ctty = true, 0
	}
	go p.live(path, cmd.Args, attr, started)
	if err := <-started; err != nil {
		code := sandbox.ExitCannotExec
		if errors.Is(err, fs.ErrNotExist) {
			code = sandbox.ExitNotFound
		}
		return nil, &sandbox.StartError{Code: code, Stage: "exec", Err: err}
	}
	p.unhook = context.AfterFunc(ctx, p.Kill)
	return p, nil
}

// shieldEach sets close-on-exec on every descriptor above 2 that dir lists.
func shieldEach(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// lookUp finds the program in the PATH of the command's own environment.
func lookUp(cmd sandbox.Command) (string, error) {
	if strings.Contains(cmd.Path, "/") {
		return cmd.Path, nil
	}
	for _, path := range sandbox.Programs(cmd.Path, cmd.Env) {
		if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	err := fmt.Errorf("%q is not in PATH", cmd.Path)
	return "", &sandbox.StartError{Code: sandbox.ExitNotFound, Stage: "exec", Err: err}
}

// noTrace is what the processes of this backend share: nothing sees what they are refused.
type noTrace struct {
	unhook func() bool
	// gone is closed when the process and all it left behind are dead; status is set by then.
	gone   chan struct{}
	status sandbox.Status
}

func (u *noTrace) Wait() (sandbox.Status, error) {
	<-u.gone
	u.unhook()
	return u.status, nil
}

func (u *noTrace) Refused() []sandbox.Denial                      { return nil }
func (u *noTrace) Revoke(sandbox.Revocation) sandbox.RevokeResult { return sandbox.Kept }
func (u *noTrace) Trace() sandbox.Trace                           { return sandbox.Trace{Evidence: sandbox.EvidenceNothing} }

// plainProcess is an unconfined command.
type plainProcess struct {
	noTrace
	foreground bool

	mu      sync.Mutex
	process *os.Process // nil once it is reaped, since its number may be reused
	known   []member    // what ran when the command was told to end: its parents may be gone when it is killed
}

// live starts the command and waits for it on the same thread. On Linux, Pdeathsig kills
// the child when the thread that started it ends, so the thread is locked.
func (p *plainProcess) live(path string, args []string, attr *os.ProcAttr, started chan<- error) {
	defer close(p.gone)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	process, err := os.StartProcess(path, args, attr)
	p.process = process
	started <- err
	if err != nil {
		return
	}
	pid := process.Pid
	waitExit(pid)
	// The leader is not reaped, so its number, also that of its group, is still valid.
	p.mu.Lock()
	p.killTree()
	state, err := process.Wait()
	p.process = nil
	p.mu.Unlock()
	p.status = statusOf(state, err)
}

func statusOf(state *os.ProcessState, err error) sandbox.Status {
	if err != nil {
		return sandbox.Status{Exit: -1, Signal: sigKill}
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return sandbox.Status{Exit: -1, Signal: int(ws.Signal())}
	}
	return sandbox.Status{Exit: state.ExitCode()}
}

func (p *plainProcess) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != nil {
		p.killTree()
	}
}

// killTree kills what the command started. The caller holds mu.
func (p *plainProcess) killTree() {
	killTree(p.process.Pid, p.foreground, p.known)
	p.known = nil
}

func (p *plainProcess) Signal(number int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == nil {
		return os.ErrProcessDone
	}
	if number == sigTerm {
		p.known = append(p.known, membersOf(p.process.Pid, p.foreground)...)
	}
	if number == sigInt && !p.foreground {
		return syscall.Kill(-p.process.Pid, syscall.SIGINT)
	}
	return p.process.Signal(syscall.Signal(number))
}

// startInside serves the file worker in this process: without a sandbox a separate
// process would confine nothing.
func startInside(ctx context.Context, cmd sandbox.Command) (sandbox.Process, error) {
	if cmd.Stdin == nil || cmd.Stdout == nil {
		return nil, cannot("file worker", errors.New("it needs stdin and stdout"))
	}
	in, err := duplicate(cmd.Stdin)
	if err != nil {
		return nil, cannot("file worker", err)
	}
	out, err := duplicate(cmd.Stdout)
	if err != nil {
		in.Close()
		return nil, cannot("file worker", err)
	}
	w := &insideWorker{noTrace{gone: make(chan struct{})}, in, out}
	go func() { // ends with its input, which Kill closes
		defer close(w.gone)
		if fileworker.Serve(in, out) != nil {
			w.status.Exit = 1
		}
		w.Kill()
	}()
	w.unhook = context.AfterFunc(ctx, w.Kill)
	return w, nil
}

// insideWorker is a file worker that runs in a goroutine.
type insideWorker struct {
	noTrace
	in, out *os.File
}

func (w *insideWorker) Kill() {
	w.in.Close()
	w.out.Close()
}

func (w *insideWorker) Signal(int) error { return errors.New("the file worker takes no signals") }
