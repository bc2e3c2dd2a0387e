package approvals

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"codeagent/approvals/decide"
	"codeagent/approvals/ledger"
	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/sandbox"
)

// saves gives a gate a rules.toml in memory.
func saves(t *testing.T, file *string) func(*Options) {
	t.Helper()
	return func(o *Options) {
		o.GrantsHosts = true
		if o.Rules == nil {
			o.Rules = parsed(t, *file)
		}
		o.Save = func(text string) ([]*rules.Rule, error) {
			*file += "\n" + text
			return parsed(t, *file).Rules(), nil
		}
	}
}

func parsed(t *testing.T, text string) *rules.Set {
	t.Helper()
	list, err := rules.Parse("rules.toml", []byte(text), "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	return rules.Join(list)
}

// label returns the label of the answer Always, or "" if it is not offered.
func label(r *Request) string {
	for _, o := range r.Options {
		if o.Decision == Always {
			return o.Label
		}
	}
	return ""
}

// TestAlways: after the answer always, neither this gate nor the next one asks the same again.
// Requests that differ are still asked about.
func TestAlways(t *testing.T) {
	fetch := func(host string) Action {
		return Action{CallID: "c", Tool: "fetch_url", Kind: word.KindFetch, Command: "https://" + host, Wish: Wish{Hosts: []string{host + ":443"}}}
	}
	for name, c := range map[string]struct {
		mode        Mode
		a           Action
		rule        string
		same, other []Action
	}{
		"a path": {OnRequest, command("tool", Wish{Write: []string{"/srv/data/x"}}), "access = 'write'",
			[]Action{command("another", Wish{Write: []string{"/srv/data/x"}})}, []Action{command("tool", Wish{Write: []string{"/srv/data"}}), command("tool", Wish{Write: []string{"/srv/data/y"}})}},
		"a host": {OnRequest, command("curl", Wish{Hosts: []string{"a.example:443"}}), "hosts = ['a.example:443']",
			[]Action{command("wget", Wish{Hosts: []string{"a.example:443"}}), fetch("a.example")}, []Action{command("curl", Wish{Hosts: []string{"a.example:80"}}), command("curl", Wish{Hosts: []string{"b.a.example:443"}})}},
		"a command": {Untrusted, command("npm test", Wish{}), "exact = true",
			[]Action{command("cd sub && npm test", Wish{})}, []Action{command("npm test x", Wish{}), command("npm run test", Wish{}), command("npm test > f", Wish{}), command("A=b npm test", Wish{})}},
		"a command and a path": {Untrusted, command("npm test", Wish{Write: []string{"/srv/data/x"}}), "exact = true",
			[]Action{command("npm test", Wish{Write: []string{"/srv/data/x"}})}, []Action{command("npm ci", Wish{Write: []string{"/srv/data/x"}})}},
		"a page": {Untrusted, fetch("a.example"), "access = 'fetch'",
			[]Action{fetch("a.example")}, []Action{fetch("b.example"), command("curl", Wish{Hosts: []string{"a.example:443"}})}},
	} {
		file := ""
		g := newGate(c.mode, confined(), saves(t, &file))
		_, r, err := g.Decide(c.a)
		if r == nil || r.Lasting == nil || label(r) == "" {
			t.Errorf("%s: not offered: %+v (%v)", name, r, err)
			continue
		}
		permit, err := g.Settle(r, Answer{Decision: Always})
		if _, refused := permit.Policy(c.a); err != nil || refused != nil {
			t.Errorf("%s: %v, %v", name, err, refused)
		}
		if !strings.Contains(file, c.rule) || !strings.Contains(file, "project = '"+workspace+"'") {
			t.Errorf("%s: saved %s", name, file)
		}
		for _, g := range []world{g, newGate(c.mode, confined(), saves(t, &file))} {
			for _, a := range append(c.same, c.a) {
				if got := decided(g.Decide(a)); got != "run" {
					t.Errorf("%s: %s %+v afterwards: %s", name, a.Command, a.Wish, got)
				}
			}
			for _, a := range c.other {
				if got := decided(g.Decide(a)); got != "ask" {
					t.Errorf("%s: %s %+v afterwards: %s", name, a.Command, a.Wish, got)
				}
			}
		}
		elsewhere := newGate(c.mode, confined(), saves(t, &file), func(o *Options) {
			o.Workspace = "/home/u/src/other"
		})
		if got := decided(elsewhere.Decide(c.a)); got != "ask" {
			t.Errorf("%s: in another project: %s", name, got)
		}
	}
}

// TestAlwaysWhileHeld: a held call proceeds, and so do similar calls of any command.
func TestAlwaysWhileHeld(t *testing.T) {
	file := ""
	g := newGate(OnRequest, confined(), saves(t, &file))
	d := sandbox.Denial{Kind: sandbox.KindWrite, Target: "/srv/data/x"}
	_, r, _ := g.DecideHeld(command("a", Wish{}), d, HeldAnswers{})
	if r == nil || label(r) == "" {
		t.Fatalf("not offered: %+v", r)
	}
	grant, err := g.SettleHeld(r, Answer{Decision: Always, Rule: strings.ReplaceAll(r.Lasting.Project, "project = '"+workspace+"'\n", "")})
	if err != nil || !slices.Equal(grant.Write, []string{d.Target}) || strings.Contains(file, "project") {
		t.Errorf("%+v, %v, saved %s", grant, err, file)
	}
	if _, ok := g.Granted(command("b", Wish{}), d, nil); !ok {
		t.Error("another command is asked about the same file")
	}
}

// TestAlwaysIsWithheld: Always is not offered if a rule would not answer the question, or would
// show less than it opens.
func TestAlwaysIsWithheld(t *testing.T) {
	for name, c := range map[string]struct {
		mode Mode
		a    Action
		why  string
	}{
		"outside":       {OnRequest, command("make", Wish{Unsandboxed: true}), "leave the sandbox"},
		"a socket":      {OnRequest, command("docker ps", Wish{Sockets: []string{"/run/docker.sock"}}), "socket"},
		"protected":     {OnRequest, command("tool", Wish{Write: []string{workspace + "/.git/hooks/pre-commit"}}), "protected"},
		"closed":        {OnRequest, command("tool", Wish{Read: []string{"/home/u/.ssh"}}), "deny_read"},
		"an ask":        {OnRequest, command("terraform apply", Wish{Write: []string{"/srv/data/x"}}), "no rule answers"},
		"an edit":       {Untrusted, Action{CallID: "c", Tool: "apply_patch", Kind: word.KindEdit, Folder: workspace, Paths: []string{"main.go"}}, ""},
		"edit outside":  {Untrusted, Action{CallID: "c", Tool: "apply_patch", Kind: word.KindEdit, Folder: workspace, Paths: []string{"/srv/data/x"}}, "no rule answers"},
		"a variable":    {Untrusted, command("rm $X", Wish{}), "expanded"},
		"a shell":       {Untrusted, command("bash -c 'make'", Wish{}), "bash"},
		"versions":      {Untrusted, command("python3.12 x.py", Wish{}), "python3.12"},
		"a wrapper":     {Untrusted, command("make && sudo make install", Wish{}), "sudo"},
		"git -c":        {Untrusted, command("git -c core.pager=x log", Wish{}), "git -c"},
		"find -exec":    {Untrusted, command(`find . -exec rm {} +`, Wish{}), "expanded"},
		"a local path":  {Untrusted, command("./build.sh", Wish{}), "folder"},
		"eval":          {Untrusted, command("eval make", Wish{}), "runs its arguments"},
		"builtin":       {Untrusted, command("export A=b", Wish{}), "more than start programs"},
		"many programs": {Untrusted, command("a && b && c && d", Wish{}), "4 programs"},
	} {
		file := "[[command]]\nwords = ['terraform']\ndecision = 'ask'\n"
		g := newGate(c.mode, confined(), saves(t, &file), func(o *Options) { o.GrantsSockets = true })
		_, r, err := g.Decide(c.a)
		if r == nil {
			t.Errorf("%s: no question: %v", name, err)
			continue
		}
		if got := strings.Join(r.Withheld, "; "); r.Lasting != nil || label(r) != "" || !strings.Contains(got, c.why) || c.why == "" && got != "" {
			t.Errorf("%s: withheld for %q, want %q", name, got, c.why)
		}
		before := file
		if _, err := g.Settle(r, Answer{Decision: Always, Rule: "[[path]]\npaths = ['/srv']\naccess = 'write'\n"}); err == nil || file != before {
			t.Errorf("%s: an answer that was not offered: %v, saved %s", name, err, file)
		}
	}
}

// TestAnEditedRule: an edited rule must answer the question, and must not open what no question can
// open.
func TestAnEditedRule(t *testing.T) {
	a := command("tool", Wish{Write: []string{"/srv/data/x"}})
	const ok = "[[path]]\npaths = ['/srv/data/x']\naccess = 'write'\n"
	for rule, want := range map[string]string{
		ok: "",
		"# mine\n[[path]]\npaths = ['/srv/data']\naccess = 'write'\nexpires = 2099-01-01\n": "",
		ok + "[[host]]\nhosts = ['a.example:443']\n":                                        "",
		ok + "expires = 2001-01-01\n":                                                       "no rule answers",
		ok + "project = '/srv'\n":                                                           "no rule answers",
		"[[path]]\npaths = ['/srv/data/x']\naccess = 'read'\n":                              "no rule answers",
		"[[path]]\npaths = ['/srv/data/y']\naccess = 'write'\n":                             "no rule answers",
		"[[path]]\npaths = ['/']\naccess = 'write'\n":                                       "root of the file system",
		"[[path]]\npaths = ['/home']\naccess = 'write'\n":                                   "home folder",
		"[[path]]\npath = ['/srv/data/x']\naccess = 'write'\n":                              "rule:2:1: unknown key path",
		"paths":     "rule:1:",
		"# nothing": "0 rules",
		ok + "[[path]]\npaths = ['" + workspace + "/.git/hooks']\naccess = 'write'\n": "protected",
		ok + "[[path]]\npaths = ['" + workspace + "/out']\naccess = 'write'\n":        "link",
		ok + "[[path]]\npaths = ['/home/u/.ssh']\naccess = 'read'\n":                  "deny_read",
		ok + "[[path]]\npaths = ['/home/u/.config/codeagent/x']\naccess = 'write'\n":  "codeagent itself",
		ok + "[[host]]\nhosts = ['169.254.169.254:80']\n":                             "169.254.169.254",
		ok + "[[host]]\nhosts = ['localhost:80']\n":                                   "this machine",
		ok + "[[command]]\nwords = ['python3']\ndecision = 'allow'\n":                 "python3",
		ok + "[[command]]\nwords = [['make', 'env'], 'all']\ndecision = 'allow'\n":    "env",
		ok + "[[command]]\nwords = ['make']\ndecision = 'forbid'\nreason = 'x'\n":     "only rules that allow",
		strings.Repeat(ok, 9):                  "9 rules",
		ok + "#" + strings.Repeat("x", 16<<10): "16 KiB",
	} {
		file := ""
		g := newGate(OnRequest, confined(), saves(t, &file))
		_, r, _ := g.Decide(a)
		checked := r.Lasting.Check(rule)
		_, settled := g.Settle(r, Answer{Decision: Always, Rule: rule})
		if got := decided(g.Decide(a)); (want == "") != (settled == nil) || (want == "") != (got == "run") || (want == "") != strings.Contains(file, strings.TrimSpace(rule)) {
			t.Errorf("%s: %v, then %s, saved %s", rule, settled, got, file)
		}
		for _, err := range []error{checked, settled} {
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", rule, err, want)
			}
		}
	}
}

