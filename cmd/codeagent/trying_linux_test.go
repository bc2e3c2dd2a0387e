package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// TestTryingOnTheScreen: !! changes nothing before the person has chosen; what is kept is a turn that /undo takes back,
// and the model is shown it.
func TestTryingOnTheScreen(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var said string
	srv := answering(t, func(r scripted.Request) scripted.Reply {
		mu.Lock()
		defer mu.Unlock()
		for _, m := range r.Messages {
			said += m.Text
		}
		return scripted.Reply{Text: "I see."}
	})
	u := newUser(t, "self", -1)
	at := func(name string) string { return filepath.Join(u.work, name) }
	if err := os.WriteFile(at("old"), []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	is := func(name string, want bool) {
		t.Helper()
		if _, err := os.Lstat(at(name)); (err == nil) != want {
			t.Errorf("%s exists: %v, want %v", name, err == nil, want)
		}
	}
	cmd := u.codeagent("--model", "first", "--ask-for-approval", "never")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
	term := golden.Start(t, cmd, 100, 30)
	term.WaitFor("Ask codeagent")
	term.Write("!!rm old; mkdir d; echo new >d/new; echo done\r")
	term.WaitFor("── ")
	if strings.Contains(term.Screen(), "Not run") {
		term.Write("/quit\r")
		t.Skip("no drafts here")
	}
	term.WaitFor("1 deleted, 1 new")
	is("old", true)
	is("d", false)
	term.Write("\r")
	term.WaitFor("3 Drop")
	term.Write("1")
	term.WaitFor("kept 2 of 2 changes")
	is("old", false)
	is("d/new", true)
	term.Write("/undo\r")
	term.WaitFor("Enter undoes")
	term.Write("\r")
	term.WaitFor("/redo takes it back")
	is("old", true)
	is("d", false)
	term.Write("go on\r")
	term.WaitFor("I see.")
	mu.Lock()
	for _, want := range []string{"\n| done\n", "It ran on a draft", "The user kept what it changed in: "} {
		if !strings.Contains(said, want) {
			t.Errorf("the model was sent %q, without %q", said, want)
		}
	}
	mu.Unlock()
	term.Write("/quit\r")
	if err := term.WaitExit(); err != nil {
		t.Error(err)
	}
}
