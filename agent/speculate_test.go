package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/tools"
)

// library is a toolbox with a reading tool: its runs are counted, and those of a path in slow
// end only with their context.
type library struct {
	toolbox
	kind  word.Kind // of its action; empty: a read
	panic bool

	mu    sync.Mutex
	slow  map[string]bool
	begun chan string // what each run reads, at its start
	ended chan string // what each run read when its context ended
}

func newLibrary(box toolbox) *library {
	return &library{toolbox: box, slow: map[string]bool{}, begun: make(chan string, 1000), ended: make(chan string, 1000)}
}

type glance struct {
	library *library
	action  approvals.Action
	what    string
}

func (*library) Ready(context.Context) error { return nil }

func (l *library) Reads(name string) bool { return name == "read" }

func (l *library) Plan(c model.ToolCall) (tools.Call, error) {
	if c.Name != "read" {
		return l.toolbox.Plan(c)
	}
	var a struct {
		Path   *string
		Offset int
	}
	dec := json.NewDecoder(strings.NewReader(c.Arguments))
	dec.DisallowUnknownFields()
	switch err := dec.Decode(&a); {
	case err != nil:
		return nil, fmt.Errorf("bad arguments: %w", err)
	case dec.More():
		return nil, errors.New("something follows")
	case a.Path == nil:
		return nil, errors.New("path is missing")
	case strings.Count(strings.ToLower(c.Arguments), `"path"`) > 1:
		return nil, errors.New("path is given twice")
	}
	g := glance{library: l, what: fmt.Sprintf("%s:%d", *a.Path, max(a.Offset, 1))}
	g.action = approvals.Action{CallID: c.ID, Tool: "read", Kind: l.kind, Title: "read " + *a.Path, Paths: []string{*a.Path}}
	if l.kind == "" {
		g.action.Kind = word.KindRead
	}
	return g, nil
}

func (g glance) Action() approvals.Action { return g.action }
func (g glance) Reads() string            { return g.what }

func (g glance) Run(ctx context.Context, p approvals.Permit, s tools.Stage) (tools.Result, error) {
	if _, err := p.Policy(g.action); err != nil {
		return tools.Result{}, err
	}
	l := g.library
	l.begun <- g.what
	l.mu.Lock()
	slow := l.slow[g.what]
	l.mu.Unlock()
	switch {
	case l.panic:
		panic("the shelf fell")
	case slow:
		<-ctx.Done()
		l.ended <- g.what
		return tools.Result{}, ctx.Err()
	}
	return tools.Result{Text: "found " + g.what, Outcome: word.OK}, nil
}

// until waits for what to come out of c, and fails on anything else.
func until(t *testing.T, c chan string, what string) {
	t.Helper()
	select {
	case got := <-c:
		if got != what {
			t.Errorf("%q came, want %q", got, what)
		}
	case <-time.After(time.Minute):
		t.Errorf("%q never came", what)
	}
}

func newLibraryRig(l *library, list ...[]any) rig {
	r := newRig(approvals.OnRequest, nil, list...)
	r.cfg.Tools = l
	return r
}

func opening(id, name string, arguments ...string) []any {
	out := []any{model.CallStarted{ID: id, Name: name}}
	for _, a := range arguments {
		out = append(out, model.CallDelta{ID: id, Arguments: a})
	}
	return out
}

func closing(id, name, arguments string) model.Delta {
	return model.CallDone{Call: model.ToolCall{ID: id, Name: name, Arguments: arguments}}
}

func results(items []model.Item) (out []string) {
	for _, i := range items {
		if i.Kind == model.Result {
			out = append(out, i.CallID+": "+i.Text)
		}
	}
	return out
}

