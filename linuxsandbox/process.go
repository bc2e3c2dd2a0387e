//go:build linux

package linuxsandbox

import (
	"fmt"
	"os"
	"sync"
	"time"

	"codeagent/linuxsandbox/broker"
	"codeagent/linuxsandbox/broker/judge"
	"codeagent/linuxsandbox/cgroup"
	"codeagent/linuxsandbox/control"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"

	"golang.org/x/sys/unix"
)

// keeperProcess is codeagent's view of a keeper.
type keeperProcess struct {
	pid     int
	command int // the command's pid in its own PID namespace, once started
	// contained means that the keeper is PID 1 of a namespace, whose processes die with it.
	contained bool
	// outer means that another program starts it.
	outer bool
	// bounded means that it was born in the session's control group.
	bounded bool
	// ref is a descriptor of a keeper that is no child of codeagent; else 0.
	ref int

	mu       sync.Mutex
	sock     int  // -1 when closed; guarded by mu for writing and closing
	reaped   bool // its pid may now belong to another process; guarded by mu
	insisted bool // guarded by mu
	killed   bool // guarded by mu
}

// A keeper ends its command within milliseconds of the end of file. codeagent kills a keeper that
// is stopped or whose command hangs in the kernel. If processes survive even that, codeagent names
// them and leaves them: it waits for nothing for ever.
const (
	keeperPatience = 3 * time.Second // from the end of file to the keeper's SIGKILL
	killPatience   = time.Second     // from the SIGKILL until codeagent gives up
	stuckPatience  = 3 * time.Second // for orphans that neither end nor change
)

// send writes one frame. Several goroutines may call it.
func (k *keeperProcess) send(kind control.Frame, body []byte, passed ...int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sock < 0 {
		return os.ErrProcessDone
	}
	return control.Socket(k.sock).SendFDs(kind, body, passed...)
}

// end asks the keeper to kill everything: the keeper reads end of file. codeagent can still receive
// the keeper's last frames.
func (k *keeperProcess) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sock < 0 {
		return
	}
	_ = unix.Shutdown(k.sock, unix.SHUT_WR)
	if !k.insisted {
		k.insisted = true
		time.AfterFunc(keeperPatience, k.kill)
		time.AfterFunc(keeperPatience+killPatience, k.hangUp)
	}
}

// kill kills the keeper itself, and with it what dies with it.
func (k *keeperProcess) kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.killed = true; !k.reaped {
		if k.ref > 0 { // the number may belong to another process by now
			_ = unix.PidfdSendSignal(k.ref, unix.SIGKILL, nil, 0)
			return
		}
		_ = unix.Kill(k.pid, unix.SIGKILL)
	}
}

// hangUp makes a goroutine that waits for the keeper's frames read end of file.
func (k *keeperProcess) hangUp() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sock >= 0 {
		_ = unix.Shutdown(k.sock, unix.SHUT_RDWR)
	}
}

func (k *keeperProcess) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sock >= 0 {
		unix.Close(k.sock)
		k.sock = -1
	}
}

// reap waits for the keeper itself, and kills it if it does not end. clean reports that the keeper
// exited by itself; over reports that it ended at all.
func (k *keeperProcess) reap() (clean, over bool) {
	k.mu.Lock()
	killed := k.killed
	k.mu.Unlock()
	if killed || !k.endsWithin(keeperPatience) {
		k.kill()
		if !k.endsWithin(killPatience) {
			return false, false
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ref > 0 {
		unix.Close(k.ref)
		k.reaped = true
		k.unregister()
		return !killed, true
	}
	for {
		var ws unix.WaitStatus
		_, err := unix.Wait4(k.pid, &ws, 0, nil)
		if err == unix.EINTR {
			continue
		}
		k.reaped = true
		k.unregister()
		return err == nil && ws.Exited(), true
	}
}

func (k *keeperProcess) endsWithin(patience time.Duration) bool {
	if k.ref > 0 {
		return hasEnded(k.ref, patience)
	}
	return endsWithin(k.pid, patience)
}

// endsWithin waits for the end of a child that nobody has collected. It reports false on a timeout.
func endsWithin(pid int, patience time.Duration) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return true // somebody collected it, or no descriptor is free: the caller's wait will find out
	}
	defer unix.Close(fd)
	return hasEnded(fd, patience)
}

// hasEnded waits for the end of the process behind a descriptor.
func hasEnded(fd int, patience time.Duration) bool {
	until := time.Now().Add(patience)
	for {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(max(time.Until(until), 0)/time.Millisecond))
		if err != unix.EINTR {
			return n > 0
		}
	}
}

