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
