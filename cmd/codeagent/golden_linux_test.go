package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/machine"
	"codeagent/internal/scripted"
)

// placed is a user whose folders have names of one length: what is drawn breaks in the same places.
func placed(t *testing.T, number int) user {
	t.Helper()
	u := newUserIn(t, "/tmp", "self", -1)
	base := filepath.Dir(u.home)
	fixed := fmt.Sprintf("/tmp/codeagent-%03d-%07d", number, os.Getpid())
	if err := os.Rename(base, fixed); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(fixed) })
	for _, dir := range []*string{&u.home, &u.work, &u.out, &u.bin} {
		*dir = fixed + strings.TrimPrefix(*dir, base)
	}
	return u
}

// varies is what differs from run to run and from machine to machine: folders, times, ports, and
// what a machine does not enforce.
var varies = []struct {
	of   *regexp.Regexp
	here string
}{
	{regexp.MustCompile(`/tmp/codeagent-\d{3}-\d{7}`), "/tmp/codeagent-USER-NUMBER"},
	{regexp.MustCompile(`codeagent-\d[\d-]*…`), "codeagent-…"},
	{regexp.MustCompile(`\d+(\.\d)? m?s\b`), "TIME"},
	{regexp.MustCompile(`\b127\.0\.0\.1([:/])\d+`), "127.0.0.1${1}PORT"},
	{regexp.MustCompile(`in \d:\d\d`), "in TIME"},
	{regexp.MustCompile(`waits \d:\d\d ─*`), "waits TIME"},
	{regexp.MustCompile(`(?m)^ *▲ \d+ things? not enforced.*(\n *machine: .*| *)$\n`), ""},
	{regexp.MustCompile(`(?s)(› Ask codeagent\n).*`), "$1"}, // the footer
	{regexp.MustCompile(`(?m) +$`), ""},
	{regexp.MustCompile(`\n{3,}`), "\n\n"},
}

// checkProgram compares the screen of the program with a golden file, once it shows what is waited for.
func checkProgram(t *testing.T, term *golden.Terminal, name, seen string) {
	t.Helper()
	shown := ""
	term.WaitUntil(seen, func(screen string) bool {
		shown = screen
		return strings.Contains(screen, seen)
	})
	for _, v := range varies {
		shown = v.of.ReplaceAllString(shown, v.here)
	}
	golden.CheckFile(t, filepath.Join("testdata", "screens", name+".txt"), strings.Trim(shown, "\n")+"\n")
}

// TestGoldenProgram: the first screens that a new user sees, by the program itself: in the home folder,
// with a model, and the tour without one.
func TestGoldenProgram(t *testing.T) {
	for i, size := range [][2]int{{120, 40}, {80, 24}, {40, 15}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			of := func(what string) string { return fmt.Sprintf("%s-%dx%d", what, size[0], size[1]) }
			u := placed(t, i)
			srv := serve(t, scripted.Reply{Text: "hello"})
			start := func(folder string, args ...string) *golden.Terminal {
				cmd := u.codeagent(args...)
				cmd.Dir = folder
				if slices.Contains(args, "--model") {
					cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL, "OPENAI_API_KEY=test-key-value")
				}
				return golden.Start(t, cmd, size[0], size[1])
			}
			term := start(u.home, "--model", "test")
			checkProgram(t, term, of("home"), "Another folder …")
			term.Write("\x1b[B\r")
			checkProgram(t, term, of("home-other"), "folder ~/")
			term.Write("\x1b")
			term.WaitGone("folder ~/")
			term.Write("\x1b")
			_ = term.WaitExit()

			term = start(u.work, "--model", "test")
			term.WaitFor("none in this folder yet") // rows that need IO come when they are known
			checkProgram(t, term, of("start"), "no AGENTS.md yet")
			term.Write("/quit\r")
			_ = term.WaitExit()

			if !machine.Thorough() && size[0] != 80 {
				return
			}
			// The tour: the request for one path, and after a no the offer to remove what it made.
			term = start(u.work, "-c", "sandbox.experiments=false") // not every machine has drafts
			checkProgram(t, term, of("no-model"), "› The tour")
			if _, err := os.Lstat(filepath.Join(u.work, "codeagent-tour.txt")); err == nil {
				t.Error("before any answer the tour's file was made")
			}
			term.Write("\r")
			term.WaitFor("codeagent-tour-outside.txt")
			term.WaitFor("s stop")
			term.Write("\x19") // armed, whatever the machine's speed
			checkProgram(t, term, of("tour-asks"), "Tab adds a note")
			term.Write("n")
			term.WaitFor("no, because:")
			term.Write("\r")
			term.WaitFor("wants to reach")
			term.Write("\x19n")
			term.WaitFor("no, because:")
			term.Write("\r")
			term.WaitFor("Remove the file")
			term.Write("\x19")
			checkProgram(t, term, of("tour-ends"), "Tab adds a note")
			term.Write("1")
			term.WaitFor("removed")
			term.Write("/quit\r")
			_ = term.WaitExit()
		})
	}
}
