//go:build linux

package linuxsandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"codeagent/linuxsandbox/broker"
	"codeagent/linuxsandbox/control"
	"codeagent/linuxsandbox/plan"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"

	"golang.org/x/sys/unix"
)

// Start runs cmd under p in a keeper of its own. It returns when the command was executed. An error
// is a *sandbox.StartError.
func (b *Backend) Start(ctx context.Context, p resolved.Policy, cmd sandbox.Command, h sandbox.Holder) (sandbox.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, startError("start", err)
	}
	command, err := newCommand(cmd)
	if err != nil {
		return nil, startError("command", err)
	}
	if err := b.Mounted(); err != nil {
		return nil, err
	}
	if proc, err, done := b.startFirst(ctx, p, cmd, command, h); done {
		return proc, err
	}
	f, err := b.factsFor(p)
	if err != nil {
		return nil, err
	}
	return b.startUnder(ctx, p, cmd, command, h, f, nil)
}

// startUnder is Start on a machine with the facts f. If one is set, nothing is known yet, and f is
// what it hopes for.
func (b *Backend) startUnder(ctx context.Context, p resolved.Policy, cmd sandbox.Command, command spec.Command, h sandbox.Holder, f plan.Facts, one *first) (sandbox.Process, error) {
	f.Reads = f.Broker && cmd.Reads && (cmd.Evidence == "" || cmd.Evidence == sandbox.EvidenceFull)
	shown := p
	if cmd.Learn != nil && f.Reads {
		shown = p.ReadingAll() // the broker sees what p closes
	}
	ready, err := plan.New(shown, f)
	if err != nil {
		return nil, startError("policy", err)
	}
	if v := b.view; v != nil {
		if slices.ContainsFunc(ready.Absent, v.covers) { // codeagent would make it on the host
			return nil, startError("draft", fmt.Errorf("while the session works on a draft, %s cannot be granted", strings.Join(ready.Absent, ", ")))
		}
	} else if cmd.Draft != nil {
		if err := ready.OnDraft(cmd.Draft, f); err != nil {
			return nil, startError("draft", err)
		}
	}
	if f.Broker {
		ready.KeepFor(p, cmd)
	}
	proc, err := b.enter(p, ready)
	if err != nil {
		return nil, startError("policy", err)
	}
	ready.Spec.OpenFiles = b.openFiles
	ready.Spec.Command, ready.Spec.Reads, ready.Spec.Looks = command, f.Reads, f.Broker && cmd.Looked != nil
	proc.policy, proc.protection, proc.holder = p, ready.Protection, h
	if ready.Mounts != nil && b.containers == nil {
		ready.Mounts.ForCommand(cmd)
		ready.Spec.Unreadable = slices.Concat(ready.Spec.Unreadable, b.showNamed(proc, ready.Mounts, cmd.Named, f.Broker))
	}
	folder := -1
	if ready.Group {
		proc.group, err = b.groups.Add(p.Limits)
	} else if b.bound {
		folder, proc.mark = b.groups.Folder(), b.groups.Mark()
	}
	if err != nil {
		err = startError("cgroup", err)
	} else {
		switch {
		case b.outer != nil:
			proc.outer, err = b.enclosure(&ready.Spec, ready.Mounts, p.Read)
		case b.containers != nil:
			if proc.container, err = b.container(ctx, &ready.Spec, ready.Mounts, p, cmd.Dir); err == nil {
				ready.Spec.Command.Env = proc.container.withImage(ready.Spec.Command.Env)
				proc.mark = proc.container.group.Mark()
			}
		}
		if err == nil {
			err = b.launch(ctx, proc, ready.Spec, cmd, one, folder)
		} else {
			err = startError(b.Name(), err)
		}
	}
	if err != nil {
		proc.group.End()
		proc.failed = true
		proc.leave()
		return nil, err
	}
	return proc, nil
}

// startError is the error of a command that was not started.
func startError(stage string, err error) *sandbox.StartError {
	return &sandbox.StartError{Code: sandbox.ExitCannotConfine, Stage: stage, Err: err}
}

