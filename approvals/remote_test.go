package approvals

import (
	"slices"
	"strings"
	"testing"
)

// TestOverwritingPush: the question says what is lost, and a yes applies once.
func TestOverwritingPush(t *testing.T) {
	for _, host := range []string{"", "git.example:22"} {
		g := newGate(OnRequest, confined(), func(o *Options) { o.GrantsHosts = true })
		wish := Wish{Justification: "publish the rebased branch topic on git.example"}
		hint := "codeagent exec -c undo.unkept=allow …"
		if host != "" {
			wish.Hosts = []string{host}
			hint = "codeagent exec -c undo.unkept=allow --allow-host git.example:22 …"
		}
		a := command("cd x && git push -f origin topic", wish)
		_, r, err := g.Decide(a)
		if r == nil || err != nil {
			t.Fatal(r, err)
		}
		var answers []Decision
		for _, o := range r.Options {
			answers = append(answers, o.Decision)
		}
		if !slices.Equal(answers, []Decision{Once, Deny, Stop}) || !strings.HasPrefix(r.Title, "git push would overwrite") ||
			!strings.Contains(r.Title, host) || !strings.Contains(r.Warnings[0], "not even /undo") || len(r.Grant.Hosts) != len(wish.Hosts) {
			t.Errorf("%q: %+v", host, r)
		}
		if _, err := g.Settle(r, Answer{Decision: Session}); err == nil {
			t.Errorf("%q: a yes for the session was taken", host)
		}
		_, r, _ = g.Decide(a)
		_, err = g.Settle(r, Answer{Decision: Unattended})
		if refusal, ok := AsRefusal(err); !ok || refusal.Hint != hint || refusal.Request == nil {
			t.Errorf("%q: nobody there: %+v", host, err)
		}
		g.SetCommand("mcp", nil)
		_, r, _ = g.Decide(a)
		_, err = g.Settle(r, Answer{Decision: Unattended})
		elsewhere := strings.TrimSuffix(strings.Replace(hint, "codeagent exec", "codeagent mcp", 1), " …")
		if refusal, ok := AsRefusal(err); !ok || refusal.Hint != elsewhere {
			t.Errorf("%q: under another command: %+v", host, err)
		}
		a.Wish = Wish{Unsandboxed: true, Justification: wish.Justification}
		_, r, _ = g.Decide(a)
		_, err = g.Settle(r, Answer{Decision: Unattended})
		if refusal, ok := AsRefusal(err); !ok || !strings.HasPrefix(refusal.Hint, "codeagent mcp --ask-for-approval on-request") {
			t.Errorf("%q: outside, under another command: %+v", host, err)
		}
		a.Wish = wish
		g.SetCommand("", nil)
		g.SetMode(Never)
		_, _, err = g.Decide(a)
		if refusal, ok := AsRefusal(err); !ok || refusal.Hint != hint || refusal.Request == nil || !strings.Contains(refusal.Reason, "not even /undo") {
			t.Errorf("%q: under never: %+v", host, err)
		}
	}
}

// TestOverwritingPushIsAnswered: a rule that names the force option answers the question, and so
// does the setting. A general rule for pushes does not.
func TestOverwritingPushIsAnswered(t *testing.T) {
	const allow = "[[command]]\nwords = [\"git\", \"push\", [\"-f\", \"--force\"]]\ndecision = \"allow\"\n"
	for _, c := range []struct{ rules, command, want string }{
		{allow, "git push --force origin main", "run"},
		{allow, "cd x && git push -f", "run"},
		{allow, "git push -f && git push --delete origin x", "ask"},
		{allow, "git push origin --force", "ask"},
		{allow, "git push -f $x", "ask"},
		{strings.ReplaceAll(allow, `, ["-f", "--force"]`, ""), "git push --force", "ask"},
		{strings.ReplaceAll(allow, `, ["-f", "--force"]`, ""), "git push origin main", "run"},
		{strings.ReplaceAll(allow, "allow", "ask"), "git push --force", "ask"},
	} {
		for _, mode := range []Mode{OnRequest, OnFailure} {
			if got := decided(newGate(mode, confined(), withRules(t, c.rules)).Decide(command(c.command, Wish{}))); got != c.want {
				t.Errorf("%s: %q: %s, want %s", mode, c.command, got, c.want)
			}
		}
	}
	g := newGate(Never, confined(), func(o *Options) { o.Careless = true })
	if got := decided(g.Decide(command("git push -f", Wish{}))); got != "run" {
		t.Errorf("with undo.unkept=allow: %s", got)
	}
}