func TestAReadRunsAhead(t *testing.T) {
	const one = `{"path":"a"`
	for _, c := range []struct {
		name string
		rest string // of the arguments
		// begins and ends are the runs that begin, and that are cancelled, after the rest has come
		// and the call is complete.
		slow         []string
		begins, ends []string
		want         string
	}{
		{name: "the same", rest: `}`, want: "found a:1"},
		{name: "a field that changes nothing", rest: `,"offset":1}`, want: "found a:1"},
		{name: "a field that changes it", rest: `,"offset":7}`, slow: []string{"a:1"}, begins: []string{"a:7"}, ends: []string{"a:1"}, want: "found a:7"},
		{name: "the field once more", rest: `,"path":"b"}`, slow: []string{"a:1"}, ends: []string{"a:1"}, want: "Not run: path is given twice"},
		{name: "the field in capitals", rest: `,"PATH":"b"}`, slow: []string{"a:1"}, ends: []string{"a:1"}, want: "Not run: path is given twice"},
		{name: "an unknown field", rest: `,"mode":"w"}`, slow: []string{"a:1"}, ends: []string{"a:1"}, want: `Not run: bad arguments: json: unknown field "mode"`},
		{name: "no object after all", rest: `]`, slow: []string{"a:1"}, ends: []string{"a:1"}, want: "Not run: bad arguments: invalid character ']' after object key:value pair"},
	} {
		for step := range 3 { // the rest comes whole, byte by byte, or in twos
			t.Run(fmt.Sprint(c.name, " ", step), func(t *testing.T) {
				l := newLibrary(nil)
				for _, s := range c.slow {
					l.slow[s] = true
				}
				script := append(opening("1", "read", `{"pa`, `th":"a`, `"`), func() { until(t, l.begun, "a:1") })
				for piece := range slices.Chunk([]byte(c.rest), []int{len(c.rest), 1, 2}[step]) {
					script = append(script, model.CallDelta{ID: "1", Arguments: string(piece)})
				}
				script = append(script, closing("1", "read", one+c.rest))
				r := newLibraryRig(l, play(script...))
				if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
					t.Fatal(err)
				}
				if got := results(r.check(t)); !slices.Equal(got, []string{"1: " + c.want}) {
					t.Errorf("%q", got)
				}
				for _, b := range c.begins {
					until(t, l.begun, b)
				}
				for _, e := range c.ends {
					until(t, l.ended, e)
				}
				if len(l.begun)+len(l.ended) > 0 {
					t.Errorf("%d more runs began, %d were cancelled", len(l.begun), len(l.ended))
				}
				if n := len(told[event.ToolStarted](r.face)); n != 1 {
					t.Errorf("%d events ToolStarted, want 1", n)
				}
			})
		}
	}
}

// A call that broke off, was interrupted or is requested again leaves nothing running, and
// only complete calls are reported.
func TestARunAheadOfACallThatNeverComes(t *testing.T) {
	broken := &model.Error{Kind: model.Transport, Message: "gone"}
	for name, end := range map[string]struct {
		last any
		err  error
	}{
		"the stream dies":       {broken, broken},
		"it is asked for again": {model.Retrying{Err: broken, Attempt: 2, Most: 3}, nil},
		"the call never closes": {model.Finished{Reason: model.StopLength}, nil},
		"the person interrupts": {nil, context.Canceled},
		"the answer goes on":    {model.TextDelta{Text: "so"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLibrary(nil)
			l.slow["a:1"] = true
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			script := append(opening("1", "read", `{"path":"a"`), func() { until(t, l.begun, "a:1") })
			if end.last == nil {
				script = append(script, func() { cancel() }, model.TextDelta{Text: "late"})
			} else {
				script = append(script, end.last)
			}
			r := newLibraryRig(l, play(append(script, "done")...))
			if err := r.Turn(ctx, Input{Text: "x"}); !errors.Is(err, end.err) {
				t.Fatal(err)
			}
			until(t, l.ended, "a:1")
			if got := results(r.check(t)); got != nil || len(told[event.ToolStarted](r.face)) > 0 {
				t.Errorf("%q, told %v", got, told[event.ToolStarted](r.face))
			}
		})
	}
}

// Complete calls of an answer that broke off are kept, its runs ahead are not.
func TestARunAheadIsNotKeptWhenTheAnswerBreaksOff(t *testing.T) {
	l := newLibrary(toolbox{"shell": npm(approvals.Wish{})})
	script := append([]any{call("1", "shell")}, opening("2", "read", `{"path":"a"`)...)
	script = append(script, func() { until(t, l.begun, "a:1") }, model.Retrying{Err: errors.New("gone"), Attempt: 2, Most: 3})
	r := newLibraryRig(l, play(script...))
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if got := results(r.check(t)); !slices.Equal(got, []string{"1: fine"}) {
		t.Errorf("%q", got)
	}
}