// TestARuleThatCannotBeSaved: if saving fails, the yes counts for the session for the offered rule,
// and once for an edited rule. The question says so, and why.
func TestARuleThatCannotBeSaved(t *testing.T) {
	for rule, want := range map[string]struct {
		instead Decision
		next    string
	}{
		"": {Session, "run"},
		"[[path]]\npaths = ['/srv/data/x']\naccess = 'write'\nexpires = 2099-01-01\n": {Once, "ask"},
	} {
		g := newGate(OnRequest, confined(), func(o *Options) {
			o.Save = func(string) ([]*rules.Rule, error) { return nil, errors.New("no space left") }
		})
		a := command("tool", Wish{Write: []string{"/srv/data/x"}})
		_, r, _ := g.Decide(a)
		if rule == "" {
			rule = r.Lasting.Project
		}
		if _, err := g.Settle(r, Answer{Decision: Always, Rule: rule}); err != nil || r.Instead != want.instead || r.Unsaved != "no space left" {
			t.Errorf("%v, %q %q", err, r.Instead, r.Unsaved)
		}
		if got := decided(g.Decide(a)); got != want.next || g.ledger.rules.Load().Rules() != nil {
			t.Errorf("%s, under %v", got, g.ledger.rules.Load().Rules())
		}
	}
}

