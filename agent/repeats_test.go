package agent

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/model"
)

// A model may poll as long as summaries make room: the model and the person are warned about
// the repetition.
func TestPollingOutlivesCompactions(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{"run": printing(1000)})
	r.Learn(8_000)
	polls := 0
	r.model.next = func(n int) []any {
		switch {
		case forSummary(r.model):
			return play("so far")
		case polls == 180:
			return play("it is ready")
		}
		polls++
		return silent(round(fmt.Sprint("n", n, "-"), 1))
	}
	if err := r.Turn(t.Context(), Input{Text: "wait until it is ready"}); err != nil {
		t.Fatalf("%v after %d polls", err, polls)
	}
	r.check(t)
	if n := len(compactions(r.face)); n < 3 {
		t.Errorf("%d compactions: the test is of nothing", n)
	}
	items := r.History()
	named := 0
	for _, i := range items {
		if i.Kind == model.Note && strings.Contains(i.Text, "same call with the same result") {
			named++
		}
	}
	if named == 0 {
		t.Errorf("the model does not read that it repeats itself:\n%s", dump(items))
	}
	if got := shownRounds(r.face); fmt.Sprint(got) != "[20 40 80 160]" {
		t.Errorf("the person reads of the repetitions %v", got)
	}
}

func shownRounds(f *face) (all []int) {
	for _, e := range told[event.Notice](f) {
		n := 0
		if _, err := fmt.Sscanf(e.Text, "the model has repeated the same call with the same result %d times in a row", &n); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// A turn that reaches the limit of requests reports that the last rounds were the same.
func TestEndlessPollingIsNamed(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{"run": {}})
	r.model.next = func(n int) []any { return play(call(fmt.Sprint("n", n), "run")) }
	err := r.Turn(t.Context(), Input{Text: "wait"})
	if !errors.Is(err, ErrOutOfRequests) || !strings.Contains(err.Error(), "the last 200 repeated the same call with the same result") {
		t.Error(err)
	}
	r.check(t)
}

// Different rounds, and failing calls, do not count as equal rounds.
func TestDifferentRoundsAreNotRepetition(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{"run": {}})
	r.cfg.Bounds.Requests = 60
	r.model.next = func(n int) []any {
		c := call(fmt.Sprint("n", n), "run")
		c.Arguments = fmt.Sprintf(`{"n":%d}`, n/4)
		return play(c)
	}
	err := r.Turn(t.Context(), Input{Text: "look"})
	if !errors.Is(err, ErrOutOfRequests) || strings.Contains(err.Error(), "same call") {
		t.Error(err)
	}
	for _, i := range r.check(t) {
		if i.Kind == model.Note {
			t.Errorf("a note: %s", i.Text)
		}
	}
	if got := shownRounds(r.face); len(got) > 0 {
		t.Errorf("%v", got)
	}
}
