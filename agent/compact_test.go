package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
)

var full = &model.Error{Kind: model.ContextFull, Message: "prompt is too long"}

// summaryOf returns the first item of a compacted conversation.
func summaryOf(t *testing.T, items []model.Item) model.Item {
	t.Helper()
	if len(items) == 0 || items[0].Kind != model.Summary {
		t.Fatalf("no summary begins the conversation:\n%s", dump(items))
	}
	return items[0]
}

func compactions(f *face) (out []event.Compacted) { return told[event.Compacted](f) }

// talk continues the conversation for n turns of that many bytes each.
func (r rig) talk(t *testing.T, n, size int) {
	t.Helper()
	for i := range n {
		r.model.mu.Lock()
		r.model.list = append(r.model.list, play(fmt.Sprintf("answer %d ", i)+strings.Repeat("a", size/2)))
		r.model.mu.Unlock()
		if err := r.Turn(context.Background(), Input{Text: fmt.Sprintf("wish %d ", i) + strings.Repeat("w", size/2)}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCompactOnDemand(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{})
	if _, err := r.Compact(t.Context(), ""); !errors.Is(err, ErrNothing) {
		t.Fatalf("an empty conversation: %v", err)
	}
	r.talk(t, 6, 800)
	before := r.History()
	r.model.list = [][]any{play("we did it")}
	got, err := r.Compact(t.Context(), "the tests")
	if err != nil {
		t.Fatal(err)
	}
	items := r.check(t)
	s := summaryOf(t, items)
	for _, want := range []string{"we did it", "> wish 0 ", "> wish 3 "} {
		if !strings.Contains(s.Text, want) {
			t.Errorf("the summary lacks %q:\n%s", want, s.Text)
		}
	}
	last := before[len(before)-1]
	if items[len(items)-1].Text != last.Text || len(items) >= len(before) {
		t.Errorf("the end did not stay:\n%s", dump(items))
	}
	if got.Summary != s.Text || got.After >= got.Before || got.Reason != word.CompactAsked {
		t.Errorf("%+v", got)
	}
	asked := r.model.requests[len(r.model.requests)-1]
	if prompt := asked.Items[len(asked.Items)-1]; !strings.Contains(prompt.Text, "the tests") || len(asked.Items) != len(before)+1 {
		t.Errorf("asked with %d items of %d, last %q", len(asked.Items), len(before), prompt.Text)
	}
	if r.log.compacted != 1 {
		t.Error("the log does not know")
	}
	if err := r.Turn(t.Context(), Input{Text: "and on"}); err != nil {
		t.Fatal(err)
	}
	r.check(t)
}

// Before and after the first request of a process, the used context includes instructions and
// tools: a compaction never seems to increase it.
func TestCompactBeforeTheFirstRequest(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{})
	r.talk(t, 6, 400)
	next := newRig(approvals.OnRequest, toolbox{}, play("so far"))
	next.cfg.Instructions = func() string { return strings.Repeat("be good ", 2000) }
	next.Agent.restart(r.History())
	got, err := next.Compact(t.Context(), "")
	if err != nil || got.Before < 4000 || got.After < 4000 || got.After >= got.Before {
		t.Errorf("%d → %d, %v", got.Before, got.After, err)
	}
}

// The facts of a summary are carried into the next one, word for word, however often that
// happens.
func TestWhatIsKnownOutlivesSummaries(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{})
	r.talk(t, 2, 600)
	r.digest.note(event.PlanUpdated{Steps: []event.PlanStep{{Step: "find it", Status: "completed"}, {Step: "fix it", Status: "in_progress"}}})
	r.digest.note(event.ToolFinished{Changes: []event.FileChange{{Path: "/w/new.go", Kind: "add"}, {Path: "/w/to", From: "/w/from", Kind: "move"}}})
	r.digest.answered(&approvals.Request{Title: "reach the network"}, event.PermissionAnswered{Answer: "denied", Reason: "not today"})
	r.digest.answered(&approvals.Request{Title: "write there"}, event.PermissionAnswered{Answer: "session"})
	want := []string{"in_progress: fix it", "add /w/new.go", "delete /w/from", "add /w/to", "reach the network: not today", "> wish 0 "}
	for n := range 3 {
		r.talk(t, 4, 600)
		if _, err := r.Compact(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		s := summaryOf(t, r.check(t))
		for _, w := range append(want, "write there: for the session") {
			if !strings.Contains(s.Text, w) {
				t.Errorf("summary %d lacks %q:\n%s", n, w, s.Text)
			}
		}
		if strings.Count(s.Text, "> wish 0 ") != n+2 { // once per talk
			t.Errorf("summary %d:\n%s", n, s.Text)
		}
	}
	// The next process knows them too, except for grants, which end with the process.
	next := newRig(approvals.OnRequest, toolbox{})
	next.Agent.restart(r.History())
	next.talk(t, 4, 600)
	if _, err := next.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	s := summaryOf(t, next.History())
	for _, w := range want {
		if !strings.Contains(s.Text, w) {
			t.Errorf("after a resume the summary lacks %q:\n%s", w, s.Text)
		}
	}
	if strings.Contains(s.Text, "write there") {
		t.Error("a grant outlived its process")
	}
}

func TestCompactsBeforeTheContextIsFull(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{})
	r.cfg.ContextLimit = 2000
	r.budget = newBudget(2000, 0, 80)
	r.talk(t, 40, 800) // 200 tokens each
	done := compactions(r.face)
	if len(done) < 2 || len(done) > 20 {
		t.Fatalf("%d compactions", len(done))
	}
	for i, d := range done {
		if d.Err != "" || d.Reason != word.CompactNear || d.Before < 1600 || d.After > 1200 {
			t.Errorf("compaction %d: %+v", i, d)
		}
	}
	for i, q := range r.model.requests {
		if w := weighAll(q.Items); w > 2000 {
			t.Errorf("request %d weighs %d", i, w)
		}
		if wrong := valid(q.Items); wrong != "" {
			t.Errorf("request %d: %s", i, wrong)
		}
	}
	for _, u := range told[event.UsageUpdated](r.face) {
		if u.Limit != 2000 || u.Context <= 0 || u.Context > 2000 {
			t.Errorf("%+v", u)
		}
	}
	r.check(t)
}

