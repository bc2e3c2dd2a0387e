package approvals

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"codeagent/sandbox"
)

func TestPermitIsForExactlyOneAction(t *testing.T) {
	g := newGate(OnRequest, confined())
	a := command("npm test", Wish{Write: []string{"."}, Justification: "why"})
	a.Server = &ServerCall{Server: "s"}
	p, _, err := g.Decide(a)
	mustPolicy(t, p, err, a)
	// Every field, present and future, is part of what was permitted.
	var change func(v reflect.Value, check func())
	change = func(v reflect.Value, check func()) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				change(v.Field(i), check)
			}
			return
		case reflect.String:
			old := v.String()
			v.SetString(old + "x")
			check()
			v.SetString(old)
		case reflect.Bool:
			v.SetBool(!v.Bool())
			check()
			v.SetBool(!v.Bool())
		case reflect.Slice:
			old := v.Interface()
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			check()
			v.Set(reflect.ValueOf(old))
		case reflect.Map:
			old := v.Interface()
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("x"), reflect.ValueOf("y"))
			check()
			v.Set(reflect.ValueOf(old))
		case reflect.Pointer:
			old := v.Interface()
			change(v.Elem(), check)
			v.SetZero()
			check()
			v.Set(reflect.ValueOf(old))
		case reflect.Int, reflect.Int64:
			v.SetInt(v.Int() + 1)
			check()
			v.SetInt(v.Int() - 1)
		default:
			t.Fatalf("field of kind %s: how does a permit cover it?", v.Kind())
		}
	}
	b, checked := a.Clone(), 0
	change(reflect.ValueOf(&b).Elem(), func() {
		checked++
		if _, err := p.Policy(b); !errors.Is(err, ErrNoPermit) {
			t.Errorf("permit for %+v also let %+v run", a, b)
		}
	})
	if checked < 40 {
		t.Errorf("only %d fields were changed", checked)
	}
	if _, err := (Permit{}).Policy(a); !errors.Is(err, ErrNoPermit) {
		t.Error("the zero permit permits something")
	}
	if _, err := (Permit{}).Policy(Action{}); !errors.Is(err, ErrNoPermit) {
		t.Error("the zero permit permits the zero action")
	}
	// Splitting a list differently is another action.
	c := command("x", Wish{Write: []string{"a b"}})
	q, _, _ := g.Decide(c)
	d := command("x", Wish{Write: []string{"a", "b"}})
	if _, err := q.Policy(d); err == nil {
		t.Error("two lists are one to the permit")
	}
}

func TestPermitDoesNotShareItsPolicy(t *testing.T) {
	g := newGate(OnRequest, confined())
	a := command("x", Wish{})
	p, _, err := g.Decide(a)
	pol := mustPolicy(t, p, err, a)
	pol.Write[0].Path, pol.DenyRead[0] = "/", "/nothing"
	if again := mustPolicy(t, p, nil, a); again.Write[0].Path != workspace || again.DenyRead[0] != "/home/u/.ssh" {
		t.Errorf("a caller changed the permit's policy: %+v, %v", again.Write, again.DenyRead)
	}
	if g.Base().Write[0].Path != workspace {
		t.Error("a caller changed the gate's policy")
	}
}

func TestOnceOpensWhatWasShownOnce(t *testing.T) {
	g := newGate(OnRequest, confined())
	a := command("npm i", Wish{Write: []string{"~/.npm"}})
	r := mustAsk(t, g, a)
	p, err := g.Settle(r, Answer{Decision: Once, Reason: "fine"})
	pol := mustPolicy(t, p, err, a)
	if pol.Unconfined || !pol.JudgeWrite("/home/u/.npm/_cacache/x").Allowed || pol.JudgeWrite("/home/u/.npmrc").Allowed {
		t.Errorf("policy %+v", pol)
	}
	mustAsk(t, g, a)
	if _, err := g.Settle(r, Answer{Decision: Once}); err == nil {
		t.Error("a question was settled twice")
	}
}

