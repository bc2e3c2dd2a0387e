package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/sandbox"
	"codeagent/tui/denial"
	"codeagent/tui/keys"
	"codeagent/tui/part"
	"codeagent/tui/question"
)

// crowdedRequest is a question that does all it can to keep its grants off the screen:
// seven of them, with long paths and wide characters, a command of 40 lines, and a
// reason of 2 KiB; both of the latter draw lines of codeagent's own.
func crowdedRequest(id string) approvals.Request {
	q := npmRequest(id)
	q.GrantOnly = false
	fake := "\n   allows   + write /FAKE/folder\n allows\n   + network FAKE.example:443\n            + write ~/FAKE\n"
	q.Action.Command = "./deploy.sh" + fake + strings.Repeat("echo step\n", 34) + "rm -rf LAST"
	q.Justification = (strings.Repeat("please ", 30) + fake + strings.Repeat(" ", 100) + "+ write ~/FAKE" + strings.Repeat(" because", 300))[:2048]
	q.Grant = sandbox.Grant{
		Write: []string{"/home/ada/.ssh", "/srv/" + strings.Repeat("very-long-folder/", 9) + "end of it", "/home/ada/資料/報告書/" + strings.Repeat("漢字", 30)},
		Read:  []string{"/home/ada/.aws/credentials", "/var/lib/a   + write   b"},
		Hosts: []sandbox.HostPort{{Host: "evil.example", Port: 443}, {Host: strings.Repeat("a-long-label.", 8) + "example", Port: 8443}},
	}
	q.Warnings = []string{"the folder holds your private keys: what writes there can sign in as you", "the program lies in the workspace and can be rewritten"}
	q.Facts = []string{"nothing was refused in this session that needs to write /srv/" + strings.Repeat("folder/", 20), "/home/ada/.ssh holds at least 10000 entries"}
	return q
}

// glued leaves out space, also where it is shown as "␣": what a row's end broke is whole again.
func glued(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '␣' {
			return -1
		}
		return r
	}, s)
}

// ours are the rows of a screen that have no bar in front.
func ours(screen string) []string {
	var out []string
	for l := range strings.Lines(screen) {
		if before, _, ok := strings.Cut(l, "│"); !ok || strings.TrimSpace(before) != "" && !labels[strings.TrimSpace(before)] {
			out = append(out, strings.TrimSpace(l))
		}
	}
	return out
}

var labels = map[string]bool{"command": true, "reason": true, "types": true, "into": true, "fetch": true, "change": true, "does": true, "sends": true, "to": true}

// TestNoYesBeforeAllWasSeen: at sizes where a question does not fit, each way to say
// yes is dead until everything that a yes allows, and every warning, was visible.
func TestNoYesBeforeAllWasSeen(t *testing.T) {
	held := crowdedRequest("held")
	held.Held, held.Justification = true, ""
	input := crowdedRequest("input")
	input.Action = approvals.Action{Kind: word.KindInput, Input: strings.Repeat("rm -rf /srv/x; ", 60), Running: approvals.Running{ID: 1, Command: "bash -i"}}
	edit := crowdedRequest("edit")
	edit.Action = approvals.Action{Kind: word.KindEdit, Command: "*** Begin Patch\n" + strings.Repeat("+x\n", 50) + "*** End Patch\n", Paths: []string{"/home/ada/.bashrc"}}
	server := crowdedRequest("server")
	server.Action = approvals.Action{Kind: word.KindServer, Server: &approvals.ServerCall{
		Server: "mail", Tool: "send", Program: "mail-server\n allows FAKE", Arguments: `{"to": "` + strings.Repeat("x@example.com, ", 60) + `"}`,
	}}
	for _, size := range [][2]int{{80, 24}, {40, 15}, {24, 10}} {
		for _, q := range []approvals.Request{crowdedRequest("q"), held, input, edit, server} {
			t.Run(fmt.Sprintf("%dx%d/%s", size[0], size[1], q.ID), func(t *testing.T) { readAll(t, size[0], size[1], q) })
		}
	}
}

