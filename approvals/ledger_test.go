package approvals

import (
	"slices"
	"testing"
	"time"

	"codeagent/approvals/ledger"
	"codeagent/approvals/rules"
	"codeagent/sandbox"
)

// outcome is the result of Decide: "run", "ask" or "refuse".
func outcome(g world, a Action) string {
	_, q, err := g.Decide(a)
	switch {
	case err != nil:
		return "refuse"
	case q != nil:
		return "ask"
	}
	return "run"
}

// sayYes answers a question about a with yes for the session.
func sayYes(t *testing.T, g world, a Action, d Decision) {
	t.Helper()
	_, q, err := g.Decide(a)
	if err != nil || q == nil {
		t.Fatalf("%+v: no question (%v)", a, err)
	}
	if _, err := g.Settle(q, Answer{Decision: d}); err != nil {
		t.Fatal(err)
	}
}

func grants(o *Options) { o.GrantsHosts, o.GrantsSockets = true, true }

// TestRevoke: each grant is listed with its origin and counts its uses. After its revocation the
// next decision asks again. Other grants stay open.
func TestRevoke(t *testing.T) {
	for name, row := range map[string]struct {
		mode   Mode
		a      Action
		answer Decision
		lines  []string
	}{
		"a folder":              {OnRequest, command("x", Wish{Write: []string{"/srv"}}), Session, []string{"write /srv"}},
		"a host":                {OnRequest, command("x", Wish{Hosts: []string{"docs.example:443"}}), Session, []string{"network docs.example:443"}},
		"a fetch":               {OnRequest, fetch("docs.example:443"), Session, []string{"fetch docs.example:443"}},
		"exactly one command":   {Untrusted, command("make all", Wish{}), Session, []string{"run make all in " + workspace}},
		"files to edit":         {Untrusted, edit("a.go"), Session, []string{"edit " + workspace + "/a.go"}},
		"a command outside":     {OnRequest, command("date", Wish{Unsandboxed: true}), OutsideSession, []string{"run outside the sandbox date in " + workspace}},
		"a path closed to read": {OnRequest, command("x", Wish{Read: []string{"~/.ssh"}}), Session, []string{"read /home/u/.ssh"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(row.mode, confined(), grants, counted)
			if row.answer == OutsideSession {
				row.a.Folder = "/"
				row.lines = []string{"run outside the sandbox date in /"}
			}
			sayYes(t, g, row.a, row.answer)
			for range 2 {
				if got := outcome(g, row.a); got != "run" {
					t.Fatalf("after the yes: %s", got)
				}
			}
			all := g.Ledger().List()
			if len(all) != 1 || all[0].Origin != ledger.Question || all[0].Scope != ledger.Session || all[0].Source != "q1" || all[0].Uses != 2 || all[0].Made.IsZero() || !slices.Equal(all[0].Lines(nil), row.lines) {
				t.Fatalf("listed: %+v: %q", all, all[0].Lines(nil))
			}
			out, ok := g.Ledger().Revoke(all[0].ID)
			closed := all[0].Grant
			closed.Unsandboxed = row.answer == OutsideSession
			if !ok || !out.Still.Empty() || !slices.Equal(out.Closed.Lines(nil), closed.Lines(nil)) {
				t.Errorf("revoked: %v %+v", ok, out)
			}
			if got := outcome(g, row.a); got != "ask" || len(g.Ledger().List()) != 0 {
				t.Errorf("after the revocation: %s, %+v", got, g.Ledger().List())
			}
			if _, again := g.Ledger().Revoke(all[0].ID); again {
				t.Error("revoked twice")
			}
		})
	}
}

