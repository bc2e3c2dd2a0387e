package approvals

import (
	"slices"
	"strings"
	"testing"

	"codeagent/event/word"
)

// TestAsks: where a hook wants a question there is no permit without an answer, under any policy and
// for any kind of call. Nothing that was answered before replaces it, and a yes does not last.
func TestAsks(t *testing.T) {
	const why = "hook check: is that needed?"
	read := Action{CallID: "c3", Tool: "read_file", Kind: word.KindRead, Folder: workspace, Paths: []string{workspace + "/a"}}
	for _, mode := range Modes() {
		for _, a := range []Action{command("ls", Wish{}), edit("a.go"), read, {Kind: word.KindPlan}, {Kind: word.KindWatch}, wishing("npm i", []string{"/home/u/.npm"})} {
			g := newGate(mode, confined())
			permit, q, err := g.Decide(a, why)
			switch {
			case permit.minted:
				t.Errorf("%s, %s: permitted", mode, a.Kind)
			case mode == Never:
				if err == nil || q != nil {
					t.Errorf("never, %s: asked", a.Kind)
				}
				continue
			case q == nil || !slices.Contains(q.Warnings, "asked by the "+why):
				t.Errorf("%s, %s: %+v, %v", mode, a.Kind, q, err)
				continue
			}
			if lasts := slices.ContainsFunc(q.Options, func(o Option) bool { return o.Decision.Lasts() }); lasts && q.Grant.Empty() {
				t.Errorf("%s, %s: an answer that lasts is offered: %+v", mode, a.Kind, q.Options)
			}
			if permit, ok := g.Ruled(q); ok || permit.minted {
				t.Errorf("%s, %s: answered by rules", mode, a.Kind)
			}
			if permit, err := g.Settle(q, Answer{Decision: Once}); err != nil || !permit.minted {
				t.Errorf("%s, %s: a yes gives %v", mode, a.Kind, err)
			}
		}
	}
	// An answer for the session does not replace the question.
	g := bound(&contents{})
	a := outsideOf(workspace, "docker ps")
	if _, err := g.Settle(mustAsk(t, g, a), Answer{Decision: OutsideSession}); err != nil {
		t.Fatal(err)
	}
	if permit, _, _ := g.Decide(a); !permit.minted {
		t.Error("the answer for the session is not remembered")
	}
	if permit, q, err := g.Decide(a, why); permit.minted || q == nil || err != nil {
		t.Errorf("a hook's question is skipped: %v", err)
	}
	// Nor does a hook open what is refused.
	if _, q, err := newGate(OnRequest, confined()).Decide(wishing("x", []string{"/a\nb"}), why); q != nil || err == nil || strings.Contains(err.Error(), why) {
		t.Errorf("%+v, %v", q, err)
	}
}

// TestWhatAYesApplies: a yes applies the text of every action but of a command that would run in
// the sandbox without the question about its grant.
func TestWhatAYesApplies(t *testing.T) {
	npm, known := wishing("npm i", []string{"/home/u/.npm"}), wishing("ls", []string{"/home/u/.npm"})
	for name, c := range map[string]struct {
		mode      Mode
		action    Action
		asks      []string
		grantOnly bool
	}{
		"a command with a grant":        {OnRequest, npm, nil, true},
		"a known command, asked first":  {Untrusted, known, nil, true},
		"a command that is asked first": {Untrusted, npm, nil, false},
		"the same without a grant":      {Untrusted, command("make", Wish{}), nil, false},
		"one that a hook asks about":    {OnRequest, npm, []string{"hook"}, false},
		"one that leaves":               {OnRequest, outsideOf(workspace, "docker ps"), nil, false},
		"one with both wishes":          {OnRequest, command("x", Wish{Write: []string{"/srv/data"}, Unsandboxed: true, Justification: "j"}), nil, false},
		"a push that overwrites":        {OnRequest, command("git push -f", Wish{Hosts: []string{"git.example:22"}, Justification: "publish"}), nil, false},
		"an edit outside":               {OnRequest, edit("/srv/data/x"), nil, false},
		"an edit that is asked first":   {Untrusted, edit("a.go"), nil, false},
	} {
		g := newGate(c.mode, confined(), func(o *Options) { o.GrantsHosts = true })
		_, q, err := g.Decide(c.action, c.asks...)
		if err != nil || q == nil || q.GrantOnly != c.grantOnly {
			t.Errorf("%s: %+v, %v", name, q, err)
		}
	}
}