// A provider that reports a full context is believed, also in the middle of a turn, and its
// limit is learned.
func TestCompactsWhenTheProviderIsFull(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{"run": {}})
	r.talk(t, 6, 4000)
	r.model.list = [][]any{play(call("1", "run")), {full}, play("so far"), play("all done")}
	if err := r.Turn(t.Context(), Input{Text: "the last wish"}); err != nil {
		t.Fatal(err)
	}
	items := r.check(t)
	s := summaryOf(t, items)
	if !strings.Contains(s.Text, "so far") || r.face.last(t).Answer != "all done" {
		t.Errorf("%s\n%s", r.face.last(t).Answer, dump(items))
	}
	n := 0
	for _, i := range items {
		if i.Kind == model.User && i.Text == "the last wish" || i.Kind == model.Result {
			n++
		}
	}
	if n != 2 {
		t.Errorf("what the turn is about did not stay word for word:\n%s", dump(items))
	}
	if r.budget.limit >= DefaultContext {
		t.Errorf("the limit is still %d", r.budget.limit)
	}
}

// However a provider refuses, the turn ends with one error in bounded time, and the
// conversation is kept.
func TestNeverCompactsForEver(t *testing.T) {
	for name, c := range map[string]struct {
		list func(*played) func(int) []any
		most int
		want error
	}{
		"everything is too long":    {func(*played) func(int) []any { return func(int) []any { return []any{full} } }, 8, ErrTooLong},
		"summaries help nothing":    {func(m *played) func(int) []any { return func(int) []any { return refuseAllButSummaries(m) } }, 12, ErrTooLong},
		"no summary is written":     {func(m *played) func(int) []any { return func(int) []any { return silentSummaries(m) } }, 8, ErrTooLong},
		"the summary breaks off":    {func(m *played) func(int) []any { return func(int) []any { return brokenSummaries(m) } }, 4, full},
		"instead of it a tool call": {func(m *played) func(int) []any { return func(int) []any { return callingSummaries(m) } }, 8, ErrTooLong},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(approvals.OnRequest, toolbox{"run": {}})
			r.talk(t, 6, 4000)
			before, asked := len(r.History()), len(r.model.requests)
			r.model.next = c.list(r.model)
			err := r.Turn(t.Context(), Input{Text: "go"})
			if !errors.Is(err, c.want) || !contextFull(err) {
				t.Errorf("%v", err)
			}
			if n := len(r.model.requests) - asked; n > c.most {
				t.Errorf("%d requests", n)
			}
			if items := r.check(t); c.want != ErrTooLong && len(items) != before+1 {
				t.Errorf("history changed:\n%s", dump(items))
			}
			r.model.next = nil
			if err := r.Turn(t.Context(), Input{Text: "again"}); err != nil {
				t.Errorf("the next turn: %v", err)
			}
			r.check(t)
		})
	}
}

