package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"codeagent/approvals"
	"codeagent/approvals/content"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/tools"
)

// face records events and answers questions.
type face struct {
	mu     sync.Mutex
	events []event.Event
	steers []string
	ask    func(context.Context, approvals.Request) (approvals.Answer, error)
	asked  []approvals.Request
	on     func(event.Event)
}

func (f *face) Emit(e event.Event) {
	f.mu.Lock()
	f.events = append(f.events, e)
	on := f.on
	f.mu.Unlock()
	if on != nil {
		on(e)
	}
}

func (f *face) Ask(ctx context.Context, r approvals.Request) (approvals.Answer, error) {
	f.mu.Lock()
	f.asked = append(f.asked, r)
	f.mu.Unlock()
	if f.ask == nil {
		return approvals.Answer{Decision: approvals.Unattended}, nil
	}
	return f.ask(ctx, r)
}

func (f *face) Steer() (Input, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.steers) == 0 {
		return Input{}, false
	}
	text := f.steers[0]
	f.steers = f.steers[1:]
	return Input{Text: text}, true
}

// told returns the events of type E, in order.
func told[E event.Event](f *face) []E {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []E
	for _, e := range f.events {
		if v, ok := e.(E); ok {
			out = append(out, v)
		}
	}
	return out
}

func (f *face) last(t *testing.T) event.TurnFinished {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.events[len(f.events)-1].(event.TurnFinished)
	if !ok {
		t.Fatalf("the last event is %T", f.events[len(f.events)-1])
	}
	return e
}

// played is a model that plays deltas: one entry per request. An error in it ends the stream,
// and a function in it is called. After the last entry the model says that it is done.
type played struct {
	mu       sync.Mutex
	list     [][]any
	requests []model.Request
	next     func(n int) []any // answers request n instead of list
	before   func(n int)       // called before delta n of all
	n        int
}

func (m *played) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	m.mu.Lock()
	m.requests = append(m.requests, r)
	deltas := []any{model.TextDelta{Text: "done"}, model.Finished{Reason: model.StopEnd}}
	if m.next != nil {
		deltas = m.next(len(m.requests))
	} else if len(m.list) > 0 {
		deltas, m.list = m.list[0], m.list[1:]
	}
	m.mu.Unlock()
	return func(yield func(model.Delta, error) bool) {
		for _, d := range deltas {
			if m.before != nil {
				m.n++
				m.before(m.n)
			}
			if ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			if f, ok := d.(func()); ok {
				f()
				continue
			}
			if err, ok := d.(error); ok {
				yield(nil, err)
				return
			}
			if !yield(d.(model.Delta), nil) {
				return
			}
		}
	}
}

// play makes deltas: a string is text, a model.ToolCall a whole call, anything
// else is used unchanged. Finished follows.
func play(parts ...any) []any {
	reason := model.StopEnd
	var out []any
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			out = append(out, model.TextDelta{Text: p})
		case model.ToolCall:
			reason = model.StopCalls
			out = append(out, model.CallStarted{ID: p.ID, Name: p.Name}, model.CallDelta{ID: p.ID, Arguments: p.Arguments}, model.CallDone{Call: p})
		default:
			out = append(out, p)
		}
	}
	return append(out, model.Finished{Reason: reason, Usage: model.Usage{Input: 10, Output: 1}})
}

func call(id, name string) model.ToolCall { return model.ToolCall{ID: id, Name: name, Arguments: "{}"} }

// deed is a fake tool: an action and what running it does.
type deed struct {
	action approvals.Action
	err    error
	run    func(ctx context.Context, p sandbox.Policy, s tools.Stage) (tools.Result, error)
}

// toolbox is fake tools by name.
type toolbox map[string]deed

func (toolbox) Ready(context.Context) error { return nil }

func (b toolbox) Specs() []model.ToolSpec { return []model.ToolSpec{{Name: "fake"}} }

func (b toolbox) Plan(c model.ToolCall) (tools.Call, error) {
	d, ok := b[c.Name]
	if !ok {
		return nil, fmt.Errorf("there is no tool %q", c.Name)
	}
	if d.err != nil {
		return nil, d.err
	}
	d.action.CallID, d.action.Tool = c.ID, c.Name
	if d.action.Kind == "" {
		d.action.Kind, d.action.Independent = word.KindCommand, true
	}
	d.action.Title, d.action.Folder = "$ "+d.action.Command, "/w"
	return d, nil
}

func (d deed) Action() approvals.Action { return d.action }

func (d deed) Run(ctx context.Context, p approvals.Permit, s tools.Stage) (tools.Result, error) {
	policy, err := p.Policy(d.action)
	if err != nil {
		return tools.Result{}, err
	}
	if d.run == nil {
		return tools.Result{Text: "fine", Outcome: word.OK}, nil
	}
	return d.run(ctx, policy, s)
}

// folders is a file system in which every path is a folder.
type folders struct{}

func (folders) Lstat(string) (fs.FileMode, error) { return fs.ModeDir, nil }
func (folders) Readlink(p string) (string, error) { return "", errors.New("not a link") }

// logged records the items it was given.
type logged struct {
	mu    sync.Mutex
	items []model.Item
	err   error
	// compacted counts the compactions.
	compacted int
}