func TestSessionIsBoundToWhatWasShown(t *testing.T) {
	g := newGate(OnRequest, confined())
	a := command("npm i", Wish{Write: []string{"~/.npm"}, Justification: "cache"})
	p, err := g.Settle(mustAsk(t, g, a), Answer{Decision: Session})
	mustPolicy(t, p, err, a)
	// The same folder, and paths below it, are not asked about again, with a wish or without.
	for _, w := range []Wish{{}, {Write: []string{"/home/u/.npm"}}, {Write: []string{"~/.npm/_cacache"}}} {
		b := command("npm ci", w)
		q, r, err := g.Decide(b)
		if r != nil {
			t.Fatalf("asked again for %v", w)
		}
		if pol := mustPolicy(t, q, err, b); !pol.JudgeWrite("/home/u/.npm/y").Allowed {
			t.Error("the session's grant is gone")
		}
	}
	mustAsk(t, g, command("npm ci", Wish{Write: []string{"~/.npmrc"}}))
	mustAsk(t, g, command("npm ci", Wish{Write: []string{"~/.npm", "~/.npmrc"}}))
	mustAsk(t, g, command("npm i", Wish{Unsandboxed: true}))
	list := g.Ledger().List()
	if len(list) != 1 || list[0].Justification != "cache" || list[0].Outside || !slices.Equal(list[0].Grant.Write, []string{"/home/u/.npm"}) {
		t.Errorf("ledger %+v", list)
	}
}

func TestOutsideForTheSessionIsOneCommandInOneFolder(t *testing.T) {
	g := newGate(OnRequest, confined(), counted)
	at := func(folder, text string, w Wish) Action {
		a := command(text, w)
		a.Folder = folder
		return a
	}
	a := at("/srv", "docker ps", Wish{Unsandboxed: true})
	p, err := g.Settle(mustAsk(t, g, a), Answer{Decision: OutsideSession})
	if !mustPolicy(t, p, err, a).Unconfined {
		t.Fatal("not outside")
	}
	same := at("/srv", "docker ps", Wish{Unsandboxed: true, Justification: "again"})
	same.CallID = "c9"
	q, r, err := g.Decide(same)
	if r != nil || !mustPolicy(t, q, err, same).Unconfined {
		t.Errorf("the same command is not allowed outside the sandbox without a question: %+v, %v", r, err)
	}
	inside := at("/srv", "docker ps", Wish{})
	q, _, err = g.Decide(inside)
	if mustPolicy(t, q, err, inside).Unconfined {
		t.Error("ran outside though the model did not ask")
	}
	mustAsk(t, g, at("/srv", "docker ps -a", Wish{Unsandboxed: true}))
	mustAsk(t, g, at("/srv/data", "docker ps", Wish{Unsandboxed: true}))
	other := at("/srv", "docker ps", Wish{Unsandboxed: true})
	other.Argv = []string{"/bin/sh", "-c", "docker ps"}
	mustAsk(t, g, other)
}

func TestSessionInUntrusted(t *testing.T) {
	g := newGate(Untrusted, confined())
	a := command("npm test", Wish{})
	p, err := g.Settle(mustAsk(t, g, a), Answer{Decision: Session})
	mustPolicy(t, p, err, a)
	if q, r, err := g.Decide(a); r != nil || err != nil || !q.minted {
		t.Errorf("asked again: request %+v, error %v, minted %v", r, err, q.minted)
	}
	mustAsk(t, g, command("npm test && x", Wish{}))
	e := edit("main.go")
	p, err = g.Settle(mustAsk(t, g, e), Answer{Decision: Session})
	mustPolicy(t, p, err, e)
	if _, r, _ := g.Decide(edit(workspace + "/main.go")); r != nil {
		t.Error("the same file was asked again")
	}
	mustAsk(t, g, edit("main.go", "other.go"))
	// Permission to edit a file is not a permission for commands, and grants nothing.
	if len(g.Base().Write) != 1 {
		t.Errorf("write roots %v", g.Base().Write)
	}
}

