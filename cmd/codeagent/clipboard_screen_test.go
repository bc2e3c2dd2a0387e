package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/machine"
	"codeagent/internal/scripted"
)

// TestClipboardOnTheScreen: Ctrl+V attaches the image from the desktop's program; it is stored
// with the session like any image.
func TestClipboardOnTheScreen(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "darwin" {
		t.Skip("the fake is of Wayland")
	}
	srv := answering(t, func(r scripted.Request) scripted.Reply {
		return scripted.Reply{Text: []string{"no image", "one image", "two images"}[imagesIn(r)]}
	})
	u, dir := newUser(t, "self", -1), t.TempDir()
	file := func(name, text string) {
		t.Helper()
		if err := machine.WriteProgram(filepath.Join(dir, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	file("wl-paste", "#!/bin/sh\nf=data; [ \"$1\" = --list-types ] && f=kinds\nexec "+cat+" '"+dir+"'/$f\n")
	start := func(args ...string) *exec.Cmd {
		cmd := u.codeagent(args...)
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL, "WAYLAND_DISPLAY=wayland-0", "PATH="+dir+":"+os.Getenv("PATH"))
		return cmd
	}
	term := golden.Start(t, start("--model", "m"), 100, 30)
	if err := writePNG(filepath.Join(dir, "data"), 40, 30); err != nil {
		t.Fatal(err)
	}
	file("kinds", "image/png\n")
	term.WaitFor("Ask codeagent")
	pasteClipboard(t, term, "[image 1: clipboard 40×30]")
	term.Write(" what is this?\r")
	term.WaitFor("one image")
	term.WaitGone(working)
	file("kinds", "UTF8_STRING\n")
	file("data", "and from the clipboard, words")
	pasteClipboard(t, term, "and from the clipboard, words")
	term.Write("\x15/quit\r")
	if err := term.WaitExit(); err != nil {
		t.Errorf("ended with %v", err)
	}
	kept, err := filepath.Glob(u.home + "/.local/state/codeagent/sessions/*.images/*")
	if err != nil || len(kept) != 1 {
		t.Errorf("the images kept are %q, %v", kept, err)
	}
}

// pasteClipboard presses Ctrl+V until the message contains want: on a busy machine the fake
// program may exceed the time limit.
func pasteClipboard(t *testing.T, term *golden.Terminal, want string) {
	t.Helper()
	const late = "did not end within"
	for range 20 {
		before := strings.Count(term.Screen(), late)
		term.Write("\x16")
		term.WaitUntil(want, func(screen string) bool {
			return strings.Contains(screen, want) || strings.Count(screen, late) > before
		})
		if strings.Contains(term.Screen(), want) {
			return
		}
	}
	t.Fatalf("%q is not pasted:\n%s", want, term.Screen())
}
