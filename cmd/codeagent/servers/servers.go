// Package servers joins the MCP servers of a session: it starts each in a sandbox of its own,
// offers their tools to the model, runs the calls, and puts their questions to the person. It
// starts programs through exec.Serve alone, and permits nothing: each call carries a permit of
// approvals.
//
//	Open -> start (member.go)   policy by the settings, exec.Serve, mcp.OverPipes: the tools
//	Plan -> Action              approvals judges it (approvals/server.go)
//	Run  -> call (call.go)      Begin, mcp.Client.Call, End: what the sandbox refused belongs to the call
//
// Threat: a server is hostile. It gets its own policy and never that of commands; what it was
// granted for one call is revoked after it; what it says is bounded and cleaned by room mcp.
package servers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"codeagent/approvals"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config/server"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/mcp"
	"codeagent/mcp/inquiry"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/tools"
	"codeagent/undo"
)

// Options is what the servers of a session need.
type Options struct {
	Workspace *workspace.Workspace
	// Configured are the servers by name: those of the settings, the project and the editor.
	Configured map[string]server.Settings
	Ledger     *approvals.Ledger
	// Trusted protects in a policy what git takes programs from. It may block; nil: nothing.
	Trusted func(sandbox.Policy) sandbox.Policy
	// Undo records files before a server changes them; nil: nothing is recorded.
	Undo *undo.History
	// Learn is exec.Command.Learn for the server of a name; nil: nothing is learned.
	Learn func(name string) func(sandbox.Denial) (sandbox.Grant, bool)
}

// Face shows what happens to servers, and asks the person.
type Face interface {
	Emit(event.Event)
	Inquire(context.Context, inquiry.Question) (inquiry.Reply, error)
}

// Servers are the MCP servers of a session. Its methods are safe for concurrent use.
type Servers struct {
	options Options
	members []*member // by name
	life    context.Context
	end     context.CancelFunc
	begun   sync.WaitGroup

	mu      sync.Mutex
	face    Face          // nil before Attach; guarded by mu
	pending []event.Event // before Attach; guarded by mu
}

// Open starts every server and does not wait for them. It returns nil without one. Close ends
// them.
func Open(ctx context.Context, o Options) *Servers {
	if len(o.Configured) == 0 {
		return nil
	}
	s := &Servers{options: o}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	for _, name := range slices.Sorted(maps.Keys(o.Configured)) {
		s.members = append(s.members, newMember(s, name, o.Configured[name]))
	}
	for _, m := range s.members {
		s.begun.Go(func() { m.begin() })
	}
	return s
}

// Attach gives the servers a face. What happened before is shown now.
func (s *Servers) Attach(f Face) {
	if s == nil {
		return
	}
	s.mu.Lock()
	before := s.pending
	s.face, s.pending = f, nil
	s.mu.Unlock()
	for _, e := range before {
		f.Emit(e)
	}
}

func (s *Servers) emit(e event.Event) {
	s.mu.Lock()
	f := s.face
	if f == nil {
		s.pending = append(s.pending, e)
	}
	s.mu.Unlock()
	if f != nil {
		f.Emit(e)
	}
}

func (s *Servers) notice(level word.Level, format string, args ...any) {
	s.emit(event.Notice{Level: level, Text: fmt.Sprintf(format, args...)})
}

// inquire asks the person. Without a face nobody can answer.
func (s *Servers) inquire(ctx context.Context, q inquiry.Question) inquiry.Reply {
	s.mu.Lock()
	f := s.face
	s.mu.Unlock()
	if f == nil {
		return inquiry.Reply{Action: inquiry.Declined}
	}
	reply, err := f.Inquire(ctx, q)
	if err != nil {
		return inquiry.Reply{Action: inquiry.Declined}
	}
	return reply
}