// process is one command. Its only goroutine, follow, ends it.
type process struct {
	backend *Backend
	keeper  *keeperProcess
	policy  resolved.Policy
	// protection is what the broker enforces of policy.
	protection judge.Protection
	broker     *broker.Broker // nil if the filter asks nothing
	holder     sandbox.Holder // nil: refused calls fail at once
	holders    []*holder
	group      *cgroup.Group // nil if no limit needs one
	mark       cgroup.Mark   // of the group of the session or the container at the start

	outer     []string   // the command line of Backend.outer
	container *container // of Backend.containers

	done chan struct{} // closed when all processes are gone
	// The rest is written before done is closed, and read only after.
	status sandbox.Status
	failed bool
	trace  sandbox.Trace
	err    error
}

// follow receives the keeper's frames until every process is gone. stop detaches the context from
// the process.
func (p *process) follow(stop func() bool) {
	var got *spec.Exit
	gone := false
	for !gone {
		kind, body, err := control.Socket(p.keeper.sock).Receive()
		if err != nil {
			break // the keeper died, or was killed
		}
		switch kind {
		case control.FrameExited:
			if e := (spec.Exit{}); spec.Decode(body, &e) == nil {
				got = &e
			}
		case control.FrameGone:
			gone = true
		}
	}
	stop()
	p.keeper.close()
	var left error
	if gone && p.outer == nil {
		left = p.backend.collect(p.keeper)
	} else { // an outer program holds the command's files until it ends
		_, over := p.keeper.reap()
		left = leftError(p.keeper.leftovers(gone, over))
	}
	limit := p.group.End()
	p.broker.Stop()
	p.trace = p.broker.Trace()
	// Without that frame the keeper died, and its death signal killed the command.
	p.status = sandbox.Status{Exit: -1, Signal: int(unix.SIGKILL)}
	if got != nil {
		p.status = sandbox.Status{Exit: got.Exit, Signal: got.Signal, Limit: got.Limit}
	}
	p.failed = p.status.Exit != 0
	switch {
	case !p.failed:
	case p.container != nil:
		limit = p.container.group.Since(p.mark)
	case p.group == nil && p.backend.bound:
		limit = p.backend.groups.Since(p.mark)
	}
	if p.failed && p.status.Limit == "" {
		p.status.Limit = limit
	}
	p.leave()
	p.err = left
	close(p.done)
}

// collect waits for a keeper that has no process left, while the caller continues: its mounts end
// with it, which takes as long as a short command. Close waits for it. The error names keepers of
// earlier commands that cannot be killed.
func (b *Backend) collect(k *keeperProcess) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		go k.reap()
		return nil
	}
	b.ending.Add(1)
	go func() {
		defer b.ending.Done()
		if _, over := k.reap(); !over {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.stuck = append(b.stuck, k.leftovers(true, false)...)
		}
	}()
	return b.takeStuck()
}

// takeStuck returns each of b.stuck once. The caller holds b.mu.
func (b *Backend) takeStuck() error {
	left := leftError(b.stuck)
	b.stuck = nil
	return left
}

// leave undoes what enter did.
func (p *process) leave() {
	for to, from := range p.release() {
		if p.broker == nil {
			continue
		}
		if d := copyMade(p.backend.Still, from, to, p.broker.Allows); d != nil {
			p.trace.Denials = append(p.trace.Denials, *d)
		}
	}
}

// release does that under the lock, and returns what is to be moved to granted paths.
func (p *process) release() (moves map[string]string) {
	b := p.backend
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running--
	moves = map[string]string{}
	for _, h := range p.holders {
		h.users--
		h.failed = h.failed || p.failed
		if h.users > 0 {
			continue
		}
		if delete(b.holders, h.path); h.moves != "" {
			moves[h.path] = h.moves
		} else {
			removeUnused([]placeholder{h.placeholder}, h.failed)
		}
	}
	return moves
}

// Wait blocks until the command and all its descendants are gone. The error is a *sandbox.LeftError if some
// process could not be killed.
func (p *process) Wait() (sandbox.Status, error) {
	<-p.done
	return p.status, p.err
}

// Kill ends the command and all its descendants.
func (p *process) Kill() { p.keeper.end() }

// Signal passes number, 1 to 64, to the command's main process, and SIGINT to
// its process group.
func (p *process) Signal(number int) error {
	if number < 1 || number > 64 {
		return fmt.Errorf("signal %d: want 1 to 64", number)
	}
	if err := p.keeper.send(control.FrameSignal, []byte{byte(number)}); err != nil {
		return fmt.Errorf("signal %d: %w", number, err)
	}
	return nil
}

// Revoke takes c back.
func (p *process) Revoke(c sandbox.Revocation) sandbox.RevokeResult { return p.broker.Revoke(c) }

// Renew begins the next part of the run, and returns what the broker saw in the one before.
func (p *process) Renew() sandbox.Trace { return p.broker.Renew() }

// Refused returns what the broker has refused so far.
func (p *process) Refused() []sandbox.Denial { return p.broker.Refused() }

// Trace returns what the broker saw.
func (p *process) Trace() sandbox.Trace {
	<-p.done
	return p.trace
}