// newCommand checks and converts the caller's command.
func newCommand(cmd sandbox.Command) (spec.Command, error) {
	c := spec.Command{Path: cmd.Path, Dir: cmd.Dir, Foreground: cmd.Foreground, Terminal: cmd.Terminal, Idle: cmd.Idle}
	if cmd.Path == "" || len(cmd.Args) == 0 {
		return c, errors.New("no program is named")
	}
	if cmd.Path != sandbox.FileWorker && strings.Contains(cmd.Path, "/") && !filepath.IsAbs(cmd.Path) {
		return c, fmt.Errorf("program %q: want an absolute path or a bare name", cmd.Path)
	}
	if cmd.Terminal && (cmd.Foreground || cmd.Stdin == nil) {
		return c, errors.New("a terminal of its own needs a session of its own and a file")
	}
	if !filepath.IsAbs(cmd.Dir) {
		return c, fmt.Errorf("working directory %q: want an absolute path", cmd.Dir)
	}
	c.Args, c.Env = append(c.Args, cmd.Args...), append(c.Env, cmd.Env...)
	return c, nil
}

// enter registers a command, with the placeholders of granted paths that do not exist yet.
func (b *Backend) enter(p resolved.Policy, ready *plan.Plan) (*process, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errors.New("the backend is closed")
	}
	made, err := createAbsent(ready.Absent)
	if err != nil {
		return nil, err
	}
	for _, m := range made {
		b.holders[m.path] = &holder{placeholder: m}
	}
	proc := &process{backend: b, done: make(chan struct{})}
	for _, path := range ready.Made {
		if b.holders[path] == nil {
			b.holders[path] = &holder{placeholder: placeholder{path: path}, moves: filepath.Join(p.Temp, filepath.Base(path))}
		}
		b.holders[path].users++
		proc.holders = append(proc.holders, b.holders[path])
	}
	for _, rule := range ready.Spec.Rules {
		if h := b.holders[rule.Path]; h != nil && rule.Access == spec.AccessWrite {
			h.users++
			proc.holders = append(proc.holders, h)
		}
	}
	b.running++
	return proc, nil
}

// launch starts the keeper, in the control group with the descriptor folder (-1: none), and takes it through the
// handshake. After an error nothing runs.
func (b *Backend) launch(ctx context.Context, proc *process, order spec.Spec, cmd sandbox.Command, one *first, folder int) error {
	files, closeNull, err := standardFiles(cmd)
	if err != nil {
		return startError("files", err)
	}
	defer closeNull()
	var extra []int
	loose := slices.ContainsFunc(files[:], looseSocket)
	order.PathSockets, order.AskNetwork = order.PathSockets && !loose, order.AskNetwork && !loose && !order.Looks
	if order.HostNet != 0 && !loose && !order.Looks { // with Looks what is tried in an empty network is refused, and on record
		order.Network = true
	}
	if hosts := proc.policy.Network.Hosts; loose && proc.policy.Network.Mode == sandbox.NetworkAllow && len(hosts) > 0 {
		return startError("files", fmt.Errorf("standard input or output is a socket that could be connected: %s cannot be opened to such a command", hosts[0]))
	}
	if cmd.Alive != nil {
		extra = append(extra, int(cmd.Alive.Fd()))
		defer runtime.KeepAlive(cmd.Alive)
	}
	if proc.group != nil {
		door, err := proc.group.Door()
		if err != nil {
			return startError("cgroup", err)
		}
		defer unix.Close(door)
		extra = append(extra, door)
		order.Group = spec.ControlFD + len(extra)
	}
	fds, err := numbers(files[:])
	if err != nil {
		return startError("files", err)
	}
	defer runtime.KeepAlive(files)
	fds = append(fds, extra...)
	var k *keeperProcess
	if one != nil {
		k, err = one.take(&order)
	} else if proc.container != nil {
		if k, err = proc.container.keeper(fds); err != nil {
			err = startError(b.Name(), err)
		}
	} else if k, err = b.startKeeper(fds, cmd.Foreground, &order, proc.outer, folder); err != nil {
		err = startError("helper", err)
	}
	if err != nil {
		return err
	}
	if proc.keeper = k; b.bound && proc.group == nil && !k.bounded {
		go b.groups.Take(k.pid) // ends with the keeper's last fork; a start does not wait for a move
	}
	stop := context.AfterFunc(ctx, proc.Kill)
	err = proc.handshake(ctx, order, fds, cmd, one)
	if err != nil {
		stop()
		k.close()
		clean, over := k.reap()
		err = errors.Join(err, leftError(k.leftovers(clean, over)))
		proc.broker.Stop()
		return err
	}
	go proc.follow(stop)
	return nil
}

