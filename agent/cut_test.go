package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/tools"
)

// printing returns a tool whose calls print that many bytes.
func printing(size int) deed {
	return deed{run: func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
		half := strings.Repeat("a line of output\n", size/2/17)
		return tools.Result{Text: "begin\n" + half + half + "end", Outcome: word.OK}, nil
	}}
}

// round plays an answer of n calls of the tool run.
func round(name string, n int) []any {
	var parts []any
	for i := range n {
		parts = append(parts, call(fmt.Sprint(name, i), "run"))
	}
	return play(parts...)
}

// silent removes the usage from an answer, as for models that report none.
func silent(deltas []any) []any {
	return append(deltas[:len(deltas)-1:len(deltas)-1], model.Finished{Reason: model.StopCalls})
}

// seen checks that a request contains the results of a round, with their beginning
// and their end.
func seen(t *testing.T, r model.Request, name string, n int) {
	t.Helper()
	texts := map[string]string{}
	for _, i := range r.Items {
		if i.Kind == model.Result {
			texts[i.CallID] = i.Text
		}
	}
	for i := range n {
		text := texts[fmt.Sprint(name, i)]
		for _, want := range []string{"begin\n", "end"} {
			if !strings.Contains(text, want) {
				t.Errorf("the result of %s%d lacks %q: %.3000q", name, i, want, text)
			}
		}
	}
	if wrong := valid(r.Items); wrong != "" {
		t.Error(wrong)
	}
}

// The results of one answer are within the model's limit before the next request, however
// long they were: nothing is compacted for them, and the log has all.
func TestResultsFitTheModel(t *testing.T) {
	for _, c := range []struct{ limit, calls, size int }{{128_000, 8, 61 << 10}, {32_000, 2, 61 << 10}, {16_000, 4, 20 << 10}, {8_000, 50, 20 << 10}} {
		t.Run(fmt.Sprint(c.limit), func(t *testing.T) {
			r := newRig(approvals.OnRequest, toolbox{"run": printing(c.size)}, silent(round("c", c.calls)))
			r.Learn(c.limit)
			if err := r.Turn(t.Context(), Input{Text: "look"}); err != nil {
				t.Fatal(err)
			}
			if n := len(r.model.requests); n != 2 || len(compactions(r.face)) != 0 {
				t.Fatalf("%d requests, compacted %+v", n, compactions(r.face))
			}
			last := r.model.requests[1]
			if c.calls < 50 {
				seen(t, last, "c", c.calls)
			}
			if w := weighAll(last.Items); w > c.limit*3/4 {
				t.Errorf("%d of %d tokens", w, c.limit)
			}
			for _, i := range r.log.items {
				if i.Kind == model.Result && len(i.Text) < c.size-100 {
					t.Errorf("the log has %d bytes of %d", len(i.Text), c.size)
				}
			}
		})
	}
}

// A compaction during a turn never removes what the model has not seen.
func TestUnreadResultsStay(t *testing.T) {
	for _, c := range []struct{ limit, calls, size int }{{128_000, 8, 61 << 10}, {32_000, 2, 61 << 10}, {16_000, 4, 20 << 10}} {
		t.Run(fmt.Sprint(c.limit), func(t *testing.T) {
			r := newRig(approvals.OnRequest, toolbox{"run": printing(c.size)})
			r.Learn(c.limit)
			rounds := 0
			r.model.next = func(int) []any {
				if forSummary(r.model) {
					return play("so far")
				}
				if rounds > 0 {
					seen(t, r.model.requests[len(r.model.requests)-1], fmt.Sprint("r", rounds, "-"), c.calls)
				}
				if rounds++; rounds > 12 {
					return play("done")
				}
				answer := silent(round(fmt.Sprint("r", rounds, "-"), c.calls))
				for i, d := range answer { // each round reads something else
					if d, ok := d.(model.CallDone); ok {
						d.Call.Arguments = fmt.Sprint(rounds)
						answer[i] = d
					}
				}
				return answer
			}
			if err := r.Turn(t.Context(), Input{Text: "look"}); err != nil {
				t.Fatal(err)
			}
			done := compactions(r.face)
			if len(done) < 2 || len(done) > 6 {
				t.Errorf("compacted %d times", len(done))
			}
			for i, q := range r.model.requests {
				if w := weighAll(q.Items); w > c.limit-c.limit/8 {
					t.Errorf("request %d has %d of %d tokens", i, w, c.limit)
				}
			}
		})
	}
}

// A provider with a smaller limit than assumed gets less of the results, and a conversation
// that consists only of results needs no summary.
func TestUnreadResultsOfARefusedRequest(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{"run": printing(61 << 10)})
	r.model.next = func(n int) []any {
		last := r.model.requests[len(r.model.requests)-1]
		switch {
		case n == 1:
			return silent(round("c", 8))
		case weighAll(last.Items) > 40_000:
			return []any{full}
		}
		seen(t, last, "c", 8)
		return play("done")
	}
	if err := r.Turn(t.Context(), Input{Text: "look"}); err != nil {
		t.Fatal(err)
	}
	if n := len(r.model.requests); n > 4 || len(compactions(r.face)) > 0 {
		t.Errorf("%d requests, compacted %+v", n, compactions(r.face))
	}
}

// If a model repeats itself after each compaction, the turn ends and says what to do.
func TestCompactionsThatMakeNoProgress(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{"run": printing(20 << 10)})
	r.Learn(16_000)
	r.model.next = func(n int) []any {
		if forSummary(r.model) {
			return play("so far")
		}
		return silent(round(fmt.Sprint("n", n, "-"), 4))
	}
	err := r.Turn(t.Context(), Input{Text: "look"})
	if !errors.Is(err, ErrCrowded) || len(r.model.requests) > 20 {
		t.Errorf("%v after %d requests", err, len(r.model.requests))
	}
	if e := r.face.last(t); e.Outcome != "failed" || !strings.Contains(e.Err.Error(), "models.NAME.context") {
		t.Errorf("%+v", e)
	}
	r.model.next = nil
	if err := r.Turn(t.Context(), Input{Text: "something else"}); err != nil {
		t.Error(err)
	}
}

// Summaries as long as what they replace end the turn too.
func TestSummariesThatFillTheContext(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{"run": printing(20 << 10)})
	r.cfg.Instructions = func() string { return strings.Repeat("be good ", 2800) } // 5600 tokens of 8000
	r.Learn(8_000)
	r.model.next = func(n int) []any {
		if forSummary(r.model) {
			return play(strings.Repeat("much was said ", 4000))
		}
		return silent(round(fmt.Sprint("n", n, "-"), 1+n%3))
	}
	err := r.Turn(t.Context(), Input{Text: strings.Repeat("look ", 400)})
	if !errors.Is(err, ErrCrowded) || len(r.model.requests) > 40 {
		t.Errorf("%v after %d requests", err, len(r.model.requests))
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		all   int
		want  []int // the share of each
	}{
		{[]int{100, 9000, 9000}, 10_000, []int{100, 4950, 4950}},
		{[]int{5000, 5000}, 10_000, []int{5000, 5000}},
		{[]int{9000, 9000}, 0, []int{leastResult, leastResult}},
		{nil, 10, nil},
	} {
		each := share(c.sizes, c.all)
		for i, n := range c.sizes {
			if got := min(n, each); got != c.want[i] {
				t.Errorf("%v within %d: %d has %d, want %d", c.sizes, c.all, i, got, c.want[i])
			}
		}
	}
}