func (l *logged) Append(i model.Item) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.items = append(l.items, i)
	}
	return l.err
}

func (l *logged) Compacted(items []model.Item) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.items, l.compacted = slices.Clone(items), l.compacted+1
	}
	return l.err
}

// rig is an agent with all its fakes.
type rig struct {
	*Agent
	face  *face
	model *played
	log   *logged
}

// unchanged is a session in which nothing changes.
type unchanged struct{}

func (unchanged) Digest(string) (string, error)             { return "sum", nil }
func (unchanged) Identity(string) (content.Identity, error) { return content.Identity{Inode: 1}, nil }
func (unchanged) Mark() (int64, bool)                       { return 0, true }
func (unchanged) Changed(int64) ([]content.Change, bool)    { return nil, true }
func (unchanged) Writers() []content.Writer                 { return nil }

func newRig(mode approvals.Mode, box toolbox, list ...[]any) rig {
	var mu sync.Mutex
	n := 0
	gate := approvals.NewGate(approvals.Options{
		Mode: mode, Base: sandbox.WorkspaceWrite("/w"), Files: folders{}, Home: "/home/u", Workspace: "/w", Content: unchanged{},
		NewID: func() string { mu.Lock(); defer mu.Unlock(); n++; return fmt.Sprint("q", n) },
	})
	r := rig{face: &face{}, model: &played{list: list}, log: &logged{}}
	r.Agent = New(Config{
		Model: r.model, ModelName: "m", Tools: box, Gate: gate, Frontend: r.face, Log: r.log, CompactAt: 80,
		Instructions: func() string { return "be good" }, Attended: true,
	})
	return r
}

// valid returns what is wrong with a history, or "".
func valid(items []model.Item) string {
	var open []string
	for i, item := range items {
		switch item.Kind {
		case model.Call:
			if i > 0 && items[i-1].Kind == model.Result && len(open) > 0 {
				return fmt.Sprintf("item %d: a call between results", i)
			}
			open = append(open, item.Call.ID)
		case model.Result:
			if len(open) == 0 || open[0] != item.CallID {
				return fmt.Sprintf("item %d: result of %q, want one of %v", i, item.CallID, open)
			}
			if strings.TrimSpace(item.Text) == "" {
				return fmt.Sprintf("item %d: an empty result", i)
			}
			open = open[1:]
		default:
			// Thinking may be between the calls of a message.
			between := item.Kind == model.Reasoning && items[max(i-1, 0)].Kind != model.Result
			if len(open) > 0 && !between {
				return fmt.Sprintf("item %d (%s): the calls %v have no result", i, item.Kind, open)
			}
			if strings.TrimSpace(item.Text) == "" && item.Opaque == nil {
				return fmt.Sprintf("item %d (%s): empty", i, item.Kind)
			}
		}
	}
	if len(open) > 0 {
		return fmt.Sprintf("the calls %v have no result", open)
	}
	return ""
}

// check tests what must hold after every turn.
func (r rig) check(t *testing.T) []model.Item {
	t.Helper()
	items := r.History()
	if wrong := valid(items); wrong != "" {
		t.Errorf("history: %s\n%s", wrong, dump(items))
	}
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	logged := Repair(r.log.items)
	if wrong := valid(logged); wrong != "" {
		t.Errorf("what the log holds: %s\n%s", wrong, dump(logged))
	}
	if r.log.err == nil && !slices.Equal(unordered(items), unordered(logged)) {
		t.Errorf("the log differs from the history:\n%s\nlog:\n%s", dump(items), dump(logged))
	}
	starts, ends := told[event.ToolStarted](r.face), told[event.ToolFinished](r.face)
	if len(starts) != len(ends) {
		t.Errorf("%d calls started, %d finished", len(starts), len(ends))
	}
	if a, b := len(told[event.PermissionRequested](r.face)), len(told[event.PermissionAnswered](r.face)); a != b {
		t.Errorf("%d questions, %d answers", a, b)
	}
	return items
}

// unordered returns the texts of items without their order, since the log has each item when
// it was complete. It leaves out warnings about repetition, which are added later.
func unordered(items []model.Item) []string {
	var out []string
	for _, i := range items {
		i.Text, _, _ = strings.Cut(i.Text, "\n[You have made exactly this call")
		out = append(out, dumpOne(i))
	}
	slices.Sort(out)
	return out
}

func dump(items []model.Item) string {
	var b strings.Builder
	for _, i := range items {
		b.WriteString(dumpOne(i) + "\n")
	}
	return b.String()
}

func dumpOne(i model.Item) string {
	switch i.Kind {
	case model.Call:
		return fmt.Sprintf("call %s %s", i.Call.ID, i.Call.Name)
	case model.Result:
		return fmt.Sprintf("result %s failed=%v %q", i.CallID, i.Failed, i.Text)
	}
	return fmt.Sprintf("%s %q", i.Kind, i.Text)
}

// splitModel plays what next returns; where that is nil, other answers.
type splitModel struct {
	next  func(context.Context, model.Request) []any
	other *played
}

func (m *splitModel) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	deltas := m.next(ctx, r)
	if deltas == nil {
		return m.other.Stream(ctx, r)
	}
	return (&played{list: [][]any{deltas}}).Stream(ctx, r)
}
