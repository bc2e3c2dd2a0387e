//go:build linux

// Package keeper is the helper's half of the sandbox: it carries out one Spec. It makes the mounts,
// confines a thread (limits, capabilities, no_new_privs, Landlock, the seccomp filter), tests the
// confinement, starts the command on that thread and kills everything that the command leaves
// behind. It acts on its own process, on mounts in its own namespace and on the paths that the Spec
// names; it decides nothing and reaches no network. Start with keeperMain, then restrict
// (restrict.go) and spawn (spawn.go).
package keeper

import (
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"unsafe"

	"codeagent/internal/fileworker"
	"codeagent/linuxsandbox/control"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// The keeper has two threads of its own:
//
//	first thread      in no Landlock domain. It reads the Spec and makes the mounts,
//	                  then reaps until no child is left, reports that, restores
//	                  codeagent's files if codeagent has ended, and exits.
//	command thread    restricted like the command. It starts the command and waits for
//	                  orders. It kills everything when it is ordered to, at end of
//	                  file, and when the command has ended.
//
// The threat is a command that outlives its sandbox. So the command gets a signal when the command
// thread ends (PR_SET_PDEATHSIG), the keeper is a child subreaper, and end of file on the control
// socket is an order to kill: when codeagent crashes, its commands end.

// Main is the entire linux-sandbox-helper. args is os.Args; the result is the exit status.
//
//	--keeper                          started by codeagent, control socket at 3
//	--file-worker                     serves file requests on stdin and stdout
//	--container SOCKET                the first process of a container, which starts keepers
//	CWD POLICY-JSON -- CMD [ARG]...   by hand; exits with the command's status
func Main(args []string) int {
	switch {
	case len(args) == 2 && args[1] == spec.KeeperArg:
		return keeperMain()
	case len(args) == 2 && args[1] == spec.FileWorkerArg:
		debug.SetGCPercent(100)
		if err := fileworker.Serve(os.Stdin, os.Stdout); err != nil {
			return say("file worker: " + err.Error())
		}
		return 0
	case len(args) == 3 && args[1] == spec.ContainerArg:
		return containerMain(args[2])
	case IsByHand(args):
		return askCodeagent(args)
	}
	return say("usage: " + control.HelperName + " CWD POLICY-JSON -- CMD [ARG]... (codeagent starts it in its own way)")
}

// say writes the helper's one line and returns the exit status of a helper that confines nothing.
func say(what string) int {
	_, _ = io.WriteString(os.Stderr, control.HelperName+": "+what+"\n")
	return sandbox.ExitCannotConfine
}

// outlet is where the keeper reports to: codeagent, or a user's shell.
type outlet interface {
	// report passes on a frame with its value and the filter's listener, if there is one. An error
	// means that codeagent has ended.
	report(kind control.Frame, value any, listener ...int) error
	// proceed waits until the command may start.
	proceed() error
	// wait blocks until the next order. When wake becomes readable, it returns the order to end.
	wait(wake int) order
}

// order is what the command thread must do next.
type order struct {
	signal unix.Signal
	end    bool
}

func keeperMain() int {
	ignoreSignals() // the first of a session waits here in codeagent's process group
	out := socketOutlet{fd: spec.ControlFD}
	if err := closeOnExec(); err != nil {
		return refuse(out, "files", err)
	}
	kind, body, files, err := out.fd.ReceiveFDs()
	first := err == nil && kind == control.FrameSession
	opened := func() error { return nil }
	if first {
		opened = openSession(out.fd, body)
		kind, body, files, err = out.fd.ReceiveFDs()
	}
	if err != nil || kind != control.FrameSpec {
		return sandbox.ExitCannotConfine // codeagent has ended, or has no use for this keeper
	}
	order, err := spec.DecodeSpec(body)
	if err == nil && order.First != first {
		err = errors.New("bug: it is not known whether the keeper is the first of its session")
	}
	if err == nil && first {
		err = joinCommand(order, files)
	}
	if err != nil {
		_ = opened()
		return refuse(out, "spec", err)
	}
	if order.Mounts != nil && order.Mounts.Base {
		if err := mountBase(order.Mounts.Overlays); err != nil {
			return refuse(out, "draft", err)
		}
		_ = out.report(control.FrameReady, spec.Facts{})
		_ = out.proceed() // until codeagent holds the namespace
		return 0
	}
	t := &task{Spec: order}
	var rules []spec.Rule
	if t.Mounts != nil {
		t.proc, rules, err = mountAll(t.Mounts)
	}
	if err := opened(); err != nil {
		return refuse(out, spec.StageNetwork, err)
	}
	if err != nil {
		return refuse(out, "mounts", err)
	}
	t.Rules = append(t.Rules, rules...)
	k := &keeper{task: t, out: out}
	return k.run()
}

// refuse reports a failure before the command thread, and returns the keeper's exit status.
func refuse(out outlet, stage string, err error) int {
	_ = out.report(control.FrameFailed, *fail(stage, err))
	return sandbox.ExitCannotConfine
}

// task is a Spec and what the keeper adds to it.
type task struct {
	*spec.Spec
	// proc is the descriptor of a /proc that is writable until Landlock is on; it is set if there
	// are Mounts.
	proc int
}

// keeper runs one command.
type keeper struct {
	task *task
	out  outlet
	// wake is an eventfd to which the first thread writes when the command has ended.
	wake int
	// status is how the command ended; ByHand exits with it.
	status spec.Exit
}

// spawnReport is what the command thread reports to the first thread.
type spawnReport struct {
	pid int
	// code is the keeper's exit status when pid is 0.
	code int
}

func (k *keeper) run() int {
	if err := k.prepareSelf(); err != nil {
		return refuse(k.out, "keeper", err)
	}
	started := make(chan spawnReport)
	go onSecondThread(func() { k.commandThread(started) })
	s := <-started
	if s.pid == 0 {
		return s.code
	}
	k.reap(s.pid)
	_ = k.out.report(control.FrameGone, nil) // codeagent may have ended
	return 0
}

// prepareSelf makes the keeper ignore the signals that a terminal sends to a process group. It also
// makes the keeper the parent of every orphan of the command (PR_SET_CHILD_SUBREAPER), so that none
// escapes reap.
func (k *keeper) prepareSelf() error {
	ignoreSignals()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	k.wake = fd
	return err
}

// ignored are the signals that a terminal or kill(1) sends to a whole process group. The keeper
// survives them to reap and report; in the command they have their default action. SIGTERM and
// SIGHUP are included, because codeagent ends a command through the control socket or by ending
// itself.
var ignored = []unix.Signal{
	unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU,
	unix.SIGHUP, unix.SIGTERM, unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2,
}

// ignoreSignals makes the system calls itself: os/signal would keep a thread and a goroutine.
func ignoreSignals() {
	ignore := [4]uint64{1} // a kernel sigaction whose handler is SIG_IGN
	for _, sig := range ignored {
		_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&ignore)), 0, 8, 0, 0)
	}
}