// A conversation far beyond the limit, for example after a switch to another model, costs no
// more requests than necessary.
func TestFarBeyondTheLimit(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{})
	r.talk(t, 100, 8000) // 200,000 tokens
	if err := r.Use(Choice{Model: r.model, ContextLimit: 9000}); err != nil {
		t.Fatal(err)
	}
	asked := len(r.model.requests)
	if err := r.Turn(t.Context(), Input{Text: "go on"}); err != nil {
		t.Fatal(err)
	}
	for i, q := range r.model.requests[asked:] {
		if w := weighAll(q.Items); w > 9000 || w < 1000 {
			t.Errorf("request %d weighs %d", i, w)
		}
	}
	if n := len(r.model.requests) - asked; n != 2 || len(compactions(r.face)) == 0 {
		t.Errorf("%d requests", n)
	}
	r.check(t)
}

// If a message is too long by itself, the person must shorten it: the error says so, whatever
// came before. No summary is tried.
func TestOneMessageThatIsTooLong(t *testing.T) {
	for _, before := range []int{0, 3} {
		r := newRig(approvals.OnRequest, toolbox{})
		r.talk(t, before, 400)
		r.model.list = [][]any{{full}}
		err := r.Turn(t.Context(), Input{Text: strings.Repeat("1234567\n", 162_000)})
		want := "this message alone is too long for the model (about 324004 of 128000 tokens): shorten it, or save it to a file"
		if !contextFull(err) || !errors.Is(err, ErrLongMessage) || before == 0 && !strings.HasPrefix(err.Error(), want) || len(r.model.requests) != before+1 {
			t.Errorf("%v after %d requests", err, len(r.model.requests)-before)
		}
		r.check(t)
		r.model.next = func(int) []any {
			if weighAll(r.model.requests[len(r.model.requests)-1].Items) > 128_000 {
				return []any{full}
			}
			return play("fine")
		}
		if err := r.Turn(t.Context(), Input{Text: "it is in a file now"}); err != nil {
			t.Errorf("the next message: %v", err)
		}
		r.check(t)
	}
}

// If instructions and tools alone are too long, the message is not the cause.
func TestModelThatIsTooSmall(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{}, []any{full})
	r.cfg.Instructions = func() string { return strings.Repeat("be good ", 2000) }
	err := r.Turn(t.Context(), Input{Text: "go"})
	if !contextFull(err) || !errors.Is(err, ErrSmallModel) || len(r.model.requests) != 1 {
		t.Errorf("%v after %d requests", err, len(r.model.requests))
	}
	r.check(t)
}

func forSummary(m *played) bool {
	r := m.requests[len(m.requests)-1]
	return strings.Contains(r.Items[len(r.Items)-1].Text, "replaced by a summary, which you write now")
}

func refuseAllButSummaries(m *played) []any {
	if forSummary(m) {
		return play("short")
	}
	return []any{full}
}

func silentSummaries(m *played) []any {
	if forSummary(m) {
		return play(" ")
	}
	return []any{full}
}

func brokenSummaries(m *played) []any {
	if forSummary(m) {
		return []any{model.TextDelta{Text: "half"}, &model.Error{Kind: model.Transport, Message: "gone"}}
	}
	return []any{full}
}

func callingSummaries(m *played) []any {
	if forSummary(m) {
		return play(call("x", "run"))
	}
	return []any{full}
}