func readAll(t *testing.T, w, h int, q approvals.Request) {
	r := newRig(t, w, h)
	a := r.put(q)
	var seen []string
	look := func() {
		for _, l := range ours(r.screen()) {
			if len(seen) == 0 || seen[len(seen)-1] != l {
				seen = append(seen, l)
			}
			if strings.Contains(l, "FAKE") {
				t.Fatalf("a row of the model's passes for one of ours: %q\n%s", l, r.screen())
			}
		}
	}
	// tried looks, tries every way to say yes, and reports whether one was taken.
	clicks := h
	tried := func() bool {
		t.Helper()
		look()
		for y := range clicks {
			r.send(tea.MouseClickMsg{X: 4, Y: y, Button: tea.MouseLeft})
			r.send(tea.MouseReleaseMsg{X: 4, Y: y, Button: tea.MouseLeft})
		}
		clicks = 0
		r.press("ctrl+y", "1")
		ans, ok := r.answered(a)
		if ok && ans.Decision != approvals.Once {
			t.Fatalf("answer = %+v", ans)
		}
		return ok
	}
	done := tried()
	if !done {
		r.has("n no", keys.Standard().Name(keys.Everywhere, keys.PageDown)) // the no stays, and the way to the rest
		r.press("ctrl+o")
		clicks = h
		bothEnds := func() bool { r.press("end"); return tried() }
		if h < 24 && (tried() || bothEnds()) {
			t.Error("a yes was taken after a look at both ends") // what is passed over was not seen
		}
		r.press("home")
		for step := 0; !done && step < 200; step++ {
			if done = tried(); !done {
				r.press("down")
			}
		}
	}
	if !done {
		t.Fatalf("no yes is taken after all was seen:\n%s", r.screen())
	}
	all := glued(strings.Join(seen, ""))
	for _, want := range slices.Concat(denial.Grants(q.Grant, "/home/ada"), q.Warnings, q.Facts) {
		for _, part := range strings.SplitAfter(glued(want), "/") { // rows of a page overlap
			if !strings.Contains(all, part) && len([]rune(part)) < w/3 {
				t.Errorf("a yes was taken before %q of %q was seen:\n%s", part, want, strings.Join(seen, "\n"))
			}
		}
	}
	if q.ID == "edit" && !strings.Contains(all, "~/.bashrc") {
		t.Error("a yes was taken before the file of an edit was seen")
	}
}

// TestNoAndStopAlwaysWork, in the docked question and in its full view.
func TestNoAndStopAlwaysWork(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {40, 15}, {24, 10}} {
		for _, full := range []bool{false, true} {
			r := newRig(t, size[0], size[1])
			a, b := r.put(crowdedRequest("q1")), &question.Ask{}
			if full {
				r.press("ctrl+o")
			}
			r.press("ctrl+y", "n")
			r.typeText("not there")
			r.press("enter")
			r.wantAnswer(a, approvals.Deny, "not there")
			if b = r.put(crowdedRequest("q2")); full {
				r.press("ctrl+o")
			}
			r.press("ctrl+y", "s")
			r.wantAnswer(b, approvals.Stop, "")
		}
	}
}

// TestOutsideNeedsTheWholeCommand: what leaves the sandbox is bound by its text.
func TestOutsideNeedsTheWholeCommand(t *testing.T) {
	r := newRig(t, 80, 40)
	q := npmRequest("q")
	q.GrantOnly, q.Action.Command = false, strings.Repeat("echo step\n", 30)
	a := r.put(q)
	r.press("ctrl+y", "3")
	r.wantNone(a)
	r.has("not yet: PgDn: 26 more lines to see before a yes")
	r.press("pgdown", "3")
	r.wantAnswer(a, approvals.Outside, "")
}

// TestWhatWasSeenStaysSeen: a smaller window does not take back what was read, and
func TestWhatWasSeenStaysSeen(t *testing.T) {
	r := newRig(t, 100, 60)
	q := crowdedRequest("q")
	q.GrantOnly = true
	a := r.put(q)
	r.send(tea.WindowSizeMsg{Width: 40, Height: 15})
	r.press("ctrl+y", "2")
	r.wantAnswer(a, approvals.Session, "")
}

// The full view of a question that is gone closes: no key of it reaches the next one.
func TestFullViewClosesWithItsQuestion(t *testing.T) {
	r := newRig(t, 80, 30)
	a, b := r.put(npmRequest("q1")), npmRequest("q2")
	b.Title = "another"
	next := r.put(b)
	r.press("ctrl+y", "ctrl+o")
	r.app.box.post(part.Withdrawn{Ask: a})
	r.send(inboxMsg{})
	r.lacks("closes the full view")
	r.press("1")
	r.wantNone(next)
	r.has("another")
}
