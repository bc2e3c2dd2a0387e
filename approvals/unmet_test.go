package approvals

import (
	"strings"
	"testing"

	"codeagent/sandbox"
)

// TestUnmet: what a passed command lost, or what made a command fail, becomes a refusal with a
// hint.
func TestUnmet(t *testing.T) {
	lost := sandbox.Denial{Kind: sandbox.KindWrite, Target: "/srv/data/a", Executable: "/usr/bin/cp", Evidence: sandbox.EvidenceKernel, Named: true}
	besides, moot, guess := lost, lost, lost
	besides.Named, moot.Moot, guess.Evidence = false, true, sandbox.EvidenceOutput
	call := sandbox.Denial{Kind: sandbox.KindSyscall, Operation: "mount", Target: "mount", Executable: "/usr/bin/mount", Evidence: sandbox.EvidenceKernel}
	signal, su, guessed := call, call, call
	signal.Kind, su.Kind, guessed.Evidence = sandbox.KindSignal, sandbox.KindCapability, sandbox.EvidenceOutput
	outside := func(d sandbox.Denial, denied bool) sandbox.Verdict {
		return sandbox.Verdict{Denials: []sandbox.Denial{d}, Suggest: sandbox.Grant{Unsandboxed: true}, Failed: true, Denied: denied}
	}
	write := sandbox.Grant{Write: []string{"/srv/data/a"}}
	for name, c := range map[string]struct {
		v    sandbox.Verdict
		want bool
	}{
		"passed":              {sandbox.Verdict{Denials: []sandbox.Denial{besides, lost}, Suggest: write}, true},
		"failed for it":       {sandbox.Verdict{Denials: []sandbox.Denial{lost}, Suggest: write, Failed: true, Denied: true}, true},
		"failed otherwise":    {sandbox.Verdict{Denials: []sandbox.Denial{lost}, Suggest: write, Failed: true}, false},
		"failed, not named":   {sandbox.Verdict{Denials: []sandbox.Denial{besides}, Suggest: write, Failed: true, Denied: true}, true},
		"failed, moot":        {sandbox.Verdict{Denials: []sandbox.Denial{moot}, Suggest: write, Failed: true, Denied: true}, false},
		"failed by its words": {sandbox.Verdict{Denials: []sandbox.Denial{guess}, Suggest: write, Failed: true, Denied: true}, false},
		"failed for a call":   {outside(call, true), true},
		"failed for a signal": {outside(signal, true), true},
		"failed for su":       {outside(su, true), true},
		"not for the call":    {outside(call, false), false},
		"a call by its words": {outside(guessed, true), false},
		"besides":             {sandbox.Verdict{Denials: []sandbox.Denial{besides}, Suggest: write}, false},
		"moot":                {sandbox.Verdict{Denials: []sandbox.Denial{moot}, Suggest: write}, false},
		"read off the output": {sandbox.Verdict{Denials: []sandbox.Denial{guess}, Suggest: write}, false},
		"never granted":       {sandbox.Verdict{Denials: []sandbox.Denial{lost}}, false},
		"open by now":         {sandbox.Verdict{Denials: []sandbox.Denial{lost}, Suggest: sandbox.Grant{Write: []string{workspace + "/x"}}}, false},
	} {
		r := newGate(OnRequest, confined()).Unmet(command("cp a /srv/data/ || true", Wish{}), c.v)
		if (r != nil) != c.want {
			t.Errorf("%s: %+v", name, r)
		}
		wants := "/usr/bin/cp wants to write /srv/data/a"
		if c.v.Suggest.Unsandboxed {
			wants = "/usr/bin/mount wants to leave the sandbox"
		}
		if r != nil && (!strings.Contains(r.Request.Title, wants) || r.Hint == "") {
			t.Errorf("%s: %q, %q", name, r.Request.Title, r.Hint)
		}
	}
}

// TestHintOfTheFace: the hint of a face replaces that of every refusal, and no refusal without a
// hint gets one.
func TestHintOfTheFace(t *testing.T) {
	g := newGate(Never, confined())
	g.opts.Hint = "choose on-request"
	loss := sandbox.Verdict{Denials: []sandbox.Denial{{Kind: sandbox.KindLoss, Target: "/w/big", Evidence: sandbox.EvidenceKernel}}}
	_, _, wish := g.Decide(command("cp a b", Wish{Write: []string{"/srv/x"}, Justification: "it copies"}))
	_, _, held := g.DecideHeld(command("cp a /srv/x", Wish{}), sandbox.Denial{Kind: sandbox.KindWrite, Target: "/srv/x", Evidence: sandbox.EvidenceKernel}, HeldAnswers{})
	for name, err := range map[string]error{"a wish": wish, "a held call": held, "a loss": g.Unmet(command("rm -rf d", Wish{}), loss)} {
		if r, ok := AsRefusal(err); !ok || r.Hint != "choose on-request" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := remedy(g.Gate, ""); got != "" {
		t.Errorf("a refusal without a remedy has the hint %q", got)
	}
}