// A compaction that fails near the limit causes only a warning, and is not repeated at once.
func TestTurnGoesOnWithoutASummary(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{})
	r.budget = newBudget(2000, 0, 80)
	r.model.next = func(int) []any {
		if forSummary(r.model) {
			return []any{&model.Error{Kind: model.Transport, Message: "gone"}}
		}
		return play("fine")
	}
	for range 20 {
		if err := r.Turn(t.Context(), Input{Text: strings.Repeat("w", 400)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(compactions(r.face)); n == 0 || n > 6 {
		t.Errorf("%d tries", n)
	}
	r.check(t)
}

func TestInterruptedCompactionChangesNothing(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{})
	r.talk(t, 6, 800)
	before := dump(r.History())
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	r.model.before = func(int) { cancel(why) }
	if _, err := r.Compact(ctx, ""); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	r.model.before = nil
	if dump(r.History()) != before || r.log.compacted != 0 {
		t.Errorf("%d compactions in the log, history:\n%s\nwant:\n%s", r.log.compacted, dump(r.History()), before)
	}
	r.check(t)
}

// story returns a conversation of every shape, valid as after Repair.
func story(rng *rand.Rand, n int) []model.Item {
	var items []model.Item
	calls := 0
	for len(items) < n {
		text := strings.Repeat("x", 1+rng.IntN(400))
		switch rng.IntN(4) {
		case 0:
			items = append(items, model.Item{Kind: model.User, Text: text})
			continue
		case 1:
			items = append(items, model.Item{Kind: model.Note, Text: text})
			continue
		}
		var ids []string
		for range 1 + rng.IntN(4) {
			if rng.IntN(2) == 0 {
				items = append(items, model.Item{Kind: model.Reasoning, Text: text})
			}
			if rng.IntN(3) == 0 && len(ids) == 0 {
				items = append(items, model.Item{Kind: model.Assistant, Text: text})
			}
			if rng.IntN(3) > 0 {
				calls++
				c := call(fmt.Sprint("c", calls), "run")
				ids = append(ids, c.ID)
				items = append(items, model.Item{Kind: model.Call, Call: &c})
			}
		}
		for _, id := range ids {
			items = append(items, model.Item{Kind: model.Result, CallID: id, Text: text})
		}
	}
	return Repair(items)
}

// Wherever a conversation is cut it stays valid: no call without its result, no result without
// its call, no thinking without the message or call after it.
func FuzzCut(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed, uint8(seed), 100*int(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, n uint8, most int) {
		items := story(rand.New(rand.NewPCG(seed, 1)), int(n))
		most %= 1 << 20
		for _, last := range []int{0, most, 4 * most} {
			cut := tailOf(items, most, last)
			if tail := items[cut:]; weighAll(tail) > max(most, last, 0) && len(tail) > 0 {
				t.Errorf("the tail weighs %d of %d", weighAll(tail), max(most, last))
			}
			cutIsClean(t, items, cut)
		}
		for w := weighAll(items); w > 0; w /= 2 {
			if wrong := valid(cutForSummary(items, w)); wrong != "" {
				t.Errorf("within %d: %s", w, wrong)
			}
		}
		if from := unread(items); from < len(items) {
			cutIsClean(t, items, from)
		}
	})
}

func cutIsClean(t *testing.T, items []model.Item, cut int) {
	t.Helper()
	for _, part := range [][]model.Item{items[:cut], items[cut:]} {
		if wrong := valid(part); wrong != "" {
			t.Errorf("cut at %d of %d: %s\n%s", cut, len(items), wrong, dump(items))
		}
		if len(Repair(part)) != len(part) {
			t.Errorf("cut at %d of %d: Repair finds something", cut, len(items))
		}
	}
	if cut > 0 && cut < len(items) && items[cut-1].Kind == model.Reasoning && items[cut].Kind.Answers() {
		t.Errorf("cut at %d: thinking is cut from the message or call after it\n%s", cut, dump(items))
	}
}

// A summary that is longer than what it would replace is not used.
func TestASummaryThatIsNoShorter(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{})
	r.talk(t, 3, 40)
	before := dump(r.History())
	r.model.list = [][]any{play(strings.Repeat("much was said ", 50))}
	if _, err := r.Compact(t.Context(), ""); !errors.Is(err, ErrNothing) {
		t.Errorf("%v", err)
	}
	done := compactions(r.face)
	if len(done) != 1 || done[0].Err == "" || done[0].After != done[0].Before {
		t.Errorf("%+v", done)
	}
	if dump(r.History()) != before || r.log.compacted != 0 {
		t.Errorf("%d compactions in the log, history:\n%s\nwant:\n%s", r.log.compacted, dump(r.History()), before)
	}
}
