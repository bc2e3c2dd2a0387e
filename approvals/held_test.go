package approvals

import (
	"slices"
	"testing"

	"codeagent/sandbox"
)

// TestHeldQuestionNamesWhoWasRefused: the program, but for a shell and for
// commands that name themselves better.
func TestHeldQuestionNamesWhoWasRefused(t *testing.T) {
	for _, c := range []struct{ command, program, want string }{
		{"npm install", "node", "npm install"},
		{"make", "cc1", "cc1"},
		{"./fetch.sh", "/usr/bin/curl", "curl"},
		{"echo x > /etc/b", "bash", "echo"},
		{"for i in a b; do echo $i > /etc/$i; done", "bash", "a command"},
		{"if true; then touch /etc/b; fi", "touch", "touch"},
		{"cp a /etc/b", "", "cp"},
		{"./x", "e\x1bvil", "e?vil"},
	} {
		g := newGate(OnRequest, confined())
		_, r, err := g.DecideHeld(command(c.command, Wish{Justification: "for something else"}), sandbox.Denial{Kind: sandbox.KindWrite, Target: "/etc/b", Program: c.program}, HeldAnswers{})
		if r == nil || r.Title != c.want+" wants to write /etc/b" || r.Justification != "" {
			t.Errorf("%s by %q: %+v %v", c.command, c.program, r, err)
		}
	}
}

// TestHeldQuestionOfABackgroundCommand says what a yes lasts for, which is longer
// than the call that the person sees.
func TestHeldQuestionOfABackgroundCommand(t *testing.T) {
	for _, mode := range Modes() {
		for _, background := range []bool{false, true} {
			g := newGate(mode, confined())
			a := command("server", Wish{})
			a.Background = background
			_, r, err := g.DecideHeld(a, sandbox.Denial{Kind: sandbox.KindWrite, Target: "/etc/b"}, HeldAnswers{})
			if refusal, ok := AsRefusal(err); ok {
				r = refusal.Request
			}
			if r == nil {
				t.Fatalf("%s: %v", mode, err)
			}
			const warning = "it keeps this until it ends, is killed, or codeagent ends; what is typed to it is asked about"
			if slices.Contains(r.Warnings, warning) != background {
				t.Errorf("%s, background %v: warnings %q", mode, background, r.Warnings)
			}
		}
	}
}