func TestAnswersThatAreNo(t *testing.T) {
	for _, c := range []struct {
		name string
		ans  Answer
		want string
		stop bool
		hint string
	}{
		{"zero", Answer{}, "the user said no", false, ""},
		{"with a reason", Answer{Reason: "use pnpm"}, "the user said no: use pnpm", false, ""},
		{"no answer", Answer{Decision: Unanswered, Reason: "interrupted by the user"}, "no answer: interrupted by the user", false, ""},
		{"stop", Answer{Decision: Stop}, "stopped the turn", true, ""},
		{"nobody", Answer{Decision: Unattended}, "nobody could be asked", false, "codeagent exec --add-dir /home/u/.npm …"},
		{"unknown", Answer{Decision: "yes"}, "counts as no", false, ""},
		{"not offered", Answer{Decision: Outside}, "not offered", false, ""},
		{"more", Answer{Decision: Once, Grant: &sandbox.Grant{Write: []string{"/home/u"}}}, "more than the question showed", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGate(OnRequest, confined())
			r := mustAsk(t, g, command("npm i", Wish{Write: []string{"~/.npm"}}))
			p, err := g.Settle(r, c.ans)
			refusal, ok := AsRefusal(err)
			if !ok || p.minted {
				t.Fatalf("%v %v", p, err)
			}
			if !strings.Contains(refusal.Reason, c.want) || refusal.Stop != c.stop || refusal.Hint != c.hint {
				t.Errorf("%+v", refusal)
			}
			if len(g.Ledger().List()) != 0 {
				t.Error("a no was remembered")
			}
		})
	}
	g := newGate(OnRequest, confined())
	if _, err := g.Settle(nil, Answer{Decision: Once}); err == nil {
		t.Error("nothing asked, and permitted")
	}
	if _, err := g.Settle(&Request{ID: "q77"}, Answer{Decision: Once}); err == nil {
		t.Error("a foreign question was settled")
	}
}

// A face or a bug may change the request it carries: only what the gate asked is granted.
func TestAForgedRequestOpensNothing(t *testing.T) {
	g := newGate(OnRequest, confined())
	a := command("npm i", Wish{Write: []string{"~/.npm"}})
	r := mustAsk(t, g, a)
	forged := *r
	forged.Grant = sandbox.Grant{Write: []string{"/etc"}, Unsandboxed: true}
	forged.Action = command("rm -rf /", Wish{})
	forged.Options = []Option{{Key: "1", Decision: Outside}}
	r.Options[0] = Option{Decision: Outside}
	if _, err := g.Settle(&forged, Answer{Decision: Outside}); err == nil {
		t.Error("a forged option was taken")
	}
	forged.ID = mustAsk(t, g, a).ID
	p, err := g.Settle(&forged, Answer{Decision: Once})
	if _, err := p.Policy(forged.Action); err == nil {
		t.Error("a forged action may run")
	}
	if pol := mustPolicy(t, p, err, a); pol.JudgeWrite("/etc/hosts").Allowed || pol.Unconfined {
		t.Errorf("a forged grant was given: %+v", pol)
	}
}