// TestAlwaysBesideARevocation: a rule that is revoked while another is saved does not come back,
// and the saved rule applies.
func TestAlwaysBesideARevocation(t *testing.T) {
	const old = "[[path]]\npaths = ['/srv/old']\naccess = 'write'\n"
	var writing sync.Mutex // stands for the lock of the file
	file, revoked := old, make(chan sandbox.Grant, 1)
	var g world
	g = newGate(OnRequest, confined(), func(o *Options) {
		o.Rules = parsed(t, old)
		o.Save = func(text string) ([]*rules.Rule, error) {
			writing.Lock()
			file += "\n" + text
			list := parsed(t, file).Rules()
			writing.Unlock()
			go func() {
				closed, err := g.Ledger().DropRules("rules.toml", func() ([]*rules.Rule, error) {
					writing.Lock()
					defer writing.Unlock()
					file = strings.TrimPrefix(file, old)
					return parsed(t, file).Rules(), nil
				})
				if err != nil {
					t.Error(err)
				}
				revoked <- closed
			}()
			select {
			case closed := <-revoked: // the revocation did not wait
				revoked <- closed
			case <-time.After(20 * time.Millisecond):
			}
			return list, nil
		}
	})
	a := command("tool", Wish{Write: []string{"/srv/data/x"}})
	sayYes(t, g, a, Always)
	if closed := <-revoked; !slices.Equal(closed.Write, []string{"/srv/old"}) {
		t.Errorf("closed %+v", closed)
	}
	if got := outcome(g, command("tool", Wish{Write: []string{"/srv/old"}})); got != "ask" {
		t.Errorf("what was revoked: %s, the rules are %v", got, g.ledger.rules.Load().Rules())
	}
	if got := outcome(g, a); got != "run" {
		t.Errorf("what was saved: %s", got)
	}
}

