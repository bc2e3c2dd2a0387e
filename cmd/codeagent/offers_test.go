package main

import (
	"image"
	"image/png"
	"os"
	"strings"
	"sync"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// deeds plays a model that writes a file or starts a command on request, and records what came
// with the messages.
type deeds struct {
	mu     sync.Mutex
	images []string
}

func (d *deeds) answer(r scripted.Request) scripted.Reply {
	last := r.Messages[len(r.Messages)-1]
	d.mu.Lock()
	d.images = append(d.images, last.Images...)
	d.mu.Unlock()
	call := func(arguments string) scripted.Reply {
		return scripted.Reply{Calls: []scripted.Call{{Name: "shell", Arguments: arguments}}}
	}
	switch {
	case last.Role == "tool":
		return scripted.Reply{Text: "it is done"}
	case strings.HasSuffix(last.Text, "write it"):
		return call(`{"command":"echo theirs > kept.txt; echo new > made.txt"}`)
	case strings.HasSuffix(last.Text, "start it"):
		return call(`{"command":"echo ready; sleep 1000","background":true}`)
	}
	return scripted.Reply{Text: "looked at"}
}

// TestOffersOnTheScreen: changes are undone, background commands are listed and ended, and an
// image whose path is pasted is sent.
func TestOffersOnTheScreen(t *testing.T) {
	t.Parallel()
	var d deeds
	srv := answering(t, d.answer)
	u := newUser(t, "self", -1)
	if err := os.WriteFile(u.work+"/kept.txt", []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := u.codeagent("--model", "first")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
	term := golden.Start(t, cmd, 100, 34)
	term.WaitFor("Ask codeagent")

	term.Write("write it\r")
	term.WaitFor("it is done")
	term.WaitGone("Working")
	term.Write("/undo\r")
	for _, words := range []string{"Changes of the turn “write it”", "Will be undone: 2", "restore  kept.txt", "remove   made.txt"} {
		term.WaitFor(words)
	}
	if data, err := os.ReadFile(u.work + "/kept.txt"); err != nil || string(data) != "theirs\n" {
		t.Errorf("the preview changed something: %q, %v", data, err)
	}
	term.Write("\r")
	term.WaitFor("undone: 2 files")
	if data, err := os.ReadFile(u.work + "/kept.txt"); err != nil || string(data) != "mine\n" {
		t.Errorf("kept.txt holds %q, %v", data, err)
	}
	if _, err := os.Lstat(u.work + "/made.txt"); !os.IsNotExist(err) {
		t.Errorf("made.txt is there: %v", err)
	}

	term.Write("start it\r")
	term.WaitFor("running in the background (job 1)")
	term.WaitFor("1 running")
	term.WaitGone("Working")
	term.Write("/ps\r")
	term.WaitFor("Jobs in the background")
	term.WaitFor("echo ready; sleep 1000")
	term.Write("\x18") // Ctrl+X
	term.WaitFor("and all it started?")
	term.Write("\r")
	term.WaitFor("killed · just now")
	term.WaitGone("1 running")
	term.Write("\x1b")
	term.WaitGone("Jobs in the background")

	f, err := os.Create(u.work + "/a shot.png")
	if err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(f, image.NewGray(image.Rect(0, 0, 12, 34))); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	term.Paste("'" + u.work + "/a shot.png'")
	term.WaitFor("[image 1: a shot.png 12×34]")
	term.Write(" what is it?\r")
	term.WaitFor("looked at")
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.images) != 1 || d.images[0] != "image/png" {
		t.Errorf("the model was shown %q", d.images)
	}
}

// TestResumeByWords: sessions are named by what they are about, resumed by words of that, and a command
// of the screen shows itself instead of its prompt, also when its session is resumed.
func TestResumeByWords(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	srv := serve(t, scripted.Reply{Text: "The parser is mended."}, scripted.Reply{Text: "The footer is mended."}, scripted.Reply{Text: "AGENTS.md is written."})
	run := func(args ...string) string {
		t.Helper()
		cmd := u.codeagent(args...)
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return string(out)
	}
	screen := func(args ...string) *golden.Terminal {
		t.Helper()
		cmd := u.codeagent(args...)
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		return golden.Start(t, cmd, 100, 30)
	}
	leave := func(term *golden.Terminal) {
		t.Helper()
		term.Write("/quit\r")
		if err := term.WaitExit(); err != nil {
			t.Error(err)
		}
	}
	run("exec", "-m", "test", "Hello, please mend the parser")
	run("exec", "-m", "test", "Could you mend the footer?")
	if list := run("sessions"); !strings.Contains(list, "  Hello, please mend the parser\n") || !strings.Contains(list, "  Could you mend the footer?\n") {
		t.Errorf("the sessions are called\n%s", list)
	}
	term := screen("resume", "mend")
	term.WaitFor("mend the footer?")
	term.WaitFor("you: Could you mend the footer?")
	term.WaitFor("model: The footer is mended.")
	term.Write("\x1b[B") // the one before
	term.WaitFor("model: The parser is mended.")
	term.Write("\r")
	term.WaitFor("resumed session")
	term.Write("/resume footer\r")
	term.WaitFor("The footer is mended.")
	term.WaitGone("The parser is mended.")
	leave(term)

	term = screen("--model", "test")
	term.WaitFor("Ask codeagent")
	term.Write("/init\r")
	term.WaitFor("AGENTS.md is written.")
	term.WaitFor("┃ /init")
	leave(term)
	if list := run("sessions"); !strings.Contains(list, "AGENTS.md for this project") {
		t.Errorf("the sessions are called\n%s", list)
	}
	term = screen("resume", "agents.md")
	term.WaitFor("AGENTS.md is written.")
	term.WaitFor("┃ /init")
	leave(term)
	sent := srv.Requests()
	if last := string(sent[len(sent)-1].Body); !strings.Contains(last, "AGENTS.md") || strings.Contains(last, `"/init"`) {
		t.Errorf("the model got %s", last)
	}
}