// TestRevokeWhatElseIsOpen: a revocation closes only what nothing else opens.
func TestRevokeWhatElseIsOpen(t *testing.T) {
	base := confined()
	base.Write = append(base.Write, sandbox.Root{Path: "/srv/data"})
	settings := func() []ledger.Setting {
		return []ledger.Setting{{Source: "--add-dir", With: base, Without: confined()}}
	}
	g := newGate(OnRequest, base, grants, func(o *Options) { o.Settings = settings })
	inside, beside := command("x", Wish{Write: []string{"/srv/data/a"}}), command("x", Wish{Write: []string{"/srv/b"}})
	sayYes(t, g, command("x", Wish{Write: []string{"/srv"}}), Session)
	list := g.Ledger().List()
	if len(list) != 2 || list[0].ID != "s1" || list[0].Origin != ledger.FromSetting || list[1].ID != "g1" {
		t.Fatalf("%+v", list)
	}
	if out, ok := g.Ledger().Revoke("s1"); !ok || !out.Closed.Empty() || !slices.Equal(out.Still.Write, []string{"/srv/data"}) {
		t.Errorf("the setting, with the answer around it: %v %+v", ok, out)
	}
	if outcome(g, inside) != "run" || outcome(g, beside) != "run" {
		t.Error("the answer does not hold any more")
	}
	if out, ok := g.Ledger().Revoke("g1"); !ok || !slices.Equal(out.Closed.Write, []string{"/srv"}) {
		t.Errorf("the answer: %v %+v", ok, out)
	}
	if outcome(g, inside) != "ask" || outcome(g, beside) != "ask" {
		t.Error("something is still open")
	}
}

// TestRevokeRule: after a rule is removed from its file, the next decision treats what it opened as
// closed.
func TestRevokeRule(t *testing.T) {
	parse := func(text string) *rules.Set {
		list, err := rules.Parse("rules.toml", []byte(text), "/home/u")
		if err != nil {
			t.Fatal(err)
		}
		return rules.Join(list)
	}
	const host, folder = "[[host]]\nhosts = [\"docs.example:443\"]\n", "[[path]]\npaths = [\"/srv/data\"]\naccess = \"write\"\n"
	g := newGate(OnRequest, confined(), grants, func(o *Options) { o.Rules = parse(host + folder) })
	a := command("x", Wish{Hosts: []string{"docs.example:443"}})
	if got := outcome(g, a); got != "run" {
		t.Fatal(got)
	}
	list := g.Ledger().List()
	if len(list) != 2 || list[1].Origin != ledger.Rule || list[1].Uses != 1 || list[0].Uses != 0 || list[1].Source != "rules.toml:1" {
		t.Fatalf("%+v", list)
	}
	closed := g.Ledger().SetRules(parse("\n" + folder)) // the other rule moved but is the same
	if !slices.Equal(closed.Lines(nil), []string{"network docs.example:443"}) || outcome(g, a) != "ask" {
		t.Errorf("closed %+v", closed)
	}
	if now := g.Ledger().List(); len(now) != 1 || now[0].ID != list[0].ID {
		t.Errorf("%+v", now)
	}
}

// TestRefresh: at the next decision removed rules end and new forbid rules apply. New allow rules
// do not apply.
func TestRefresh(t *testing.T) {
	const old, allow = "[[path]]\npaths = ['/srv/old']\naccess = 'write'\n", "[[path]]\npaths = ['/srv/new']\naccess = 'write'\n"
	const forbid = "[[command]]\nwords = ['make']\ndecision = 'forbid'\nreason = 'not here'\n"
	file := old
	var g world
	g = newGate(OnRequest, confined(), func(o *Options) {
		o.Rules = parsed(t, old)
		o.Refresh = func() {
			_, err := g.Ledger().DropRules("rules.toml", func() ([]*rules.Rule, error) { return parsed(t, file).Rules(), nil })
			if err != nil {
				t.Error(err)
			}
		}
	})
	before, held := command("x", Wish{Write: []string{"/srv/old"}}), sandbox.Denial{Kind: sandbox.KindWrite, Target: "/srv/old", Operation: "write"}
	if got := outcome(g, before); got != "run" {
		t.Fatal(got)
	}
	file = allow + forbid
	if _, q, err := g.DecideHeld(command("x", Wish{}), held, HeldAnswers{}); q == nil {
		t.Errorf("held, by a rule that was removed: %v", err)
	}
	for _, c := range []struct {
		a    Action
		want string
	}{{before, "ask"}, {command("x", Wish{Write: []string{"/srv/new"}}), "ask"}, {command("make all", Wish{}), "refuse"}} {
		if got := outcome(g, c.a); got != c.want {
			t.Errorf("%s %v: %s", c.a.Command, c.a.Wish.Write, got)
		}
	}
}