// TestRuled: a rule answers a question that was not asked yet, and no other question.
func TestRuled(t *testing.T) {
	file := ""
	g := newGate(OnFailure, confined(), saves(t, &file))
	a, other := command("tool", Wish{}), command("tool", Wish{Write: []string{"/srv/data/x", "/srv/data/y"}})
	v := sandbox.Verdict{Denied: true, Evidence: sandbox.EvidenceFull, Suggest: sandbox.Grant{Write: []string{"/srv/data/x"}}}
	first, second := g.AfterDenial(a, v, nil), g.AfterDenial(a, v, nil)
	_, third, _ := g.Decide(other)
	if _, ok := g.Ruled(first); ok {
		t.Error("no rule, and yet an answer")
	}
	if _, err := g.Settle(first, Answer{Decision: Always}); err != nil {
		t.Fatal(err)
	}
	permit, ok := g.Ruled(second)
	if p, err := permit.Policy(a); !ok || err != nil || !p.JudgeWrite("/srv/data/x").Allowed || p.JudgeWrite("/srv/data/y").Allowed {
		t.Errorf("not answered: %v, %v", ok, err)
	}
	if _, err := g.Settle(second, Answer{Decision: Once}); err == nil {
		t.Error("settled twice")
	}
	if _, ok := g.Ruled(third); ok {
		t.Error("a rule for one file answers a question about two")
	}
	if _, err := g.Settle(third, Answer{Decision: Once}); err != nil {
		t.Error(err)
	}
}

// TestTrialDecidesAlike: a copy of a gate that tries rules decides like the original, whatever was
// set since the start.
func TestTrialDecidesAlike(t *testing.T) {
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	wish := command("tool", Wish{Write: []string{"/srv/data/x"}})
	for name, set := range map[string]func(world){
		"nothing":       func(world) {},
		"read-only":     func(g world) { must(g.SetReadOnly(true)) },
		"opened again":  func(g world) { must(g.SetModel(ModelRules{ReadOnly: true})); must(g.SetReadOnly(false)) },
		"another model": func(g world) { must(g.SetModel(ModelRules{ReadOnly: true, MustJustify: true, NoOutside: true})) },
		"never":         func(g world) { g.SetMode(Never) },
		"untrusted":     func(g world) { g.SetMode(Untrusted) },
		"an answer":     func(g world) { sayYes(t, g, wish, Session) },
		"a revocation":  func(g world) { g.Ledger().Revoke("s1"); g.Ledger().Closing(sandbox.Grant{}) },
		"other rules": func(g world) {
			g.Ledger().ReplaceRules("rules.toml", parsed(t, "[[path]]\npaths = ['/srv/data']\naccess = 'write'\n").Rules())
		},
	} {
		base := confined()
		base.Write = append(base.Write, sandbox.Root{Path: "/srv/other"})
		g := newGate(OnRequest, base, grants, func(o *Options) {
			o.Settings = func() []ledger.Setting {
				return []ledger.Setting{{Source: "--add-dir", With: base, Without: confined()}}
			}
		})
		set(g)
		trial := func(a Action) decide.State {
			return g.state(g.ledger.at.names(a)...).With(g.ledger.rules.Load())
		}
		if now, then := g.Base(), trial(wish).Base(); !reflect.DeepEqual(now, then) {
			t.Errorf("%s: %+v is open, and %+v in the trial", name, now, then)
		}
		for _, a := range []Action{
			edit("main.go"), wish, command("tool", Wish{Write: []string{workspace, "/srv/other"}}), command("make", Wish{Unsandboxed: true}), fetch("a.example"),
		} {
			permit, _, _ := g.Decide(a)
			if now, then := permit.minted, trial(a).Decide(a, nil, decide.Sight{}).Runs; now != then {
				t.Errorf("%s: %s %+v: %t, and %t in the trial", name, a.Kind, a.Wish, now, then)
			}
		}
	}
}