func TestNarrowerGrant(t *testing.T) {
	shown := Wish{Write: []string{"~/.npm", "~/src/other"}, Read: []string{"~/.ssh"}}
	for _, c := range []struct {
		name string
		n    sandbox.Grant
		ok   bool
	}{
		{"all of it", sandbox.Grant{Write: []string{"/home/u/.npm", "/home/u/src/other"}, Read: []string{"/home/u/.ssh"}}, true},
		{"one of it", sandbox.Grant{Write: []string{"/home/u/.npm"}}, true},
		{"below it", sandbox.Grant{Write: []string{"/home/u/.npm/_cacache"}}, true},
		{"nothing of it", sandbox.Grant{}, true},
		{"dots out of it", sandbox.Grant{Write: []string{"/home/u/.npm/../.npmrc"}}, false},
		{"a link out of it", sandbox.Grant{Write: []string{"/home/u/.npm/out"}}, false},
		{"its neighbour", sandbox.Grant{Write: []string{"/home/u/.npmrc"}}, false},
		{"its parent", sandbox.Grant{Write: []string{"/home/u"}}, false},
		// Granting the folder leaves .envrc protected; naming it would open it.
		{"a protected file below it", sandbox.Grant{Write: []string{"/home/u/src/other/.envrc"}}, false},
		{"write instead of read", sandbox.Grant{Write: []string{"/home/u/.ssh"}}, false},
		{"a host", sandbox.Grant{Hosts: []sandbox.HostPort{{Host: "example.org", Port: 443}}}, false},
		{"a socket", sandbox.Grant{Sockets: []string{"/run/docker.sock"}}, false},
		{"outside", sandbox.Grant{Unsandboxed: true}, false},
		{"relative", sandbox.Grant{Write: []string{".npm"}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGate(OnRequest, confined())
			g.disk["/home/u/.npm/out"] = "->/etc"
			a := command("x", shown)
			p, err := g.Settle(mustAsk(t, g, a), Answer{Decision: Once, Grant: &c.n})
			if (err == nil) != c.ok {
				t.Fatalf("err %v, want ok %v", err, c.ok)
			}
			if err != nil {
				return
			}
			pol := mustPolicy(t, p, nil, a)
			if len(pol.Write) != 1+len(c.n.Write) || pol.Unconfined {
				t.Errorf("policy %+v", pol)
			}
		})
	}
}

// A folder granted for the session lets a command put a link where another
// grant's path was. The link must not inherit the grant.
func TestAGrantedPathThatBecameALinkIsClosed(t *testing.T) {
	g := newGate(OnRequest, confined())
	wish := Wish{Write: []string{"/srv/data", "/srv/data/x"}}
	a := command("x", wish)
	p, err := g.Settle(mustAsk(t, g, a), Answer{Decision: Session})
	mustPolicy(t, p, err, a)
	if n := len(g.Base().Write); n != 3 {
		t.Fatalf("%d roots", n)
	}
	g.disk["/srv/data/x"] = "->/etc"
	for _, root := range g.Base().Write {
		if root.Path == "/srv/data/x" {
			t.Error("the link is a write root: the backend would open /etc")
		}
	}
	b := command("y", Wish{Write: []string{"/srv/data/x/passwd"}})
	if r := mustAsk(t, g, b); r.Grant.Write[0] != "/etc/passwd" {
		t.Errorf("shown %v", r.Grant.Write)
	}
}

func TestAPathThatChangedWhileAskedIsRefused(t *testing.T) {
	g := newGate(OnRequest, confined())
	r := mustAsk(t, g, command("x", Wish{Write: []string{"/srv/data/x"}}))
	g.disk["/srv/data/x"] = "->/etc/passwd"
	if _, err := g.Settle(r, Answer{Decision: Once}); err == nil {
		t.Error("what was shown is not what would open")
	}
}

func TestGateIsSafeForConcurrentUse(t *testing.T) {
	var mu sync.Mutex
	n := 0
	g := newGate(OnRequest, confined(), func(o *Options) {
		o.NewID = func() string { mu.Lock(); defer mu.Unlock(); n++; return strings.Repeat("q", n) }
	})
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			a := command("npm i", Wish{Write: []string{"~/.npm"}})
			p, r, err := g.Decide(a)
			if r != nil {
				p, err = g.Settle(r, Answer{Decision: Session})
			}
			if _, bad := p.Policy(a); err != nil || bad != nil {
				t.Error(err, bad)
			}
		})
	}
	wg.Wait()
	if len(g.open.byID) != 0 {
		t.Errorf("%d questions are still open", len(g.open.byID))
	}
}

