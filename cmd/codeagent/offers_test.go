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
	term.WaitFor("Background commands")
	term.WaitFor("echo ready; sleep 1000")
	term.Write("\x18") // Ctrl+X
	term.WaitFor("and all it started?")
	term.Write("\r")
	term.WaitFor("killed · just now")
	term.WaitGone("1 running")
	term.Write("\x1b")
	term.WaitGone("Background commands")

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
