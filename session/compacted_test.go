package session

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"codeagent/model"

	"github.com/google/go-cmp/cmp"
)

func compacted(t testing.TB, ses *Session, items ...model.Item) {
	t.Helper()
	if err := ses.Compacted(items); err != nil {
		t.Fatal(err)
	}
}

func summary(text string) model.Item {
	return model.Item{Kind: model.Summary, Text: text, Carried: []byte(`{"plan":[]}`)}
}

func same(t testing.TB, what string, h History, want ...model.Item) {
	t.Helper()
	if d := cmp.Diff(want, h.Items); d != "" || h.Omitted || h.Damaged > 0 {
		t.Errorf("%s: %s%+v", what, d, h)
	}
}

// After a compaction the conversation continues from the summary; all earlier items stay in the
// file, are counted, and can be rewound to.
func TestCompactedGoesOnFromTheSummary(t *testing.T) {
	s, ses := begun(t, user("one"), answer("1"), user("two"), answer("2"), user("three"), answer("3"))
	first := summary("of one and two")
	compacted(t, ses, first, user("three"), answer("3"))
	put(t, ses, user("four"), answer("4"))
	want := []model.Item{first, user("three"), answer("3"), user("four"), answer("4")}
	same(t, "at once", history(t, ses), want...)
	var all []model.Item
	for item, err := range ses.All() {
		if err != nil {
			t.Fatal(err)
		}
		item.Carried = nil
		all = append(all, item)
	}
	shown := summary("of one and two")
	shown.Carried = nil
	if d := cmp.Diff([]model.Item{user("one"), answer("1"), user("two"), answer("2"), user("three"), answer("3"), shown, user("four"), answer("4")}, all); d != "" {
		t.Errorf("all: %s", d)
	}
	if err := ses.EndTurn("done", model.Usage{}); err != nil {
		t.Fatal(err)
	}
	closed(t, ses)
	ses = opened(t, s, ses.ID())
	same(t, "opened again", history(t, ses), want...)

	fork, err := s.Fork(ses.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "a fork", history(t, opened(t, s, fork)), want...)
	fork, err = s.Fork(ses.ID(), 2)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "a fork from before it", history(t, opened(t, s, fork)), user("one"), answer("1"))

	second := summary("of all")
	compacted(t, ses, second)
	same(t, "compacted again", history(t, ses), second)
	messages, err := s.Messages(ses.ID())
	if err != nil || len(messages) != 4 || messages[3].Text != "four" {
		t.Errorf("%+v, %v", messages, err)
	}
	var page bytes.Buffer
	if err := s.Export(&page, ses.ID()); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two", "three", "four", "of one and two", "of all"} {
		if n := strings.Count(page.String(), "\n"+text); n < 1 {
			t.Errorf("%q is not in it", text)
		}
	}
	if n := strings.Count(page.String(), "Summary that replaces what came before"); n != 2 {
		t.Errorf("%d summaries", n)
	}
	if n := strings.Count(page.String(), "Message 3"); n != 1 {
		t.Errorf("message 3 is in it %d times", n)
	}

	// Rewinds within, across the last one, and across both.
	for _, step := range []struct {
		to   int
		want []model.Item
	}{
		{4, []model.Item{first, user("three"), answer("3")}},
		{2, []model.Item{user("one"), answer("1")}},
	} {
		if said, err := ses.Messages(); err != nil || said[step.to-1].Text != messages[step.to-1].Text {
			t.Errorf("the messages: %+v, %v", said, err)
		}
		if err := ses.Back(step.to); err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprintf("back before message %d", step.to), history(t, ses), step.want...)
	}
	put(t, ses, user("another"))
	same(t, "and on", history(t, ses), user("one"), answer("1"), user("another"))
}

// A compaction without a summary is damaged: the items before it count.
func TestDamagedCompactionIsPassedOver(t *testing.T) {
	for _, line := range []string{
		`{"kind":"compacted","at":"2026-01-02T03:04:05Z"}`,
		`{"kind":"compacted","items":[]}`,
		`{"kind":"compacted","items":[{"kind":"user","text":"x"}]}`,
		`{"kind":"compacted","items":"x"}`,
		`{"kind":"compacted","items":[{"kind":"summary"`,
	} {
		s, ses := begun(t, user("one"), answer("1"))
		closed(t, ses)
		add(t, s, ses.ID(), line+"\n")
		h := history(t, opened(t, s, ses.ID()))
		if len(h.Items) != 2 || h.Damaged != 1 {
			t.Errorf("%s: %+v", line, h)
		}
	}
}

// A long summary at the end does not hide the session's title.
func TestTitleBehindALongCompaction(t *testing.T) {
	s, ses := begun(t, user("one"), answer("1"))
	if err := ses.Rename("my title"); err != nil {
		t.Fatal(err)
	}
	compacted(t, ses, summary(strings.Repeat("x", 4*near)))
	for sum, err := range s.List() {
		if err != nil || sum.Title != "my title" {
			t.Errorf("%+v, %v", sum, err)
		}
	}
}

func TestCompactionIsBounded(t *testing.T) {
	_, ses := begun(t, user("one"), answer("1"))
	if err := ses.Compacted([]model.Item{summary(strings.Repeat("x", maxLine))}); err == nil {
		t.Error("a record was written that cannot be read")
	}
	same(t, "afterwards", history(t, ses), user("one"), answer("1"))
}