// onSecondThread runs f locked to a thread that is not the process's first. The first thread stays
// outside all Landlock domains, and signals to the pid are delivered to it.
func onSecondThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	done := make(chan struct{})
	go func() { onSecondThread(f); close(done) }()
	<-done // keeps the first thread busy, so that f gets another one
}

// commandThread does not return to the scheduler while the command lives: when its thread ends, the
// command gets its death signal (PR_SET_PDEATHSIG acts on the thread).
func (k *keeper) commandThread(started chan<- spawnReport) {
	r, bad := restrict(k.task)
	var pid, pidfd int
	if bad == nil {
		if !k.ready(r) {
			started <- spawnReport{}
			return
		}
		// The command runs as the same user, so it could read the keeper's memory and its /proc
		// entries. Until here codeagent may test whether it can read the thread.
		if err := unfiltered(func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }); err != nil {
			bad = fail("keeper", err)
		} else {
			pid, pidfd, bad = spawn(k.task, r)
		}
	}
	if bad != nil {
		_ = k.out.report(control.FrameFailed, *bad)
		started <- spawnReport{code: bad.Code}
		return
	}
	_ = k.out.report(control.FrameStarted, pid)
	started <- spawnReport{pid: pid}
	dropStandardFiles()
	k.watch(r, pid, pidfd)
}

// ready hands over the listener, and waits until the command may start. It reports false for a probe
// and where codeagent has ended.
func (k *keeper) ready(r *restriction) bool {
	var listener []int
	if r.listener >= 0 {
		listener = []int{r.listener}
	}
	err := unfiltered(func() error { return k.out.report(control.FrameReady, r.facts, listener...) })
	if r.listener >= 0 {
		// Without any holder of the listener the kernel answers ENOSYS, so a call does not wait for
		// ever when codeagent has ended.
		unix.Close(r.listener)
	}
	// A probe's thread waits here until end of file, while codeagent looks at it.
	return err == nil && k.out.proceed() == nil && !k.task.Probe
}

