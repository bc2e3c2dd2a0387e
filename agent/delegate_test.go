package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/hooks"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/tools"
)

// delegates is a rig whose tool delegate gives tasks to helpers with those tools. The model of the session
// plays own, and a helper plays the entries of its task.
func delegates(t *testing.T, tasks []tools.Task, box toolbox, helpers map[string][][]any, own ...[]any) (rig, *[]tools.Report) {
	t.Helper()
	reports := new([]tools.Report)
	mine := toolbox{"delegate": {action: approvals.Action{Kind: word.KindDelegate}, run: func(ctx context.Context, _ sandbox.Policy, s tools.Stage) (tools.Result, error) {
		*reports = s.Delegate(ctx, tasks, "")
		return tools.Result{Text: "reports", Outcome: word.OK}, nil
	}}, "look": {}}
	r := newRig(approvals.OnRequest, mine, own...)
	var mu sync.Mutex
	next := map[string]int{}
	r.cfg.Model = &splitModel{func(_ context.Context, req model.Request) []any {
		mu.Lock()
		defer mu.Unlock()
		list, at := helpers[req.Items[0].Text], next[req.Items[0].Text]
		if list == nil {
			return nil
		}
		next[req.Items[0].Text]++
		return list[min(at, len(list)-1)]
	}, r.model}
	r.cfg.Helper = func(_ context.Context, n int, kind string) (Helper, error) {
		if kind == "broken" {
			return Helper{}, errors.New("no room")
		}
		gate := r.cfg.Gate.Helper(approvals.Helper{Name: event.HelperName(n, kind)})
		return Helper{Tools: box, Gate: gate, Instructions: func() string { return "help" }, Close: func(*tools.Report) {}}, nil
	}
	return r, reports
}

func of(r rig, n int) (out []event.Event) {
	for _, e := range told[event.HelperEvent](r.face) {
		if e.Number == n {
			out = append(out, e.Event)
		}
	}
	return out
}

// TestDelegate: helpers have conversations of their own, their events carry who they are, and their tokens
// and requests count for the session. One that cannot be set up ends alone.
func TestDelegate(t *testing.T) {
	tasks := []tools.Task{{Kind: "explore", Task: "one"}, {Kind: "review", Task: "two"}, {Kind: "broken", Task: "three"}}
	r, reports := delegates(t, tasks, toolbox{"look": {}}, map[string][][]any{
		"one": {play("I look", call("1", "look")), play("report one")}, "two": {play("report two")},
	}, play(call("1", "delegate")), play(call("2", "look")), play("all done"))
	if err := r.Turn(t.Context(), Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	items := r.check(t)
	if len(items) != 6 || items[5].Text != "all done" {
		t.Errorf("the conversation of the session:\n%s", dump(items))
	}
	var got []string
	for _, h := range *reports {
		got = append(got, fmt.Sprintf("%s %s %d calls %d tokens %q %s", h.Kind, h.Outcome, h.Calls, h.Tokens, h.Text, h.Failure))
	}
	want := []string{`explore done 1 calls 22 tokens "report one" `, `review done 0 calls 11 tokens "report two" `, `broken failed 0 calls 0 tokens "" it could not be set up: no room`}
	if !slices.Equal(got, want) {
		t.Errorf("reports %q, want %q", got, want)
	}
	for _, e := range of(r, 1) {
		if e, ok := e.(event.ToolStarted); ok && e.CallID != "1/1/1" {
			t.Errorf("the call has the ID %q, as one of the session may have", e.CallID)
		}
	}
	if e := r.face.last(t); e.Usage.Input != 60 || e.Usage.Output != 6 {
		t.Errorf("the turn used %+v", e.Usage)
	}
	all := told[event.UsageUpdated](r.face)
	if total := all[len(all)-1].Total; total.Input != 60 {
		t.Errorf("the session used %+v", total)
	}
}

// TestHelperBounds: what bounds the session's turn bounds its helpers.
func TestHelperBounds(t *testing.T) {
	for name, c := range map[string]struct {
		bounds Bounds
		want   error
		asked  int // requests of all
	}{
		"requests": {Bounds{Requests: 4}, ErrOutOfRequests, 4},
		"tokens":   {Bounds{Tokens: 40}, ErrOutOfTokens, 4},
		"its own":  {Bounds{}, nil, helperRequests + 2},
	} {
		t.Run(name, func(t *testing.T) {
			r, reports := delegates(t, []tools.Task{{Kind: "explore", Task: "one"}}, toolbox{"look": {}},
				map[string][][]any{"one": {play("again", call("1", "look"))}}, play(call("1", "delegate")), play("all done"))
			r.cfg.Bounds = c.bounds
			if c.bounds.Requests == 0 {
				r.cfg.Bounds.Requests = DefaultRequests
			}
			if err := r.Turn(t.Context(), Input{Text: "go"}); !errors.Is(err, c.want) {
				t.Errorf("the turn ended with %v, want %v", err, c.want)
			}
			if h := (*reports)[0]; !strings.Contains(h.Failure, "reached the limit of") || h.Outcome != word.TurnFailed {
				t.Errorf("report: %+v", h)
			}
			if n := len(told[event.RequestStarted](r.face)) + len(requestsOf(r, 1)); n != c.asked {
				t.Errorf("%d requests, want %d", n, c.asked)
			}
		})
	}
}

func requestsOf(r rig, n int) (out []event.Event) {
	for _, e := range of(r, n) {
		if _, ok := e.(event.RequestStarted); ok {
			out = append(out, e)
		}
	}
	return out
}

// TestHelperQuestions: a helper's question goes to the person under its name, and a stop ends the turn of the
// session. What the person said no to stays a no although a helper has begun since.
func TestHelperQuestions(t *testing.T) {
	fetch := deed{action: approvals.Action{Kind: word.KindFetch, Wish: approvals.Wish{Hosts: []string{"example.com:443"}}}}
	for name, c := range map[string]struct {
		answer approvals.Answer
		want   error
	}{
		"once": {approvals.Answer{Decision: approvals.Once}, nil},
		"stop": {approvals.Answer{Decision: approvals.Stop}, ErrStopped},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := delegates(t, []tools.Task{{Kind: "search", Task: "one"}}, toolbox{"fetch": fetch},
				map[string][][]any{"one": {play(call("1", "fetch")), play("found")}}, play(call("1", "delegate")), play("all done"))
			r.face.ask = func(context.Context, approvals.Request) (approvals.Answer, error) { return c.answer, nil }
			if err := r.Turn(t.Context(), Input{Text: "go"}); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			q := r.face.asked[0]
			if !strings.HasPrefix(q.Title, "helper 1 (search): ") || q.CallID != "1/1/1" {
				t.Errorf("asked %q about the call %s", q.Title, q.CallID)
			}
		})
	}
	r, _ := delegates(t, []tools.Task{{Kind: "search", Task: "one"}}, toolbox{}, map[string][][]any{"one": {play("found")}},
		play(call("1", "fetch")), play(call("2", "delegate")), play(call("3", "fetch")))
	r.cfg.Tools.(toolbox)["fetch"] = fetch
	r.face.ask = func(context.Context, approvals.Request) (approvals.Answer, error) {
		return approvals.Answer{Decision: approvals.Deny}, nil
	}
	if err := r.Turn(t.Context(), Input{Text: "go"}); err != nil || len(r.face.asked) != 1 {
		t.Errorf("%v; asked %d times", err, len(r.face.asked))
	}
}

