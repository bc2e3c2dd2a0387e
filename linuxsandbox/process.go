//go:build linux

package linuxsandbox

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// keeperProcess is a keeper as codeagent sees it.
type keeperProcess struct {
	pid     int
	command int // the command's pid, once started; in its own PID namespace
	// contained: it is PID 1 of a namespace, whose processes die with it.
	contained bool

	mu   sync.Mutex
	sock int // -1 when closed; guarded by mu for writing and closing
}

// send writes one frame; several goroutines may.
func (k *keeperProcess) send(kind frameKind, body []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sock < 0 {
		return os.ErrProcessDone
	}
	return sendFrame(k.sock, kind, body)
}

// end asks the keeper to kill everything: it reads end of file. What it still
// has to say can be received.
func (k *keeperProcess) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sock >= 0 {
		_ = unix.Shutdown(k.sock, unix.SHUT_WR)
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

// reap waits for the keeper itself and reports whether it ended by its own will.
func (k *keeperProcess) reap() bool {
	for {
		var ws unix.WaitStatus
		_, err := unix.Wait4(k.pid, &ws, 0, nil)
		if err == unix.EINTR {
			continue
		}
		return err == nil && ws.Exited()
	}
}

// process is one command. follow ends it: the only goroutine it has.
type process struct {
	backend *Backend
	keeper  *keeperProcess
	policy  sandbox.Policy
	// protection is what the broker holds of policy.
	protection protection
	broker     *broker        // nil where the filter asks nothing
	holder     sandbox.Holder // nil: refused calls fail at once
	guards     []*guard
	holders    []*holder
	group      *commandGroup // nil where no limit needs one

	done chan struct{} // closed when everything is gone
	// The rest is written before done is closed, and read after.
	status sandbox.Status
	failed bool
	trace  sandbox.Trace
	err    error
}

// follow listens to the keeper until every process is gone. stop releases the
// context's hold on the process.
func (p *process) follow(stop func() bool) {
	var got *ended
	gone := false
	for !gone {
		kind, body, err := recvFrame(p.keeper.sock)
		if err != nil {
			break // the keeper died, or was killed
		}
		switch kind {
		case frameExited:
			if e, err := decodeEnded(body); err == nil {
				got = &e
			}
		case frameGone:
			gone = true
		}
	}
	stop()
	p.keeper.close()
	p.keeper.reap()
	if !gone {
		p.sweepAfter(p.keeper.contained)
	}
	limit := p.group.end()
	p.broker.stop()
	p.trace = p.broker.trace()
	switch {
	case got != nil:
		p.status = sandbox.Status{Exit: got.Exit, Signal: got.Signal, Limit: got.Limit}
	default:
		// Its death signal went with the keeper.
		p.status = sandbox.Status{Exit: -1, Signal: int(unix.SIGKILL)}
	}
	p.failed = p.status.Exit != 0
	if p.failed && p.status.Limit == "" {
		p.status.Limit = limit
	}
	p.err = p.leave()
	close(p.done)
}

// leave undoes what enter did. The error is that codeagent's own files could not
// be put back.
func (p *process) leave() error {
	b := p.backend
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running--
	for _, h := range p.holders {
		h.users--
		h.failed = h.failed || p.failed
		if h.users == 0 {
			removeUnused([]placeholder{h.placeholder}, h.failed)
			delete(b.holders, h.path)
		}
	}
	var all []error
	for _, g := range p.guards {
		d, err := g.settle()
		if d != nil {
			p.trace.Denials = append(p.trace.Denials, *d)
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// Wait blocks until the command and all it started are gone. The error is set
// when codeagent's own files were changed and could not be put back.
func (p *process) Wait() (sandbox.Status, error) {
	<-p.done
	return p.status, p.err
}

// Kill ends the command and everything it started.
func (p *process) Kill() { p.keeper.end() }

// Signal passes number, 1 to 64, to the command's main process, and SIGINT to
// its process group.
func (p *process) Signal(number int) error {
	if number < 1 || number > 64 {
		return fmt.Errorf("signal %d: want 1 to 64", number)
	}
	if err := p.keeper.send(frameSignal, []byte{byte(number)}); err != nil {
		return fmt.Errorf("signal %d: %w", number, err)
	}
	return nil
}

// Refused is sandbox.Watched.
func (p *process) Refused() []sandbox.Denial { return p.broker.refused() }

// Trace is what the broker saw and what was put back after the command.
func (p *process) Trace() sandbox.Trace {
	<-p.done
	return p.trace
}