// A read waits for the edits before it, complete or not.
func TestARunAheadWaitsForEditsBeforeIt(t *testing.T) {
	allowed := make(chan struct{})
	edited := make(chan struct{})
	edit := deed{action: approvals.Action{Kind: word.KindEdit, Paths: []string{"/w/a"}}, run: func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
		<-allowed
		close(edited)
		return tools.Result{Text: "edited", Outcome: word.OK}, nil
	}}
	l := newLibrary(toolbox{"edit": edit})
	early := func(where string) func() {
		return func() {
			if len(l.begun) > 0 {
				t.Errorf("the read ran before the edit %s", where)
			}
		}
	}
	script := append(opening("1", "edit", "{"), opening("2", "read", `{"path":"a"`)...)
	script = append(script, early("was complete"), closing("1", "edit", "{}"), model.CallDelta{ID: "2", Arguments: `,"offset":2`}, early("was done"), model.CallDelta{ID: "2", Arguments: `}`},
		func() { close(allowed); <-edited; until(t, l.begun, "a:2") }, closing("2", "read", `{"path":"a","offset":2}`))
	r := newLibraryRig(l, play(script...))
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if got := results(r.check(t)); !slices.Equal(got, []string{"1: edited", "2: found a:2"}) {
		t.Errorf("%q", got)
	}
}

// Only what the gate treats as a read runs ahead, whatever the tool itself reports.
func TestNoCommandRunsAhead(t *testing.T) {
	for _, kind := range []word.Kind{word.KindCommand, word.KindEdit, word.KindPlan, word.KindFetch} {
		l := newLibrary(nil)
		l.kind = kind
		complete := false
		script := append(opening("1", "read", `{"path":"/w/a"`, `}`), func() { complete = true }, closing("1", "read", `{"path":"/w/a"}`))
		r := newLibraryRig(l, play(script...))
		r.face.on = func(e event.Event) {
			if _, ok := e.(event.ToolStarted); ok && (!complete || len(l.begun) > 0) {
				t.Errorf("%s: started, call complete: %v, ran ahead: %d", kind, complete, len(l.begun))
			}
		}
		if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
			t.Fatal(err)
		}
		r.check(t)
		if n := len(l.begun); n > 1 {
			t.Errorf("%s: it ran %d times", kind, n)
		}
	}
}

// A result counts only under the policy at the time when the call is complete.
func TestARunAheadUnderAnOlderPolicyIsNotUsed(t *testing.T) {
	l := newLibrary(toolbox{"shell": npm(writes("/home/u/.npm"))})
	script := append(opening("1", "shell", "{}"), closing("1", "shell", "{}"))
	granted := make(chan struct{})
	script = append(append(script, opening("2", "read", `{"path":"a"`)...), func() { until(t, l.begun, "a:1"); close(granted) })
	r := newLibraryRig(l)
	standing := make(chan struct{})
	r.face.ask = func(context.Context, approvals.Request) (approvals.Answer, error) {
		<-granted
		return approvals.Answer{Decision: approvals.Session}, nil
	}
	r.face.on = func(e event.Event) {
		if _, ok := e.(event.PermissionAnswered); ok {
			close(standing)
		}
	}
	script = append(script, func() { <-standing }, closing("2", "read", `{"path":"a"}`))
	r.model.list = [][]any{play(script...)}
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if got := results(r.check(t)); len(got) != 2 || got[1] != "2: found a:1" {
		t.Errorf("%q", got)
	}
	until(t, l.begun, "a:1") // once more
}

func TestAPanicAheadIsOneOfTheCall(t *testing.T) {
	l := newLibrary(nil)
	l.panic = true
	r := newLibraryRig(l, play(append(opening("1", "read", `{"path":"a"`, `}`), closing("1", "read", `{"path":"a"}`))...))
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if got := results(r.check(t)); len(got) != 1 || !strings.Contains(got[0], "bug: the shelf fell") {
		t.Errorf("%q", got)
	}
}