// standardFiles are the command's descriptors 0, 1 and 2; a nil file becomes /dev/null.
func standardFiles(cmd sandbox.Command) (files [3]*os.File, done func(), err error) {
	files = [3]*os.File{cmd.Stdin, cmd.Stdout, cmd.Stderr}
	var null *os.File
	for i, f := range files {
		if f == nil && null == nil {
			if null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
				return files, nil, err
			}
		}
		if f == nil {
			files[i] = null
		}
	}
	return files, func() { null.Close() }, nil
}

// looseSocket reports whether a file is a socket that could still connect or accept. The command
// has the system calls for sockets, so it could do more with such a socket than the caller
// intended. A connected Unix stream cannot; shells and editors use these as pipes.
func looseSocket(f *os.File) bool {
	loose := true
	conn, err := f.SyscallConn()
	if err == nil {
		err = conn.Control(func(fd uintptr) { loose = isLoose(int(fd)) })
	}
	return err != nil || loose
}

func isLoose(fd int) bool {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err == unix.ENOTSOCK {
		return false
	}
	kind, bad := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	_, apart := unix.Getpeername(fd)
	return err != nil || bad != nil || apart != nil || domain != unix.AF_UNIX || kind != unix.SOCK_STREAM && kind != unix.SOCK_SEQPACKET
}

// keeperEnv sets up the keeper's Go runtime for a short life: a collection costs more than the memory
// that it frees. The command's environment crosses in
// the Spec, so none of its variables affects the keeper.
var keeperEnv = []string{"GOMAXPROCS=2", "GOGC=off", "GODEBUG=containermaxprocs=0,updatemaxprocs=0", "GOTRACEBACK=none"}

// startKeeper starts a keeper that joins the namespaces of the session. The first three files become
// its descriptors 0 to 2, and the others those behind the control socket. outer and folder are as for forkKeeper.
func (b *Backend) startKeeper(files []int, foreground bool, order *spec.Spec, outer []string, folder int) (*keeperProcess, error) {
	k, err := b.newKeeper(outer != nil || order.Mounts != nil && !order.Mounts.HostProc, func(helper, control int) (int, error) {
		return forkKeeper(helper, b.joinedBy(order), slices.Insert(slices.Clone(files), spec.ControlFD, control), !foreground, outer, folder)
	})
	if err != nil && folder >= 0 && !errors.Is(err, unix.EAGAIN) { // old filters of containers know no clone3
		return b.startKeeper(files, foreground, order, outer, -1)
	}
	if err == nil {
		k.outer, k.bounded = outer != nil, folder >= 0
	}
	return k, err
}

// newKeeper starts a keeper by fork, which gets the other end of its control socket.
func (b *Backend) newKeeper(contained bool, fork func(helper, control int) (pid int, err error)) (*keeperProcess, error) {
	helper, err := b.helper() // no process before its program is checked
	if err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socketpair: %w", err)
	}
	defer unix.Close(pair[1])
	// Orphans of a killed keeper become children of codeagent, which ends them.
	if err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		err = fmt.Errorf("become subreaper: %w", err)
	}
	pid := 0
	if err == nil {
		pid, err = fork(helper, pair[1])
	}
	if err != nil {
		unix.Close(pair[0])
		return nil, err
	}
	return (&keeperProcess{pid: pid, sock: pair[0], contained: contained}).register(), nil
}

// numbers returns the descriptors of files, which must stay open.
func numbers(files []*os.File) (fds []int, err error) {
	for _, f := range files {
		conn, err := f.SyscallConn()
		if err == nil {
			err = conn.Control(func(fd uintptr) { fds = append(fds, int(fd)) })
		}
		if err != nil {
			return nil, err
		}
	}
	return fds, nil
}

