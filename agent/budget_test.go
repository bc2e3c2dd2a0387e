package agent

import (
	"strings"
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/model"
)

// The provider's report takes precedence over the estimate, and later additions are estimated
// with the factor from the report.
func TestBudgetFollowsTheReports(t *testing.T) {
	b := newBudget(10_000, 1000, 80)
	b.items = 1000
	b.asking(500, b.items)
	if got := b.used(); got != 1500 {
		t.Errorf("before any report %d", got)
	}
	b.answered(3000) // twice the estimate
	if got := b.used(); got != 3000 {
		t.Errorf("after the report %d", got)
	}
	b.items += 500
	if got := b.used(); got != 4000 {
		t.Errorf("with more to it %d", got)
	}
	b.asking(600, b.items)
	if got := b.used(); got != 4200 {
		t.Errorf("with longer instructions %d", got)
	}
	b.items = 100
	if got := b.used(); got != 1400 {
		t.Errorf("another conversation %d", got)
	}
	if took := b.answered(0); took || b.used() != 1400 {
		t.Errorf("an answer without usage: taken as a report %v, used %d; want false and 1400", took, b.used())
	}
}

func TestBudgetIsFullInTime(t *testing.T) {
	for _, c := range []struct {
		limit, output, at int
		first             int // the smallest weight that counts as full
	}{
		{10_000, 1000, 80, 8000},
		{10_000, 1000, 50, 5000},
		{10_000, 4000, 80, 6000},   // the answer needs its room
		{10_000, 90_000, 80, 5000}, // but no more than half of all
		{0, 0, 80, DefaultContext / 100 * 80},
	} {
		b := newBudget(c.limit, c.output, c.at)
		for _, used := range []int{c.first - 1, c.first} {
			if b.items = used; b.full() != (used >= c.first) {
				t.Errorf("%+v: %d is full: %t", c, used, b.full())
			}
		}
		b.pause()
		if b.full() {
			t.Errorf("%+v: full again at once", c)
		}
	}
	b := newBudget(10_000, 1000, 0)
	if b.items = 20_000; b.full() {
		t.Error("it is full where nobody wants to know")
	}
	b = newBudget(10_000, 1000, 80)
	b.asking(9000, 0)
	if b.items = 100; b.full() {
		t.Error("instructions that fill the context are not made shorter by a summary")
	}
}

func TestBudgetLearnsFromARefusal(t *testing.T) {
	b := newBudget(0, 0, 80)
	b.items = 9000
	b.asking(1000, b.items)
	b.refused()
	if b.limit != 9500 || b.reserve >= b.limit/2 || !b.full() {
		t.Errorf("%+v", b)
	}
}

// A report far below what was sent is not believed. Some servers silently cut off the beginning of
// a conversation that is too long: one warning, before the end of a turn and not inside an answer.
// A server that reports a constant does not count at all.
func TestReportOfLessThanWasSent(t *testing.T) {
	for name, c := range map[string]struct {
		reports []int
		want    string
	}{
		"cut off":                 {[]int{2050, 2047, 2031, 2040}, "reports 2047 tokens"},
		"a constant":              {[]int{10, 10, 10, 10}, ""},
		"a large constant":        {[]int{2048, 2048, 2048, 2048}, ""},
		"only once":               {[]int{2050, 20_000, 30_000, 30_000}, ""},
		"again, after a real one": {[]int{2050, 20_000, 2000, 2010}, "reports 2000 tokens"},
	} {
		r := newRig(approvals.OnRequest, toolbox{})
		long, sent := strings.Repeat("all of this was sent ", 1000), 0
		r.model.next = func(int) []any {
			sent++
			return []any{model.TextDelta{Text: "done"}, model.Finished{Reason: model.StopEnd, Usage: model.Usage{Input: c.reports[sent-1], Output: 1}}}
		}
		for range c.reports {
			if err := r.Turn(t.Context(), Input{Text: long}); err != nil {
				t.Fatal(err)
			}
		}
		var said []string
		for _, e := range told[event.Notice](r.face) {
			if strings.Contains(e.Text, "the provider reports") {
				said = append(said, e.Text)
			}
		}
		if (c.want == "") != (len(said) == 0) || len(said) > 1 || c.want != "" && !strings.Contains(said[0], c.want) {
			t.Errorf("%s: said %q", name, said)
		}
		if got := r.budget.used(); got < 15_000 {
			t.Errorf("%s: %d tokens are reckoned with", name, got)
		}
	}
}

func TestLimitThatBecomesKnown(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{})
	r.Learn(5000)
	r.Learn(0)
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if u := told[event.UsageUpdated](r.face); len(u) == 0 || u[0].Limit != 5000 || u[0].Assumed {
		t.Errorf("%+v", u)
	}
	if err := r.Use(Choice{Model: r.model}); err != nil {
		t.Fatal(err)
	}
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	for _, u := range told[event.UsageUpdated](r.face)[1:] {
		if u.Limit != DefaultContext || !u.Assumed {
			t.Errorf("a model with an unknown limit: %+v", u)
		}
	}
}

// The provider's list replaces an assumed context, and an older one of the list. Said again it changes nothing that
// a refusal taught.
func TestContextOfTheList(t *testing.T) {
	for _, c := range []struct {
		set, listed, limit int
		assumed            bool
	}{{0, 0, 7_600, true}, {0, 32_768, 32_768, false}, {8_000, 32_768, 32_768, false}, {8_000, 8_000, 7_600, false}, {8_000, 0, 7_600, false}} {
		a := &Agent{budget: newBudget(c.set, 0, 80)}
		a.budget.asked = 8_000
		a.budget.refused()
		a.Learn(c.listed)
		if b := a.budget; b.limit != c.limit || (b.known == 0) != c.assumed || b.reserve > b.limit/8 {
			t.Errorf("%+v: %+v", c, b)
		}
	}
}