// With more reads than may run at once, runs ahead and their calls do not wait for each
// other's slots.
func TestManyRunAhead(t *testing.T) {
	l := newLibrary(nil)
	var script []any
	var want []string
	for i := range 5 * maxParallel {
		id, arguments := fmt.Sprint(i), fmt.Sprintf(`{"path":"%d"}`, i)
		script = append(append(script, opening(id, "read", arguments[:len(arguments)-1], "}")...), closing(id, "read", arguments))
		want = append(want, fmt.Sprintf("%d: found %d:1", i, i))
	}
	r := newLibraryRig(l, play(script...))
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if got := results(r.check(t)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if len(l.begun) != len(want) {
		t.Errorf("%d runs of %d calls", len(l.begun), len(want))
	}
}

// Interleaved reads run ahead in parallel, and a call with too many fields does not run ahead.
func TestReadsInTurnsRunAhead(t *testing.T) {
	l := newLibrary(nil)
	script := append(opening("1", "read", `{"path":"a"`), opening("2", "read", `{"path":"b"`)...)
	script = append(script, func() {
		if begun := []string{<-l.begun, <-l.begun}; !slices.Contains(begun, "a:1") || !slices.Contains(begun, "b:1") {
			t.Errorf("%q began", begun)
		}
	}, closing("1", "read", `{"path":"a"}`), closing("2", "read", `{"path":"b"}`))
	long := `{"path":"c"` + strings.Repeat(`,"offset":1`, mostFields)
	script = append(append(script, opening("3", "read", long+`,`)...), closing("3", "read", long+`}`))
	r := newLibraryRig(l, play(script...))
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if got := results(r.check(t)); !slices.Equal(got, []string{"1: found a:1", "2: found b:1", "3: found c:1"}) {
		t.Errorf("%q", got)
	}
	until(t, l.begun, "c:1")
	if len(l.begun) > 0 {
		t.Errorf("%q ran ahead", <-l.begun)
	}
}

// With speculation off nothing starts before the whole answer has come. An answer that breaks
// off has had no effect and can be requested again.
func TestWholeAnswers(t *testing.T) {
	l := newLibrary(nil)
	ran := false
	l.toolbox = toolbox{"shell": {run: func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
		ran = true
		return tools.Result{Text: "fine", Outcome: word.OK}, nil
	}}}
	calls := append([]any{call("1", "shell")}, opening("2", "read", `{"path":"a"`, `}`)...)
	calls = append(calls, closing("2", "read", `{"path":"a"}`), func() {
		if ran || len(l.begun) > 0 {
			t.Errorf("before the answer was complete: shell ran: %v, reads ahead: %d", ran, len(l.begun))
		}
	})
	again := append(slices.Clone(calls), model.Retrying{Err: errors.New("gone"), Attempt: 2, Most: 3})
	for name, c := range map[string]struct {
		script []any
		want   []string
		err    error
	}{
		"whole":       {play(calls...), []string{"1: fine", "2: found a:1"}, nil},
		"asked again": {play(append(again, calls...)...), []string{"1: fine", "2: found a:1"}, nil},
		"dies":        {slices.Concat(play(calls...)[:len(play(calls...))-1], []any{context.DeadlineExceeded}), nil, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			ran = false
			r := newLibraryRig(l, c.script)
			r.cfg.WholeAnswers = true
			if err := r.Turn(t.Context(), Input{Text: "x"}); !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			if got := results(r.check(t)); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			for len(l.begun) > 0 {
				<-l.begun
			}
		})
	}
}

// However the arguments arrive, and whatever runs ahead, the conversation equals the one
// without speculation.
func FuzzSpeculation(f *testing.F) {
	f.Add(`{"path":"ü\u00fc\ud83d\ude00\"","offset":3}`, []byte{1, 2, 1, 0, 7})
	f.Add(`{"path":"a","path":"b"}`, []byte{9, 2})
	f.Add(`{"offset":1,"path":"a"} x`, []byte{12, 1, 1})
	f.Add(`{"path":"a"}{"path":"b"}`, []byte{3, 3, 3, 3, 3, 3})
	f.Add(`{}`, []byte{1})
	f.Fuzz(func(t *testing.T, arguments string, cuts []byte) {
		if !utf8.ValidString(arguments) {
			return
		}
		var got []string
		for _, whole := range []bool{false, true} {
			l := newLibrary(nil)
			script := opening("1", "read")
			rest := arguments
			for _, c := range cuts[:min(len(cuts), 100)] {
				n := min(int(c), len(rest))
				script = append(script, model.CallDelta{ID: "1", Arguments: rest[:n]})
				rest = rest[n:]
			}
			script = append(script, model.CallDelta{ID: "1", Arguments: rest}, closing("1", "read", arguments))
			r := newLibraryRig(l, play(script...))
			r.cfg.WholeAnswers = whole
			if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
				t.Fatal(err)
			}
			got = append(got, dump(r.check(t)))
		}
		if got[0] != got[1] {
			t.Errorf("%q\nahead: %s\nwhole: %s", arguments, got[0], got[1])
		}
	})
}
