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
		"failed for a call":   {sandbox.Verdict{Denials: []sandbox.Denial{lost}, Suggest: sandbox.Grant{Unsandboxed: true}, Failed: true, Denied: true}, false},
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
		if r != nil && (!strings.Contains(r.Request.Title, "/usr/bin/cp wants to write /srv/data/a") || r.Hint == "") {
			t.Errorf("%s: %q, %q", name, r.Request.Title, r.Hint)
		}
	}
}