// TestAllEditsAreOfTheWorkspace: the answer covers later edits of files in the workspace. It covers
// no other files, protected files or commands.
func TestAllEditsAreOfTheWorkspace(t *testing.T) {
	g := newGate(Untrusted, confined())
	e := edit("main.go")
	p, err := g.Settle(mustAsk(t, g, e), Answer{Decision: AllEdits})
	mustPolicy(t, p, err, e)
	for file, asked := range map[string]bool{
		"main.go": false, "sub/new.go": false, workspace + "/other.go": false,
		".git/hooks/pre-commit": true, "../other/.envrc": true, "/etc/hosts": true, "out/x": true, // out is a link to /srv/data
	} {
		if _, r, err := g.Decide(edit(file)); (r != nil) != asked || err != nil {
			t.Errorf("edit of %s: asked %v, %v; want %v", file, r != nil, err, asked)
		}
	}
	if r := mustAsk(t, g, edit("main.go", "/etc/hosts")); len(r.Options) != 4 {
		t.Errorf("an edit outside the workspace offers %v", keys(r))
	}
	mustAsk(t, g, command("npm test", Wish{}))
	if len(g.Base().Write) != 1 {
		t.Errorf("write roots %v", g.Base().Write)
	}
	// Without a sandbox nothing in the workspace is protected.
	open := newGate(Untrusted, sandbox.Policy{Unconfined: true})
	r := mustAsk(t, open, e)
	if _, err := open.Settle(r, Answer{Decision: AllEdits}); err == nil {
		t.Errorf("offered without a sandbox: %s", keys(r))
	}
}

// TestAlwaysGrantsWhatWasShown: the rule opens everything that the question showed, so an answer
// that grants less cannot be always.
func TestAlwaysGrantsWhatWasShown(t *testing.T) {
	file := ""
	g := newGate(OnRequest, confined(), saves(t, &file))
	a := command("tool", Wish{Write: []string{"/srv/data/x", "/srv/data/y"}})
	less := sandbox.Grant{Write: []string{"/srv/data/x"}}
	if _, err := g.Settle(mustAsk(t, g, a), Answer{Decision: Always, Grant: &less}); err == nil || file != "" {
		t.Errorf("less than was shown: %v, saved %s", err, file)
	}
	all := sandbox.Grant{Write: []string{"/srv/data/x", "/srv/data/y"}}
	if _, err := g.Settle(mustAsk(t, g, a), Answer{Decision: Always, Grant: &all}); err != nil || file == "" {
		t.Errorf("all that was shown: %v, saved %s", err, file)
	}
}

// TestAForbidAnswersAnOpenQuestion: a yes does not override a forbid rule added while the question
// was open.
func TestAForbidAnswersAnOpenQuestion(t *testing.T) {
	g := newGate(OnRequest, confined())
	a := command("make all", Wish{Write: []string{"/srv/data/x"}})
	r := mustAsk(t, g, a)
	g.Ledger().ReplaceRules("rules.toml", parsed(t, "[[command]]\nwords = ['make']\ndecision = 'forbid'\nreason = 'not here'\n").Rules())
	if _, err := g.Settle(r, Answer{Decision: Session}); err == nil || !strings.Contains(err.Error(), "not here") || len(g.Ledger().List()) != 0 {
		t.Errorf("%v, open is %v", err, g.Ledger().List())
	}
}

// TestEditsOfTheFilesThatWereAskedAbout: a name that leads elsewhere since the question is not
// granted.
func TestEditsOfTheFilesThatWereAskedAbout(t *testing.T) {
	g := newGate(Untrusted, confined())
	g.disk[workspace+"/here"], g.disk[workspace+"/other.go"] = "->main.go", "f"
	r, same := mustAsk(t, g, edit("here")), mustAsk(t, g, edit("here"))
	g.disk[workspace+"/here"] = "->other.go"
	if _, err := g.Settle(r, Answer{Decision: Session}); err == nil || !strings.Contains(err.Error(), "became something else") {
		t.Errorf("a link that leads elsewhere: %v", err)
	}
	g.disk[workspace+"/here"] = "->main.go"
	if _, err := g.Settle(same, Answer{Decision: Session}); err != nil {
		t.Error(err)
	}
	g.disk[workspace+"/here"] = "->other.go"
	for name, want := range map[string]string{"main.go": "run", "other.go": "ask", "here": "ask"} {
		if got := outcome(g, edit(name)); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
