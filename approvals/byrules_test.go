package approvals

import (
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/approvals/rules"
	"codeagent/sandbox"
)

func withRules(t *testing.T, text string) func(*Options) {
	t.Helper()
	list, err := rules.Parse("rules.toml", []byte(text), "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	return func(o *Options) { o.Rules, o.GrantsHosts = rules.Join(list), true }
}

// TestRulesAnswerHeldCalls: what a rule allows or forbids is not asked about while a command
// waits.
func TestRulesAnswerHeldCalls(t *testing.T) {
	g := newGate(OnRequest, confined(), func(o *Options) { o.Rules, o.GrantsHosts = tableRules(t), true })
	for _, c := range []struct {
		d    sandbox.Denial
		want string
	}{
		{sandbox.Denial{Kind: sandbox.KindWrite, Target: "/home/u/notes/a"}, "run"},
		{sandbox.Denial{Kind: sandbox.KindWrite, Target: "/home/u/private/a"}, "refuse"},
		{sandbox.Denial{Kind: sandbox.KindWrite, Target: "/srv/data/a"}, "ask"},
		{sandbox.Denial{Kind: sandbox.KindNetwork, Target: "open.example:443"}, "run"},
		{sandbox.Denial{Kind: sandbox.KindNetwork, Target: "shut.example:443"}, "refuse"},
		{sandbox.Denial{Kind: sandbox.KindNetwork, Target: "other.example:443"}, "ask"},
	} {
		grant, r, err := g.DecideHeld(command("tool", Wish{}), c.d, HeldAnswers{})
		got := "run"
		switch {
		case r != nil:
			got = "ask"
		case err != nil:
			got = "refuse"
		}
		if got != c.want || (got == "run") == grant.Empty() {
			t.Errorf("%s %s: %s with %+v (%v), want %s", c.d.Kind, c.d.Target, got, grant, err, c.want)
		}
		if got == "refuse" && !strings.Contains(err.Error(), "rules.toml:") {
			t.Errorf("%s: the refusal does not name the rule: %v", c.d.Target, err)
		}
	}
}

// TestARuleOpensForItsCommandAlone: another command, another part of the line and an expired
// rule do not get what a rule opens, and no rule opens what nobody could grant.
func TestARuleOpensForItsCommandAlone(t *testing.T) {
	const text = `
[[command]]
words = ["npm", "ci"]
decision = "allow"
write = ["~/.npm"]
hosts = ["registry.npmjs.org:443"]

[[command]]
words = ["echo", "x"]
decision = "allow"

[[command]]
words = ["bad", "one"]
decision = "allow"
write = ["~/.config/codeagent/config.toml"]

[[command]]
words = ["old", "one"]
decision = "allow"
write = ["~/.npm"]
expires = 2026-01-31
`
	now := func(o *Options) { o.Now = func() time.Time { return time.Date(2026, 2, 1, 12, 0, 0, 0, time.Local) } }
	g := newGate(OnRequest, confined(), withRules(t, text), now)
	for _, c := range []struct {
		command string
		opened  bool
	}{
		{"npm ci", true}, {"npm ci --silent", true}, {"cd web && npm ci", true}, {"npm ci 2>&1", true},
		{"npm install", false}, {"npm ci && echo x", false}, {"npm ci $X", false}, {"A=1 npm ci", false}, {"npm ci > log", false}, {"old one", false}, {"bad one", false},
	} {
		a := command(c.command, Wish{})
		p, _, err := g.Decide(a)
		policy := mustPolicy(t, p, err, a)
		writes := policy.JudgeWrite("/home/u/.npm/x").Allowed
		if writes != c.opened || policy.JudgeWrite("/home/u/.config/codeagent/config.toml").Allowed || policy.Unconfined {
			t.Errorf("%s: may write ~/.npm: %v, want %v; %+v", c.command, writes, c.opened, policy.Write)
		}
		reaches := slices.Contains(policy.Network.Hosts, sandbox.HostPort{Host: "registry.npmjs.org", Port: 443})
		if reaches != c.opened {
			t.Errorf("%s: may reach the registry: %v, want %v", c.command, reaches, c.opened)
		}
	}
	// A folder of PATH that commands can change: another npm could stand there.
	g = newGate(OnRequest, confined(), withRules(t, text), now, func(o *Options) { o.Path = []string{workspace + "/bin", "/usr/bin"} })
	a := command("npm ci", Wish{})
	p, _, err := g.Decide(a)
	if mustPolicy(t, p, err, a).JudgeWrite("/home/u/.npm/x").Allowed {
		t.Error("a program from the workspace gets what the rule opens")
	}
}

// TestARuleThatLetsOut: only the model's wish makes the command leave the sandbox, and not once
// the session has made a git directory.
func TestARuleThatLetsOut(t *testing.T) {
	const text = "[[command]]\nwords = [\"docker\", \"build\"]\ndecision = \"allow\"\nunsandboxed = true\n"
	made := []string{}
	g := newGate(OnRequest, confined(), withRules(t, text), func(o *Options) { o.MadeGit = func() []string { return slices.Clone(made) } })
	out := func(command_ string, wish bool) bool {
		a := command(command_, Wish{Unsandboxed: wish})
		p, r, err := g.Decide(a)
		if r != nil {
			return false
		}
		return mustPolicy(t, p, err, a).Unconfined
	}
	for _, c := range []struct {
		command    string
		wish, want bool
	}{{"docker build .", true, true}, {"docker build .", false, false}, {"docker run x", true, false}, {"docker build . && ls", true, false}, {"cd x && docker build .", true, false}} {
		if got := out(c.command, c.wish); got != c.want {
			t.Errorf("%s, asked for outside: %v: outside %v, want %v", c.command, c.wish, got, c.want)
		}
	}
	made = []string{workspace + "/.git"}
	if out("docker build .", true) {
		t.Error("it leaves the sandbox although the session made a git directory")
	}
}