// TestExpiry: an expired answer is not listed and opens nothing.
func TestExpiry(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	g := newGate(OnRequest, confined(), func(o *Options) { o.Now = func() time.Time { return now } })
	g.Ledger().add(ledger.Entry{Expires: now.Add(time.Hour), Grant: sandbox.Grant{Write: []string{"/srv"}}})
	a := command("x", Wish{Write: []string{"/srv/a"}})
	if outcome(g, a) != "run" {
		t.Fatal("not open before its end")
	}
	now = now.Add(time.Hour)
	if outcome(g, a) != "ask" || len(g.Ledger().List()) != 0 {
		t.Error("open after its end")
	}
}

// TestBeyond: the list for a running command has exactly what a new command would not get.
func TestBeyond(t *testing.T) {
	g := newGate(OnRequest, confined(), grants)
	sayYes(t, g, command("x", Wish{Write: []string{"/srv"}}), Session)
	once := sandbox.Grant{Hosts: []sandbox.HostPort{manual, other}}
	started := g.Base().With(once)
	held := sandbox.Grant{Sockets: []string{"/run/s"}}
	lines := func(revoked ...sandbox.Grant) (out []string) {
		var back []sandbox.Revocation
		for _, gr := range revoked {
			back = append(back, g.Ledger().Closing(gr))
		}
		for _, e := range g.Ledger().Beyond(started, []sandbox.Grant{held}, back) {
			out = append(out, e.Lines(nil)...)
		}
		return out
	}
	ids := func(revoked ...sandbox.Revocation) (out []string) {
		for _, e := range g.Ledger().Beyond(started, []sandbox.Grant{held}, revoked) {
			out = append(out, e.ID)
		}
		return out
	}
	if all := ids(); len(all) != 3 || all[0] == all[1] || all[1] == all[2] || !slices.Equal(ids(g.Ledger().Closing(sandbox.Grant{Hosts: []sandbox.HostPort{manual}})), all[1:]) {
		t.Errorf("the IDs are %q", all)
	}
	if got := lines(); !slices.Equal(got, []string{"network docs.example:443", "network other.example:443", "socket /run/s"}) {
		t.Errorf("%q", got)
	}
	if got := lines(sandbox.Grant{Hosts: []sandbox.HostPort{manual}}, held); !slices.Equal(got, []string{"network other.example:443"}) {
		t.Errorf("after a revocation: %q", got)
	}
	if got := g.Ledger().Beyond(sandbox.FullAccess(), nil, nil); got != nil {
		t.Errorf("without a sandbox: %+v", got)
	}
}

// TestRevokeFetchOrHost: a setting for fetches and a setting for commands are revoked separately.
func TestRevokeFetchOrHost(t *testing.T) {
	base := confined()
	base.Network = sandbox.Network{Mode: sandbox.NetworkAllow, Hosts: []sandbox.HostPort{manual}}
	narrow := confined()
	narrow.Network.Mode = sandbox.NetworkAllow
	make := func() world {
		return newGate(OnRequest, base, grants, func(o *Options) {
			o.Fetch = []sandbox.HostPort{manual}
			o.Settings = func() []ledger.Setting {
				return []ledger.Setting{{Source: "allow_hosts", With: base, Without: narrow}, {Source: "allow_fetch", Fetch: o.Fetch}}
			}
		})
	}
	inCommand, page := command("x", Wish{Hosts: []string{"docs.example:443"}}), fetch("docs.example:443")
	for id, want := range map[string][2]string{"s1": {"ask", "run"}, "s2": {"run", "run"}} { // fetches may use the hosts of commands
		g := make()
		if _, ok := g.Ledger().Revoke(id); !ok {
			t.Fatal(id)
		}
		if got := [2]string{outcome(g, inCommand), outcome(g, page)}; got != want {
			t.Errorf("%s revoked: %v, want %v", id, got, want)
		}
	}
	g := make()
	g.Ledger().Revoke("s1")
	g.Ledger().Revoke("s2")
	if outcome(g, inCommand) != "ask" || outcome(g, page) != "ask" {
		t.Error("something is open after both")
	}
}