// unfiltered makes a call on a thread without the filter. With the filter it could be sent to the
// broker, which answers nothing before it has the listener, or it would not be carried out.
func unfiltered(call func() error) error {
	done := make(chan error)
	go func() { done <- call() }()
	return <-done
}

// dropStandardFiles closes the command's files in the keeper, so that the reader of a pipe sees end
// of file when the last process of the command has closed it. A reference to /dev/null takes their
// place: other opens can go to the broker, which refuses them because it cannot look at the keeper.
func dropStandardFiles() {
	null, err := unix.Open("/dev/null", unix.O_PATH|unix.O_CLOEXEC, 0)
	for fd := range 3 {
		if err != nil {
			unix.Close(fd)
		} else {
			_ = unix.Dup3(null, fd, 0)
		}
	}
}

// watch carries out orders until one says to end. Then it kills repeatedly, until the first thread
// finds no child left and exits the process.
func (k *keeper) watch(r *restriction, pid, pidfd int) {
	for {
		o := k.out.wait(k.wake)
		if o.end {
			break
		}
		if o.signal != 0 {
			k.signal(o.signal, pid, pidfd)
		}
	}
	if r.facts.SignalProof || unix.Getpid() == 1 {
		for {
			// kill(-1) reaches every process that this thread may signal. The self-test has shown
			// that no signal leaves its Landlock domain, and a process cannot leave a domain by
			// forking. In the keeper's own PID namespace there are no other processes at all.
			_ = unix.Kill(-1, unix.SIGKILL)
			kernel.Pause()
		}
	}
	// Without that proof, kill(-1) would reach all of the user's processes. So an unconfined thread
	// walks the tree instead; this thread may be unable to read /proc.
	go func() {
		debug.SetGCPercent(100)
		for {
			kernel.Sweep(kernel.Descendants(os.Getpid()))
			kernel.Pause()
		}
	}()
	select {}
}

// signal sends s to the command. SIGINT, which a terminal sends to its foreground group, goes to
// the command's process group. While the command exists no other group can have that number; the
// descriptor proves that it exists.
func (k *keeper) signal(s unix.Signal, pid, pidfd int) {
	if s == unix.SIGINT && !k.task.Command.Foreground && unix.PidfdSendSignal(pidfd, 0, nil, 0) == nil {
		_ = unix.Kill(-pid, s)
		return
	}
	_ = unix.PidfdSendSignal(pidfd, s, nil, 0)
}

// reap waits for every child, adopted ones included, until none is left. When the command's main
// process ends, reap reports that and wakes the command thread.
func (k *keeper) reap(command int) {
	for {
		var ws unix.WaitStatus
		var used unix.Rusage
		pid, err := unix.Wait4(-1, &ws, unix.WALL, &used)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return // ECHILD
		}
		if ws.Stopped() {
			// Its parent ended while it asked to be traced, so this process became its tracer.
			_ = unix.Kill(pid, unix.SIGKILL)
			continue
		}
		if pid != command {
			continue
		}
		k.status = spec.Exit{Exit: ws.ExitStatus()}
		if ws.Signaled() {
			k.status = spec.Exit{Exit: -1, Signal: int(ws.Signal()), Limit: limitOf(k.task.Limits, ws.Signal(), &used)}
		}
		_ = k.out.report(control.FrameExited, k.status)
		_, _ = unix.Write(k.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}

// socketOutlet reports to codeagent.
type socketOutlet struct{ fd control.Socket }

func (s socketOutlet) report(kind control.Frame, value any, listener ...int) error {
	var body []byte
	if value != nil {
		body = spec.Encode(value)
	}
	return s.fd.SendFDs(kind, body, listener...)
}

func (s socketOutlet) proceed() error {
	kind, _, err := s.fd.Receive()
	if err == nil && kind != control.FrameGo {
		err = errors.New("unexpected frame")
	}
	return err
}

func (s socketOutlet) wait(wake int) order {
	fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}, {Fd: int32(wake), Events: unix.POLLIN}}
	_, err := unix.Poll(fds, -1)
	if err == unix.EINTR {
		return order{}
	}
	if err != nil || fds[1].Revents != 0 {
		return order{end: true}
	}
	kind, body, err := s.fd.Receive()
	if err == nil && kind == control.FrameSignal && len(body) == 1 {
		return order{signal: unix.Signal(body[0])}
	}
	return order{end: true}
}