// Ready waits until every server has started or failed, and says so if that takes long. The error is
// that of ctx.
func (s *Servers) Ready(ctx context.Context) error {
	if s == nil {
		return nil
	}
	done := make(chan struct{})
	go func() { // ends with the starts, which have time limits
		defer close(done)
		s.begun.Wait()
	}()
	defer s.sayWhileWaiting()()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Required waits for the servers without which no session starts, and returns why one of them did
// not start.
func (s *Servers) Required(ctx context.Context) error {
	if s == nil || !slices.ContainsFunc(s.members, func(m *member) bool { return m.configured.Required }) {
		return nil
	}
	defer s.sayWhileWaiting()()
	var errs []error
	for _, m := range s.members {
		if !m.configured.Required {
			continue // the first turn waits for it
		}
		if err := m.enter(ctx); err != nil {
			return err
		}
		m.leave()
		if st := m.status(); st.State == Failed {
			errs = append(errs, fmt.Errorf("the MCP server %s is required and did not start: %s", m.name, st.Problem))
		}
	}
	return errors.Join(errs...)
}

// Close ends all servers with everything that they started.
func (s *Servers) Close() {
	if s == nil {
		return
	}
	s.end()
	s.begun.Wait()
	var all sync.WaitGroup
	for _, m := range s.members {
		all.Go(m.close)
	}
	all.Wait()
}

// The values of Status.State.
const (
	Starting = "starting"
	Running  = "running"
	Failed   = "failed"
	// Ended: it has ended by itself, and is started again for its next call.
	Ended = "ended"
)

// Status describes one server. Texts of the server are bounded and safe to show.
type Status struct {
	Name, Origin string
	// Program is its command line, or its URL.
	Program string
	Remote  bool
	State   string
	// Problem says why it failed or ended.
	Problem string
	// Took is how long the last start took.
	Took                   time.Duration
	Protocol, Instructions string
	Tools                  []mcp.Tool
	// Policy is what it may do now. A remote server has none.
	Policy sandbox.Policy
	// Refused is what the sandbox refused it outside of tool calls, while it started or between
	// calls, and that was not moot.
	Refused []sandbox.Denial
}

// Status lists the servers by name.
func (s *Servers) Status() (out []Status) {
	if s == nil {
		return nil
	}
	for _, m := range s.members {
		out = append(out, m.status())
	}
	return out
}

// Has reports whether there is a server called name.
func (s *Servers) Has(name string) bool { return s.member(name) != nil }

// member returns the server called name.
func (s *Servers) member(name string) *member {
	if s == nil {
		return nil
	}
	i := slices.IndexFunc(s.members, func(m *member) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return s.members[i]
}

// Revoke takes what closed names from a server, as far as nothing else opens it and the system
// allows. running is how many servers are affected.
func (s *Servers) Revoke(name string, closed sandbox.Grant) (running int, became sandbox.RevokeResult) {
	m := s.member(name)
	if m == nil {
		return 0, sandbox.RevokeResult{}
	}
	return m.revoke([]sandbox.Grant{closed})
}

// Restart ends a server and starts it again.
func (s *Servers) Restart(ctx context.Context, name string) error {
	m := s.member(name)
	if m == nil {
		return fmt.Errorf("there is no MCP server %s in this session", name)
	}
	return m.restart(ctx)
}

// Specs describes the tools of the running servers, by server and name. A server that has ended
// keeps its tools: a call of one starts it again.
func (s *Servers) Specs() (out []model.ToolSpec) {
	for _, m := range s.members {
		for _, t := range m.offers() {
			out = append(out, model.ToolSpec{Name: t.Offered, Description: t.Description, Schema: t.Schema})
		}
	}
	return out
}

// Plan plans a call. The name of a server ends at the first two underscores.
func (s *Servers) Plan(c model.ToolCall) (tools.Call, bool, error) {
	name, _, found := strings.Cut(c.Name, "__")
	m := s.member(name)
	if !found || m == nil {
		return nil, false, nil
	}
	planned, err := m.plan(c)
	return planned, true, err
}

// Instructions are the words of the running servers on how their tools are used, by name.
func (s *Servers) Instructions() map[string]string {
	if s == nil {
		return nil
	}
	out := map[string]string{}
	for _, m := range s.members {
		if st := m.status(); st.Instructions != "" && len(st.Tools) > 0 {
			out[m.name] = st.Instructions
		}
	}
	return out
}