// TestRevisions: a policy records which revocations it takes into account. A command that starts
// under an older policy loses what was revoked since.
func TestRevisions(t *testing.T) {
	g := newGate(OnRequest, confined(), grants)
	a := command("x", Wish{Write: []string{"/srv/x"}})
	sayYes(t, g, a, Session)
	permit, _, err := g.Decide(a)
	before := mustPolicy(t, permit, err, a)
	out, _ := g.Ledger().Revoke("g1")
	closing := g.Ledger().Closing(out.Closed)
	permit, _, err = g.Decide(command("x", Wish{}))
	after := mustPolicy(t, permit, err, command("x", Wish{}))
	if before.Revision >= closing.Number || after.Revision < closing.Number || g.Open().Revision < closing.Number {
		t.Errorf("before %d, the revocation %d, after %d", before.Revision, closing.Number, after.Revision)
	}
}

// TestRevokeClosesBelow: a running command loses what a revoked answer, rule or setting opened, and
// keeps what is open otherwise.
func TestRevokeClosesBelow(t *testing.T) {
	const folder, file = "[[path]]\npaths = ['/srv']\naccess = 'write'\n", "[[path]]\npaths = ['/srv/kept']\naccess = 'write'\n"
	held := func(g world, p string) sandbox.Grant {
		t.Helper()
		out, ok := g.Granted(command("y", Wish{}), sandbox.Denial{Kind: sandbox.KindWrite, Target: p, Operation: "write"}, nil)
		if !ok {
			t.Fatalf("%s is not open", p)
		}
		return out
	}
	for name, c := range map[string]struct {
		more   func(*Options)
		revoke func(world) sandbox.Grant
	}{
		"an answer": {func(*Options) {}, func(g world) sandbox.Grant {
			out, _ := g.Ledger().Revoke(g.Ledger().List()[1].ID)
			return out.Closed
		}},
		"a rule": {func(o *Options) { o.Rules = parsed(t, folder+file) }, func(g world) sandbox.Grant {
			closed, _ := g.Ledger().DropRules("rules.toml", func() ([]*rules.Rule, error) { return parsed(t, file).Rules(), nil })
			return closed
		}},
	} {
		base := confined()
		base.Write = append(base.Write, sandbox.Root{Path: "/srv/app"})
		g := newGate(OnRequest, base, grants, c.more)
		if name == "an answer" {
			sayYes(t, g, command("x", Wish{Write: []string{"/srv/kept"}}), Session)
			sayYes(t, g, command("x", Wish{Write: []string{"/srv"}}), Session)
		}
		started := g.Base()
		for _, p := range []string{"/srv/x", "/srv/kept"} {
			a := command("x", Wish{Write: []string{p}})
			permit, q, err := g.Decide(a)
			if q != nil || err != nil {
				t.Fatalf("%s: %v %v", name, q, err)
			}
			started = mustPolicy(t, permit, err, a).With(held(g, p)).With(sandbox.Grant{Write: sandbox.PathsOf(started.Write)})
		}
		left := started.Closed(g.Ledger().Closing(c.revoke(g)))
		for p, want := range map[string]bool{"/srv/x": false, "/srv/y": false, "/srv/kept": true, "/srv/app/z": true, workspace + "/main.go": true} {
			if !started.JudgeWrite(p).Allowed && p != "/srv/y" {
				t.Fatalf("%s: %s was not open", name, p)
			}
			if got := left.JudgeWrite(p).Allowed; got != want {
				t.Errorf("%s: %s open: %v", name, p, got)
			}
		}
	}
}
