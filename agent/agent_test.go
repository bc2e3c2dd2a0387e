package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/tools"
)

func TestATurnFromMessageToAnswer(t *testing.T) {
	box := toolbox{"shell": npm(approvals.Wish{})}
	r := newRig(approvals.OnRequest, box, play(model.ReasoningDelta{Text: "hm"}, "I ", "look.", call("1", "shell")), play("It is ", "done."))
	if err := r.Turn(t.Context(), Input{Text: "do it"}); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		`user "do it"`, `reasoning "hm"`, `assistant "I look."`, "call 1 shell", `result 1 failed=false "fine"`, `assistant "It is done."`, "",
	}, "\n")
	if got := dump(r.check(t)); got != want {
		t.Errorf("history:\n%s", got)
	}
	var names []string
	for _, e := range r.face.events {
		names = append(names, strings.TrimPrefix(fmt.Sprintf("%T", e), "event."))
	}
	wantEvents := "TurnStarted RequestStarted ReasoningDelta ReasoningFinished TextDelta TextDelta MessageFinished ToolStarted ToolFinished UsageUpdated " +
		"RequestStarted TextDelta TextDelta MessageFinished UsageUpdated TurnFinished"
	// The call runs in parallel to the stream: its end and the usage come in either order.
	got := strings.Replace(strings.Join(names, " "), "UsageUpdated ToolFinished", "ToolFinished UsageUpdated", 1)
	// The last run of text ends with the answer.
	got = strings.Replace(got, "UsageUpdated MessageFinished TurnFinished", "MessageFinished UsageUpdated TurnFinished", 1)
	if got != wantEvents {
		t.Errorf("events:\n%s\nwant:\n%s", got, wantEvents)
	}
	end := r.face.last(t)
	if end.Answer != "It is done." || end.Usage.Input != 20 || end.Outcome != "done" {
		t.Errorf("%+v", end)
	}
	q := r.model.requests[1]
	if q.Instructions != "be good" || q.Model != "m" || len(q.Items) != 5 || len(q.Tools) != 1 {
		t.Errorf("request %+v", q)
	}
}

func TestModelErrorsEndTheTurnAndTheConversationGoesOn(t *testing.T) {
	for _, kind := range []model.ErrorKind{model.SignIn, model.RateLimited, model.Transport, model.ServerFault, model.BadRequest} {
		fault := &model.Error{Kind: kind, Message: "no"}
		r := newRig(approvals.OnRequest, toolbox{"shell": npm(approvals.Wish{})},
			[]any{fault},
			[]any{model.TextDelta{Text: "half"}, fault},
			[]any{model.TextDelta{Text: "half"}, model.CallDone{Call: call("1", "shell")}, model.CallStarted{ID: "2", Name: "shell"}, fault})
		for range 3 {
			err := r.Turn(t.Context(), Input{Text: "x"})
			var got *model.Error
			if !errors.As(err, &got) || got.Kind != kind {
				t.Fatalf("%s: %v", kind, err)
			}
			r.check(t)
			if end := r.face.last(t); end.Outcome != "failed" || !errors.Is(end.Err, err) {
				t.Errorf("%+v", end)
			}
		}
		if err := r.Turn(t.Context(), Input{Text: "again"}); err != nil {
			t.Fatal(err)
		}
		r.check(t)
	}
}

func TestRetryingVoidsWhatCameBefore(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{"shell": npm(approvals.Wish{})}, play(
		"lost ", model.ReasoningDelta{Text: "lost"}, model.CallStarted{ID: "9", Name: "shell"},
		model.Retrying{Err: errors.New("reset"), Attempt: 2, Most: 5}, "kept"))
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if got := dump(r.check(t)); got != "user \"x\"\nassistant \"kept\"\n" {
		t.Errorf("history:\n%s", got)
	}
	if e := told[event.Retrying](r.face); len(e) != 1 || e[0].Message != "reset" || e[0].Attempt != 2 || e[0].Most != 5 {
		t.Errorf("%+v", e)
	}
}

// The effects of a started call cannot be voided: the answer ends there, its call and result
// stay, and it does not run again.
func TestRetryingAfterACallStartedGoesOnFromItsResult(t *testing.T) {
	ran := 0
	d := npm(approvals.Wish{})
	d.run = func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
		ran++
		return tools.Result{Text: "fine", Outcome: word.OK}, nil
	}
	r := newRig(approvals.OnRequest, toolbox{"shell": d}, play("I try.", call("1", "shell"), model.CallStarted{ID: "2", Name: "shell"},
		model.Retrying{Err: errors.New("reset"), Attempt: 2, Most: 5}, "never read", call("3", "shell")))
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	want := "user \"x\"\nassistant \"I try.\"\ncall 1 shell\nresult 1 failed=false \"fine\"\nassistant \"done\"\n"
	if got := dump(r.check(t)); got != want || ran != 1 {
		t.Errorf("ran %d times, history:\n%s", ran, got)
	}
	if len(told[event.Retrying](r.face)) != 0 || len(told[event.Notice](r.face)) != 1 {
		t.Errorf("%d events Retrying, %d notices; want 0 and 1", len(told[event.Retrying](r.face)), len(told[event.Notice](r.face)))
	}
}