// TestReadOnlyIsNotRuled: a question caused only by read-only needs an answer, or a rule about it.
func TestReadOnlyIsNotRuled(t *testing.T) {
	file := ""
	g := newGate(OnRequest, confined(), saves(t, &file))
	if err := g.SetReadOnly(true); err != nil {
		t.Fatal(err)
	}
	for _, a := range []Action{edit("main.go"), command("tool", Wish{Write: []string{workspace}}), typing("make\n", confined())} {
		r := mustAsk(t, g, a)
		if permit, ok := g.Ruled(r); ok {
			t.Errorf("%s: %+v without an answer", a.Kind, permit.policy.Write)
		}
		if r.Lasting == nil {
			continue
		}
		if err := r.Lasting.Check("[[path]]\npaths = ['/srv/data/x']\naccess = 'write'\n"); err == nil {
			t.Errorf("%s: a rule about something else counts as its answer", a.Kind)
		}
	}
}

// TestRuledGrantsWhatTheRulesOpen: a name may lead elsewhere since the question was made. Then its
// present target is granted or asked about, but never a target that nobody saw.
func TestRuledGrantsWhatTheRulesOpen(t *testing.T) {
	set := parsed(t, "[[path]]\npaths = ['/srv/data/x']\naccess = 'write'\n").Rules()
	g := newGate(OnFailure, confined())
	a := command("tool", Wish{Write: []string{"here"}})
	g.disk[workspace+"/here"] = "->/etc/hosts"
	asked := mustAsk(t, g, a)
	g.disk[workspace+"/here"] = "->/srv/data/x"
	g.Ledger().ReplaceRules("rules.toml", set)
	permit, ok := g.Ruled(asked)
	p, err := permit.Policy(a)
	if !ok || err != nil || p.JudgeWrite("/etc/hosts").Allowed || !p.JudgeWrite("/srv/data/x").Allowed {
		t.Errorf("a name that leads elsewhere: %v %v, write roots %v", ok, err, p.Write)
	}
	v := sandbox.Verdict{Denied: true, Evidence: sandbox.EvidenceFull, Suggest: sandbox.Grant{Write: []string{"/srv/data/x"}}}
	g = newGate(OnFailure, confined())
	after := g.AfterDenial(a, v, nil)
	g.disk["/srv/data/x"] = "->/etc/hosts"
	g.Ledger().ReplaceRules("rules.toml", set)
	if permit, ok := g.Ruled(after); ok {
		t.Errorf("a file that became a link: write roots %v", permit.policy.Write)
	}
}

// TestProtectedWhileReadOnly: a question names what is protected, and Always is not offered for it.
// This also holds if read-only closed its folder, or if an answer opened it for the session.
func TestProtectedWhileReadOnly(t *testing.T) {
	const hook, names = workspace + "/.git/hooks/pre-commit", workspace + "/sub/.envrc"
	rule := func(p string) string { return "[[path]]\npaths = ['" + p + "']\naccess = 'write'\n" }
	for _, p := range []string{hook, names} {
		file := ""
		g := newGate(OnRequest, confined(), saves(t, &file))
		if err := g.SetReadOnly(true); err != nil {
			t.Fatal(err)
		}
		r := mustAsk(t, g, command("x", Wish{Write: []string{p}}))
		said := func(w string) bool { return strings.Contains(w, "is protected") }
		if r.Lasting != nil || !slices.ContainsFunc(r.Warnings, said) || !slices.ContainsFunc(r.Withheld, said) {
			t.Errorf("%s: warnings %q, withheld %q", p, r.Warnings, r.Withheld)
		}
		g = newGate(OnRequest, confined(), saves(t, &file))
		sayYes(t, g, command("x", Wish{Write: []string{p}}), Session)
		other := mustAsk(t, g, command("x", Wish{Write: []string{"/srv/data/x"}}))
		if err := other.Lasting.Check(rule("/srv/data/x") + rule(p)); err == nil || !strings.Contains(err.Error(), "protected") {
			t.Errorf("%s: after an answer for the session: %v", p, err)
		}
	}
}
