package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/sandbox"
)

// TestEnded: the end of a call is read back from its item. What is stored is bounded, and neither an old nor a
// damaged item is more than its text.
func TestEnded(t *testing.T) {
	long := strings.Repeat("+x\n", mostEnded/4)
	changes := []event.FileChange{{Path: "a", Diff: "+y\n", Added: 1}, {Path: "b", Diff: long, Added: 7}, {Path: "c", Diff: long, Added: 8}, {Path: "d", Diff: "+z\n"}}
	many := make([]sandbox.Denial, 3000)
	for i := range many {
		many[i].Target = strings.Repeat("/long", 20)
	}
	stored := func(e event.ToolFinished, text string) json.RawMessage {
		return digest{Done: endOf(e, text, nil)}.stored()
	}
	const text = "exit status 1\noutput:\nall of it\n[denied]"
	out := event.ToolFinished{Outcome: word.TimedOut, Output: "all of it\n", Exit: 1}
	for name, c := range map[string]struct {
		carried      json.RawMessage
		text, output string
		outcome      word.Outcome
	}{
		"a part of the text":   {stored(out, text), text, "all of it", word.TimedOut},
		"a text cut later":     {stored(out, text), "exit status 1\noutput:\nall … it\n[denied]", "all … it", word.TimedOut},
		"a text of other size": {stored(out, text), "cut", "", word.TimedOut},
		"no part of the text":  {stored(out, "other"), "other", "all of it\n", word.TimedOut},
		"without measure":      {stored(event.ToolFinished{Verdict: sandbox.Verdict{Denials: many}}, text), text, text, word.Failed},
		"an old item":          {kept(event.ToolFinished{}), text, text, word.Failed},
		"a summary's tail":     {onlyDone(digest{Denied: []string{"x"}, Done: endOf(out, text, nil)}.stored()), text, "all of it", word.TimedOut},
		"damaged":              {json.RawMessage(`{"done":{"Before":-1}}`), text, text, word.Failed},
		"beyond":               {json.RawMessage(`{"done":{"Outcome":"ok","Before":4294967295,"After":4294967295}}`), text, "", word.OK},
	} {
		events := Ended(event.ToolStarted{CallID: "c", Kind: word.KindEdit, Title: "t"}, model.Item{Kind: model.Result, Failed: true, Carried: c.carried}, c.text)
		e, ok := events[0].(event.ToolFinished)
		if !ok || e.Output != c.output || e.Outcome != c.outcome || e.CallID != "c" || e.Title != "t" {
			t.Errorf("%s: %+v", name, events)
		}
	}
	data := stored(event.ToolFinished{Changes: changes}, text)
	e := Ended(event.ToolStarted{Kind: word.KindEdit}, model.Item{Carried: data}, text)[0].(event.ToolFinished)
	got := ""
	for _, ch := range e.Changes {
		got += fmt.Sprint(ch.Path, len(ch.Diff), " ", ch.Added, ";")
	}
	if want := fmt.Sprintf("a3 1;b%d 7;c0 8;d3 0;", len(long)); got != want || len(data) > 2*mostEnded {
		t.Errorf("%s in %d bytes, want %s", got, len(data), want)
	}
	if changes[2].Diff == "" {
		t.Error("the event has changed")
	}
}

// TestEndOutlivesASummary: a call after a summary is still shown as it ended, and its facts are not counted twice.
func TestEndOutlivesASummary(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{})
	r.talk(t, 6, 800)
	carried := digest{Denied: []string{"read /x"}, Done: endOf(event.ToolFinished{Outcome: word.OK}, "", nil)}.stored()
	for i := range r.items {
		r.items[i].Carried = carried
	}
	r.model.list = [][]any{play("we did it")}
	if _, err := r.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	items := r.History()
	for _, i := range items[1:] {
		if want := `{"done":{"Outcome":"ok"}}`; string(i.Carried) != want {
			t.Errorf("%s is kept, want %s", i.Carried, want)
		}
	}
	if len(items) < 2 {
		t.Error("nothing follows the summary")
	}
}