func TestAnswersThatKeepBreakingOffEndTheTurn(t *testing.T) {
	var list [][]any
	for i := range 9 {
		list = append(list, []any{model.CallDone{Call: call(fmt.Sprint(i), "shell")}, model.Retrying{Err: errors.New("reset")}})
	}
	r := newRig(approvals.OnRequest, toolbox{"shell": npm(approvals.Wish{})}, list...)
	if err := r.Turn(t.Context(), Input{Text: "x"}); !errors.Is(err, ErrBroken) {
		t.Fatal(err)
	}
	if r.check(t); len(r.model.requests) != 4 {
		t.Errorf("%d requests", len(r.model.requests))
	}
}

func TestEmptyAnswers(t *testing.T) {
	r := newRig(approvals.OnRequest, nil, play(), play(" \n"), play("there"))
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if r.check(t); r.face.last(t).Answer != "there" {
		t.Error("the answer after the empty ones is lost")
	}
	r = newRig(approvals.OnRequest, nil, play(), play(), play(model.ReasoningDelta{Text: "hm"}), play("late"))
	if err := r.Turn(t.Context(), Input{Text: "x"}); !errors.Is(err, ErrEmpty) {
		t.Fatal(err)
	}
	r.check(t)
}

func TestCutOffAnswersAreSaid(t *testing.T) {
	for reason, want := range map[model.StopReason]error{model.StopLength: ErrCutOff, model.StopFilter: ErrFiltered} {
		r := newRig(approvals.OnRequest, nil, []any{model.TextDelta{Text: "so"}, model.Finished{Reason: reason}})
		if err := r.Turn(t.Context(), Input{Text: "x"}); err != want {
			t.Errorf("%s: %v", reason, err)
		}
		if end := r.face.last(t); end.Outcome != "failed" || end.Err != want || end.Answer != "so" {
			t.Errorf("%s: %+v", reason, end)
		}
	}
}

func TestRequestsAreBounded(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{"shell": npm(approvals.Wish{})})
	for i := range 9 {
		r.model.list = append(r.model.list, play(call(fmt.Sprint(i), "shell")))
	}
	r.cfg.Bounds.Requests = 5
	if err := r.Turn(t.Context(), Input{Text: "x"}); !errors.Is(err, ErrOutOfRequests) {
		t.Fatal(err)
	}
	if r.check(t); len(r.model.requests) != 5 || r.face.last(t).Outcome != "failed" {
		t.Errorf("%d requests", len(r.model.requests))
	}
}

func TestSteering(t *testing.T) {
	d := npm(approvals.Wish{})
	r := newRig(approvals.OnRequest, nil, play(call("1", "shell"), call("2", "shell")), play("soon done"))
	d.run = func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
		r.face.mu.Lock()
		defer r.face.mu.Unlock()
		r.face.steers = append(r.face.steers, "in between")
		return tools.Result{Text: "fine", Outcome: word.OK}, nil
	}
	r.cfg.Tools = toolbox{"shell": d}
	r.face.on = func(e event.Event) {
		if m, ok := e.(event.MessageFinished); ok && m.Text == "soon done" {
			r.face.mu.Lock()
			r.face.steers = append(r.face.steers, "one more")
			r.face.mu.Unlock()
		}
	}
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	want := "user \"x\"\ncall 1 shell\ncall 2 shell\nresult 1 failed=false \"fine\"\nresult 2 failed=false \"fine\"\n" +
		"user \"in between\"\nuser \"in between\"\nassistant \"soon done\"\nuser \"one more\"\nassistant \"done\"\n"
	if got := dump(r.check(t)); got != want {
		t.Errorf("history:\n%s", got)
	}
	if n := len(told[event.Steered](r.face)); n != 3 {
		t.Errorf("%d steered", n)
	}
}