// handshake takes the keeper to the point where the command runs. It sends FrameGo right behind the
// Spec. The keeper reads it only after its self-test, and codeagent need not be ready by then: the
// filter's notifications wait for the broker. The first keeper of a session gets FrameGo only after
// codeagent has seen what it found.
func (p *process) handshake(ctx context.Context, order spec.Spec, files []int, cmd sandbox.Command, one *first) error {
	k := p.keeper
	if one == nil {
		files = nil // it was started with them
	}
	err := k.sendSpec(ctx, order, files...)
	if err != nil {
		return err
	}
	listener := -1
	if one != nil {
		if listener, err = one.meet(ctx, k); err != nil {
			return err
		}
	}
	if order.Ask {
		o := broker.Options{
			Policy: p.policy, Protection: p.protection, Order: &order, Command: cmd, Keeper: k.pid,
			Session: &p.backend.brokers, Taking: p.backend.probed.Sockets, Holder: p.holder, Life: ctx,
		}
		if p.broker, err = broker.New(o); err != nil {
			if listener >= 0 {
				unix.Close(listener)
			}
			return startError("notify", err)
		}
	}
	// A keeper that is gone by now has reported why; that report is read next.
	_ = k.send(control.FrameGo, nil)
	if one == nil {
		if _, listener, err = k.confined(ctx); err != nil {
			return err
		}
	}
	if listener >= 0 {
		if err := p.broker.Serve(listener); err != nil {
			return startError("notify", err)
		}
	}
	kind, body, err := control.Socket(k.sock).Receive()
	if err != nil {
		return k.lost(ctx, "start", err)
	}
	if kind == control.FrameFailed {
		return startFailure(body)
	}
	err = spec.Decode(body, &k.command)
	if kind != control.FrameStarted || err != nil {
		return startError("start", unexpected(kind))
	}
	return nil
}

// sendSpec sends the Spec, and to a first keeper its files.
func (k *keeperProcess) sendSpec(ctx context.Context, order spec.Spec, files ...int) error {
	if order.Walls != nil {
		order.Mounts = nil // of a container, which only the broker needs to know
	}
	body, err := order.Encode()
	if err != nil {
		return startError("spec", err)
	}
	if err := k.send(control.FrameSpec, body, files...); err != nil {
		_, _, fds, failed := k.receive(ctx)
		if failed != nil {
			return failed // the first keeper of a session reports here that it could not set it up
		}
		closeAll(fds)
		return k.lost(ctx, "spec", err)
	}
	return nil
}

// confined waits until the keeper is confined and has tested its confinement. It returns the
// keeper's findings and the listener of its filter, or -1.
func (k *keeperProcess) confined(ctx context.Context) (spec.Facts, int, error) {
	var f spec.Facts
	kind, body, fds, err := k.receive(ctx)
	if err != nil {
		return f, -1, err
	}
	err = spec.Decode(body, &f)
	if kind != control.FrameReady || err != nil || len(fds) > 1 || f.Broker != (len(fds) == 1) {
		closeAll(fds)
		return f, -1, startError("helper", unexpected(kind))
	}
	if len(fds) == 0 {
		return f, -1, nil
	}
	return f, fds[0], nil
}

// receive receives one frame of a keeper whose command has not started. The error is the keeper's
// if it failed.
func (k *keeperProcess) receive(ctx context.Context) (control.Frame, []byte, []int, error) {
	kind, body, fds, err := control.Socket(k.sock).ReceiveFDs()
	if err != nil {
		err = k.lost(ctx, "helper", err)
	} else if kind == control.FrameFailed {
		err = startFailure(body)
	}
	if err != nil {
		closeAll(fds)
	}
	return kind, body, fds, err
}

func unexpected(kind control.Frame) error { return fmt.Errorf("bug: unexpected frame %q", kind) }

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// lost returns the error for a keeper that is no longer there.
func (k *keeperProcess) lost(ctx context.Context, stage string, err error) error {
	if ctx.Err() != nil {
		return startError(stage, context.Cause(ctx))
	}
	if k.outer {
		return startError(stage, fmt.Errorf("the program that mounts for the helper ended without starting it, and says why in the command's output: %w", err))
	}
	return startError(stage, fmt.Errorf("the helper ended without a report: %w", err))
}

func startFailure(body []byte) error {
	var f spec.Failure
	if err := spec.Decode(body, &f); err != nil {
		return startError("helper", fmt.Errorf("bug: %w", err))
	}
	return &sandbox.StartError{Code: f.Code, Stage: f.Stage, Err: &stageError{f.Text, syscall.Errno(f.Errno)}}
}

// stageError is a failure as the keeper worded it. Unwrap returns the errno, so that errors.Is(err,
// fs.ErrNotExist) and the like work.
type stageError struct {
	text  string
	errno syscall.Errno
}

func (e *stageError) Error() string { return e.text }

func (e *stageError) Unwrap() error {
	if e.errno == 0 {
		return nil
	}
	return e.errno
}