// TestHelperHooks: a hook that denies a call denies it to a helper too; a task is no message of the user's.
func TestHelperHooks(t *testing.T) {
	ran := false
	r, _ := delegates(t, []tools.Task{{Kind: "search", Task: "one"}},
		toolbox{"look": {run: func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
			ran = true
			return tools.Result{Text: "x"}, nil
		}}},
		map[string][][]any{"one": {play(call("1", "look")), play("found")}}, play(call("1", "delegate")), play("all done"))
	var fired []string
	var list []hooks.Hook
	for _, e := range hooks.Events() {
		h, err := hooks.Hook{Event: e, Command: "x"}.Compile()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, h)
	}
	r.cfg.Hooks = hooks.New(hooks.Options{Hooks: list, Run: func(_ context.Context, h hooks.Hook, p sandbox.Policy, stdin []byte) hooks.Exit {
		fired = append(fired, string(h.Event))
		if look := strings.Contains(string(stdin), `"look"`); look == (len(p.Write) > 0) {
			t.Errorf("%s may write %v", stdin, p.Write)
		}
		if h.Event == hooks.BeforeTool && strings.Contains(string(stdin), `"look"`) {
			return hooks.Exit{Exit: 2, Stderr: []byte("not here")}
		}
		return hooks.Exit{}
	}})
	if err := r.Turn(t.Context(), Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if ran {
		t.Error("the denied call ran")
	}
	if want := []string{"session_start", "prompt", "before_tool", "before_tool", "after_tool", "turn_end"}; !slices.Equal(fired, want) {
		t.Errorf("hooks: %v, want %v", fired, want)
	}
}

// TestHelpersEnd: the end of the turn ends all helpers and what they run.
func TestHelpersEnd(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	var started, ended sync.WaitGroup
	started.Add(2)
	ended.Add(2)
	waits := deed{run: func(ctx context.Context, _ sandbox.Policy, _ tools.Stage) (tools.Result, error) {
		started.Done()
		<-ctx.Done()
		ended.Done()
		return tools.Result{}, ctx.Err()
	}}
	r, reports := delegates(t, []tools.Task{{Kind: "search", Task: "one"}, {Kind: "search", Task: "two"}}, toolbox{"wait": waits},
		map[string][][]any{"one": {play(call("1", "wait"))}, "two": {play(call("1", "wait"))}}, play(call("1", "delegate")))
	go func() { started.Wait(); interrupt() }()
	if err := r.Turn(ctx, Input{Text: "go"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	ended.Wait()
	for _, h := range *reports {
		if h.Outcome != word.TurnInterrupted || h.Failure != "interrupted by the user" {
			t.Errorf("%+v", h)
		}
	}
	r.check(t)
}