func TestInterruptWhileACommandRuns(t *testing.T) {
	d := npm(approvals.Wish{})
	ctx, cancel := context.WithCancelCause(t.Context())
	d.run = func(ctx context.Context, _ sandbox.Policy, _ tools.Stage) (tools.Result, error) {
		cancel(errors.New("Esc"))
		<-ctx.Done()
		return tools.Result{Text: "killed", Failed: true, Outcome: word.Interrupted}, nil
	}
	edit := deed{action: approvals.Action{Kind: word.KindEdit, Paths: []string{"a"}}}
	r := newRig(approvals.OnRequest, toolbox{"shell": d, "edit": edit}, play("I run.", call("1", "shell"), call("2", "edit")))
	err := r.Turn(ctx, Input{Text: "x"})
	if err == nil || err.Error() != "Esc" {
		t.Errorf("%v", err)
	}
	want := "user \"x\"\nassistant \"I run.\"\ncall 1 shell\ncall 2 edit\n" +
		"result 1 failed=true \"killed\\n[Ended early: interrupted by the user.]\"\nresult 2 failed=true \"Not run: interrupted by the user.\"\n"
	got := dump(r.check(t))
	// The second call may not have been streamed when the interrupt came.
	if got != want && got != strings.ReplaceAll(strings.Replace(want, "call 2 edit\n", "", 1), "result 2 failed=true \"Not run: interrupted by the user.\"\n", "") {
		t.Errorf("history:\n%s", got)
	}
	if end := r.face.last(t); end.Outcome != "interrupted" {
		t.Errorf("%+v", end)
	}
	if err := r.Turn(t.Context(), Input{Text: "go on"}); err != nil {
		t.Fatal(err)
	}
	r.check(t)
}

func TestInterruptWhileTheModelTalks(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := newRig(approvals.OnRequest, nil, play("I was ", "saying"))
	r.face.on = func(e event.Event) {
		if d, ok := e.(event.TextDelta); ok && d.Text == "I was " {
			cancel()
		}
	}
	if err := r.Turn(ctx, Input{Text: "x"}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := dump(r.check(t)); got != "user \"x\"\nassistant \"I was \"\nnote \"[That answer is incomplete: interrupted by the user.]\"\n" {
		t.Errorf("history:\n%s", got)
	}
}

func TestTimeLimitIsNamed(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	r := newRig(approvals.OnRequest, nil)
	if err := r.Turn(ctx, Input{Text: "x"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if end := r.face.last(t); end.Outcome != "interrupted" || !errors.Is(end.Err, context.DeadlineExceeded) {
		t.Errorf("%+v", end)
	}
}

func TestALogThatFailsIsSaidOnce(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{"shell": npm(approvals.Wish{})}, play(call("1", "shell")))
	r.log.err = errors.New("disk full")
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	r.check(t)
	if n := told[event.Notice](r.face); len(n) != 1 || !strings.Contains(n[0].Text, "disk full") {
		t.Errorf("%+v", n)
	}
}

func TestOneTurnAtATime(t *testing.T) {
	r := newRig(approvals.OnRequest, nil)
	var second error
	r.face.on = func(e event.Event) {
		if _, ok := e.(event.RequestStarted); ok {
			second = r.Turn(t.Context(), Input{Text: "y"})
		}
	}
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil || !errors.Is(second, ErrBusy) {
		t.Errorf("%v, %v", err, second)
	}
}

func TestPlanIsTold(t *testing.T) {
	d := deed{action: approvals.Action{Kind: word.KindPlan}}
	d.run = func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
		return tools.Result{Text: "noted", Outcome: word.OK, Explanation: "so", Plan: []event.PlanStep{{Step: "look", Status: "completed"}}}, nil
	}
	r := newRig(approvals.OnRequest, toolbox{"update_plan": d}, play(call("1", "update_plan")))
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if p := told[event.PlanUpdated](r.face); len(p) != 1 || p[0].Explanation != "so" || p[0].Steps[0] != (event.PlanStep{Step: "look", Status: "completed"}) {
		t.Errorf("%+v", p)
	}
}

// However and wherever a turn ends, the history is valid, every question has its answer, the
// log is complete, and the next turn works.
func TestHistoryIsValidAfterAnyInterruption(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var point atomic.Int64
		limit := rng.Int64N(60)
		ctx, cancel := context.WithCancel(t.Context())
		tick := func() {
			if point.Add(1) == limit {
				cancel()
			}
		}
		work := func(ctx context.Context, _ sandbox.Policy, s tools.Stage) (tools.Result, error) {
			tick()
			s.Output(0, []byte("output"))
			if ctx.Err() != nil {
				return tools.Result{Text: "partly", Failed: true, Outcome: word.Interrupted}, nil
			}
			return tools.Result{Text: "fine", Outcome: word.OK}, nil
		}
		run, asks, edit := npm(approvals.Wish{}), npm(writes("/home/u/.npm")), deed{action: approvals.Action{Kind: word.KindEdit, Paths: []string{"a"}}}
		run.run, asks.run, edit.run = work, work, work
		names := []string{"run", "asks", "edit", "unknown", "run", "asks"}
		var list [][]any
		id := 0
		for range 1 + rng.IntN(4) {
			var parts []any
			for range rng.IntN(6) {
				switch rng.IntN(8) {
				case 0:
					parts = append(parts, model.Retrying{Err: errors.New("reset")})
				case 1:
					parts = append(parts, model.ReasoningDelta{Text: "hm"})
				case 2, 3:
					parts = append(parts, "text ")
				default:
					id++
					parts = append(parts, call(fmt.Sprint(id), names[rng.IntN(len(names))]))
				}
			}
			if rng.IntN(8) == 0 {
				parts = append(parts, &model.Error{Kind: model.Transport})
			}
			list = append(list, play(parts...))
		}
		r := newRig(approvals.OnRequest, toolbox{"run": run, "asks": asks, "edit": edit}, list...)
		r.face.on = func(event.Event) { tick() }
		r.model.before = func(int) { tick() }
		decisions := []approvals.Decision{approvals.Once, approvals.Session, approvals.Deny, approvals.Unattended, approvals.Stop, approvals.Outside}
		pick := decisions[rng.IntN(len(decisions))]
		r.face.ask = func(ctx context.Context, _ approvals.Request) (approvals.Answer, error) {
			tick()
			return approvals.Answer{Decision: pick}, ctx.Err()
		}
		err := r.Turn(ctx, Input{Text: "x"})
		r.check(t)
		if end := r.face.last(t); (end.Outcome == "done") != (err == nil) {
			t.Errorf("seed %d: %v and %v", seed, end.Outcome, err)
		}
		limit = -1
		if err := r.Turn(t.Context(), Input{Text: "and now"}); err != nil && !errors.Is(err, ErrStopped) {
			var fault *model.Error
			if !errors.As(err, &fault) && !errors.Is(err, ErrEmpty) {
				t.Errorf("seed %d: the next turn: %v", seed, err)
			}
		}
		r.check(t)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		cancel()
	}
}

