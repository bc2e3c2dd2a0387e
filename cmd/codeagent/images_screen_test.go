package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/scripted"
)

// Texts on the screen during a turn, and while another model is tested: until then no command
// of the screen is accepted.
const (
	working   = "Working"
	switching = "Switching to"
)

// leave is Ctrl+C twice, which quits. It is written at once, since two that are read too far
// apart do not quit.
const leave = "\x03\x03"

// imagesIn counts the images of a conversation.
func imagesIn(r scripted.Request) int {
	n := 0
	for _, m := range r.Messages {
		n += len(m.Images)
	}
	return n
}

// TestImagesOnTheScreen: a dragged file and one of -i are sent with the message, stored with
// the session and shown again with it; a model that sees no images gets words.
func TestImagesOnTheScreen(t *testing.T) {
	t.Parallel()
	srv := answering(t, func(r scripted.Request) scripted.Reply {
		return scripted.Reply{Text: []string{"no image", "one image", "two images", "three images"}[imagesIn(r)]}
	})
	u := newUser(t, "self", -1)
	shot := filepath.Join(u.work, "a shot.png")
	if err := writePNG(shot, 40, 30); err != nil {
		t.Fatal(err)
	}
	start := func(args ...string) *golden.Terminal {
		cmd := u.codeagent(append(args, "-c", `models."mole".vision="no"`)...)
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		return golden.Start(t, cmd, 160, 30)
	}
	quit := func(term *golden.Terminal) {
		t.Helper()
		term.Write("/quit\r")
		if err := term.WaitExit(); err != nil {
			t.Errorf("ended with %v", err)
		}
	}
	term := start("--model", "m", "-i", shot)
	term.WaitFor("a shot.png (PNG, 40×30) goes with your first message")
	term.Paste("'" + shot + "'")
	term.WaitFor("image 1: a shot.png 40×30")
	term.Write(" what is this?\r")
	term.WaitFor("two images")
	term.WaitGone(working)
	// The message is back in the editor, with a chip for each image.
	takeBack(t, term, "[image 1: a shot.png 40×30] what is this? [image 2: a shot.png 40×30]")
	term.Write("\r")
	term.WaitFor("Ask codeagent") // sent: the answer on the screen is still that to the first
	term.WaitGone("Going back")
	term.WaitGone(working)
	term.WaitFor("two images")
	term.Write("/model mole\r")
	term.WaitFor("now using mole")
	term.WaitGone(switching)
	term.Paste(shot)
	term.WaitFor("mole cannot see images")
	term.WaitFor(shot) // as plain text
	term.Write("\r")
	term.WaitFor("no image")
	term.WaitGone(working)
	quit(term)

	term = start("--model", "m", "resume", "--last")
	term.WaitFor("resumed session")
	term.Write("and this?\r")
	term.WaitUntil("an answer to the same images", func(string) bool {
		return slices.ContainsFunc(srv.Requests(), func(r scripted.Request) bool { return r.Last().Text == "and this?" && imagesIn(r) == 2 })
	})
	term.WaitGone(working)
	quit(term)
	kept, err := filepath.Glob(u.home + "/.local/state/codeagent/sessions/*.images/*")
	if err != nil || len(kept) != 1 {
		t.Fatalf("the images kept are %q, %v", kept, err)
	}
	if info, err := os.Stat(kept[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
