package exec

import (
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"codeagent/sandbox"
)

// A program can run on and answer calls over its stdin and stdout, like an MCP server:
//
//	Serve ─▶ its start ─▶ End ─▶ Begin ─▶ the caller writes to In and reads Out ─▶ End ─▶ Begin … ─▶ Close
//
// One call runs at a time, so what the sandbox refuses between Begin and End belongs to that call.
// Between calls nobody is asked, and refused system calls fail at once.

const (
	// errorsKept is how much of the end of a service's stderr is kept, in bytes.
	errorsKept = 16 << 10
	// closePatience is how long a service may take to end after the end of its stdin.
	closePatience = 500 * time.Millisecond
)

// Service is a confined program that runs on. Begin and End are called by one goroutine at a
// time, all other methods by any.
type Service struct {
	// In is its stdin and Out its stdout. Close closes both.
	In, Out *os.File

	running *execution
	held    atomic.Pointer[callHolder] // of the present call; nil between calls
	changes *currentObserver           // nil: changes are not reported
	over    context.CancelFunc         // ends the present call
	seen    int                        // the Order of the last denial that was returned, without a Renewer

	end  context.CancelFunc // kills the program
	done chan struct{}      // closed when all its processes are gone

	mu     sync.Mutex
	stderr tail // guarded by mu
	// outcome and err are written before done is closed.
	outcome Outcome
	err     error
}

// Serve starts c under p. The end of ctx ends the start, and has no effect afterwards. No wall
// limit applies, neither that of c nor that of p. c.Observer receives the changes until the first
// Begin. If it is nil, no changes are ever reported. c.Holder answers the refused system calls until
// the first End or Begin, which returns what the sandbox saw from the start on. The caller closes the
// service; a goroutine follows the program to its end.
func (r *Runner) Serve(ctx context.Context, p sandbox.Policy, c Command) (*Service, error) {
	p = p.Clone()
	p.Limits.WallMillis = 0
	s := &Service{done: make(chan struct{})}
	c.background, c.Timeout, c.Apart, c.Terminal, c.Foreground = true, 0, false, false, false
	first := c.Holder
	c.Holder, c.Tap = serviceHolder{s}, s.keepErrors
	if c.Observer != nil {
		s.changes = &currentObserver{now: c.Observer}
		c.Observer = s.changes
	}
	var err error
	if c.Stdin, s.In, err = newPipe(1); err != nil {
		return nil, cannot("stdin", err)
	}
	defer c.Stdin.Close()
	if s.Out, c.served, err = newPipe(0); err != nil {
		s.In.Close()
		return nil, cannot("stdout", err)
	}
	defer c.served.Close()
	s.answerBy(ctx, first)
	if s.running, err = r.begin(ctx, p, c, nil); err != nil {
		s.over()
		s.In.Close()
		s.Out.Close()
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	s.end = end
	go func() { // ends with the program
		defer close(s.done)
		defer end()
		s.outcome, s.err = s.running.end(life)
	}()
	return s, nil
}

// Begin begins a call, which ctx and End end. h answers the refused system calls of the call,
// nil: they fail at once. k, if not nil, receives the changes from now on. Begin returns what the
// sandbox saw since the last call ended.
func (s *Service) Begin(ctx context.Context, h sandbox.Holder, k sandbox.ChangeObserver) (between sandbox.Trace) {
	s.over()
	between = s.part()
	s.changes.set(k)
	s.answerBy(ctx, h)
	return between
}

// answerBy makes h answer the refused system calls until ctx or the call is over; nil: they fail.
func (s *Service) answerBy(ctx context.Context, h sandbox.Holder) {
	call, over := context.WithCancel(ctx)
	s.over = over
	if h == nil {
		s.held.Store(nil)
	} else {
		s.held.Store(&callHolder{Holder: h, call: call})
	}
}

// End ends the start, or the call that Begin began. It returns what the sandbox saw during it, and what the
// Holder granted. The program keeps what was granted until Revoke.
func (s *Service) End() (during sandbox.Trace, granted []sandbox.Grant) {
	held := s.held.Swap(nil)
	s.over()
	if held != nil {
		held.end()
		granted, _ = held.soFar()
	}
	return s.part(), granted
}

// part ends one part of the run, and returns what the sandbox saw in it.
func (s *Service) part() sandbox.Trace {
	proc := s.running.proc
	if r, ok := proc.(sandbox.Renewer); ok {
		return r.Renew()
	}
	t := sandbox.Trace{Evidence: sandbox.EvidenceNothing}
	last := s.seen
	for _, d := range proc.Refused() {
		if d.Order > s.seen {
			t.Denials, t.Evidence = append(t.Denials, d), sandbox.EvidencePartial
			last = max(last, d.Order)
		}
	}
	s.seen = last
	return t
}

// Judge returns the verdict on a call: what it answered, whether that reports a failure, and what the
// sandbox saw.
func (s *Service) Judge(during sandbox.Trace, failed bool, answer string) sandbox.Verdict {
	o := Outcome{Argv: s.running.command.Argv, Trace: during}
	if failed {
		o.Status.Exit = 1
		var k keeper
		k.add(1, []byte(answer))
		o.Output = k.output()
	}
	return Judge(s.running.policy, o, s.running.runner.options.Files, s.running.command.Dir)
}

// Revoke takes back what back lists, if possible.
func (s *Service) Revoke(back sandbox.Revocation) sandbox.RevokeResult {
	return s.running.proc.Revoke(back)
}

// Done is closed when the program and everything it started are gone.
func (s *Service) Done() <-chan struct{} { return s.done }

// Outcome says how the program ended, once Done is closed. The error is as in Run.
func (s *Service) Outcome() (Outcome, error) {
	<-s.done
	return s.outcome, s.err
}

// Errors returns the end of what the program printed on stderr, as it printed it.
func (s *Service) Errors() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	data := s.stderr.data
	return strings.ToValidUTF8(string(data[max(len(data)-errorsKept, 0):]), "\uFFFD")
}

// keepErrors never waits.
func (s *Service) keepErrors(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stderr.add(data, errorsKept)
}

// Close closes the program's stdin, and soon afterwards kills it with everything it started. It
// returns when all its processes are gone.
func (s *Service) Close() {
	s.In.Close()
	select {
	case <-s.done:
	case <-time.After(closePatience):
	}
	s.end()
	<-s.done
	s.Out.Close()
}

// serviceHolder asks the holder of the present call.
type serviceHolder struct{ *Service }

func (h serviceHolder) Asks(d sandbox.Denial) bool {
	held := h.held.Load()
	return held != nil && held.Asks(d)
}

func (h serviceHolder) Hold(ctx context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
	held := h.held.Load()
	if held == nil {
		return sandbox.Grant{}, false
	}
	return held.Hold(ctx, d)
}

// currentObserver passes changes to the observer of the present call. A nil one takes none.
type currentObserver struct {
	mu  sync.Mutex
	now sandbox.ChangeObserver // guarded by mu
}

func (o *currentObserver) set(k sandbox.ChangeObserver) {
	if o == nil || k == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now = k
}

func (o *currentObserver) get() sandbox.ChangeObserver {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now
}

func (o *currentObserver) BeforeChange(dir int, name, path string) {
	o.get().BeforeChange(dir, name, path)
}

func (o *currentObserver) Unsaved(dir int, name, path string) (why string) {
	return o.get().Unsaved(dir, name, path)
}