func TestRepair(t *testing.T) {
	user := model.Item{Kind: model.User, Text: "x"}
	c := func(id string) model.Item {
		mc := call(id, "shell")
		return model.Item{Kind: model.Call, Call: &mc}
	}
	hm := model.Item{Kind: model.Reasoning, Opaque: &model.Opaque{Source: "s", Data: json.RawMessage("{}")}}
	res := func(id string) model.Item { return model.Item{Kind: model.Result, CallID: id, Text: "r"} }
	for _, tc := range []struct {
		name string
		in   []model.Item
		want string
	}{
		{"whole", []model.Item{user, c("1"), c("2"), res("1"), res("2"), user}, "user call call result result user"},
		{"cut off in the calls", []model.Item{user, c("1"), c("2"), res("1")}, "user call call result lost"},
		{"cut off before any", []model.Item{user, c("1")}, "user call lost"},
		{"cut off, then gone on", []model.Item{user, c("1"), user, res("1")}, "user call result user"},
		{"foreign and second results", []model.Item{res("9"), user, c("1"), res("1"), res("1"), res("8")}, "user call result"},
		{"one call twice", []model.Item{user, c("1"), res("1"), c("1"), res("1")}, "user call result"},
		{"out of order", []model.Item{c("1"), c("2"), res("2"), res("1")}, "call call result result"},
		{"thinking between calls", []model.Item{user, c("1"), hm, c("2"), res("1"), res("2"), hm, c("3"), res("3")}, "user call reasoning call result result reasoning call result"},
		{"thinking after a lost result", []model.Item{user, c("1"), hm, c("2"), res("2")}, "user call lost reasoning call result"},
		{"nothing", nil, ""},
	} {
		got := Repair(tc.in)
		var kinds []string
		for _, i := range got {
			switch {
			case i.Kind == model.Result && i.Failed:
				kinds = append(kinds, "lost")
			default:
				kinds = append(kinds, strings.TrimPrefix(string(i.Kind), "tool_"))
			}
		}
		if k := strings.Join(kinds, " "); k != tc.want || valid(got) != "" {
			t.Errorf("%s: %s, want %s (%s)", tc.name, k, tc.want, valid(got))
		}
		if again := Repair(got); !slices.EqualFunc(again, got, same) {
			t.Errorf("%s: repairing twice changes it", tc.name)
		}
	}
}

func same(a, b model.Item) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func BenchmarkTurnOverhead(b *testing.B) {
	box := toolbox{"shell": npm(approvals.Wish{})}
	for b.Loop() {
		var list [][]any
		for i := range 50 {
			list = append(list, play(call(fmt.Sprint(i), "shell")))
		}
		r := newRig(approvals.OnRequest, box, list...)
		if err := r.Turn(b.Context(), Input{Text: "x"}); err != nil {
			b.Fatal(err)
		}
	}
}
