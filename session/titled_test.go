package session

import (
	"testing"

	"codeagent/model"
)

// TestTitled: a session is found by words of its title or its first message; its branch is in the list.
func TestTitled(t *testing.T) {
	store := New(t.TempDir())
	for _, say := range []string{"mend the parser", "mend the Footer of the screen"} {
		s := store.Create(Info{ID: NewID(), Folder: "/src"})
		s.SetBranch("topic")
		if err := s.Append(model.Item{Kind: model.User, Text: say}); err != nil {
			t.Fatal(err)
		}
		if err := s.EndTurn("done", model.Usage{}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	all := func(Summary) bool { return true }
	for text, want := range map[string]int{"mend": 2, "FOOTER mend": 1, "parser footer": 0, "": 0, " ": 0} {
		got, err := store.Titled(text, all)
		if err != nil || len(got) != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		for _, sum := range got {
			if sum.Branch != "topic" {
				t.Errorf("branch %q", sum.Branch)
			}
		}
	}
	if got, err := store.Titled("mend", func(s Summary) bool { return s.Folder == "/other" }); err != nil || len(got) != 0 {
		t.Errorf("elsewhere: %+v, %v", got, err)
	}
}

// TestNames: what a session is called, and its last message and answer in the list.
func TestNames(t *testing.T) {
	said := func(text string) model.Item { return model.Item{Kind: model.User, Text: text} }
	review := model.Item{Kind: model.User, Text: "Review the changes. Look for …", Typed: "/review", About: "Review of the uncommitted changes"}
	for _, c := range []struct {
		items []model.Item
		name  string
	}{
		{[]model.Item{said("Hello, could you please mend the parser?")}, "Hello, could you please mend the parser?"},
		{[]model.Item{said("hi there!")}, "hi there!"},
		{[]model.Item{said("hi"), said("hello?"), said("Please mend the parser"), said("and test it")}, "Please mend the parser"},
		{[]model.Item{said("hi"), said("hello?")}, "hi"},
		{[]model.Item{said("hi"), review}, review.About},
		{[]model.Item{said("hire a plumber")}, "hire a plumber"},
		{[]model.Item{review, said("mend the first")}, review.About},
		{[]model.Item{{Kind: model.User, Text: "long prompt", Typed: "/fix 12"}}, "/fix 12"},
	} {
		store := New(t.TempDir())
		s := store.Create(Info{ID: NewID(), Folder: "/src"})
		for _, i := range append(c.items, model.Item{Kind: model.Assistant, Text: "It is\nmended."}) {
			if err := s.Append(i); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.EndTurn("done", model.Usage{}); err != nil {
			t.Fatal(err)
		}
		s.Close()
		again, err := store.Open(Info{ID: s.ID(), Folder: "/src"}) // a process that resumes it writes the same
		if err != nil {
			t.Fatal(err)
		}
		again.Close()
		sum, err := store.Find(s.ID())
		last := c.items[len(c.items)-1]
		if err != nil || sum.Name() != c.name || sum.Said != last.Said() || sum.Answer != "It is mended." {
			t.Errorf("%v: %+v %q, %v", c.items, sum, sum.Name(), err)
		}
		h, err := again.store.Messages(s.ID())
		if err != nil || h[len(h)-1].Text != last.Said() {
			t.Errorf("%+v, %v", h, err)
		}
	}
}
