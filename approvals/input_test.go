package approvals

import (
	"slices"
	"strings"
	"testing"

	"codeagent/approvals/decide"
	"codeagent/event/word"
	"codeagent/sandbox"
)

func typing(text string, p sandbox.Policy) Action {
	return Action{CallID: "c4", Tool: "write_stdin", Kind: word.KindInput, Input: text, Running: Running{ID: 2, Command: "FOO=1 bash -i", Policy: p}}
}

// TestInputSeesTheSharedTemp: input is asked about if its command may write the system's folders
// for temporary files and these are closed by now.
func TestInputSeesTheSharedTemp(t *testing.T) {
	base := confined()
	base.SharedTemp = true
	g := newGate(OnRequest, base)
	a := typing("make\n", base)
	a.Running.Policy.Write = nil
	if got := outcome(g, a); got != "run" {
		t.Errorf("open to all: %s", got)
	}
	if err := g.SetReadOnly(true); err != nil {
		t.Fatal(err)
	}
	if r := mustAsk(t, g, a); !slices.Contains(r.Grant.Write, "/tmp") {
		t.Errorf("it may write %v", r.Grant.Write)
	}
}

func TestInputShowsWhatIsTypedToWhatWithWhat(t *testing.T) {
	g := newGate(OnRequest, confined())
	p := confined().With(sandbox.Grant{Write: []string{"/srv/data"}, Hosts: []sandbox.HostPort{{Host: "a.example", Port: 443}}, Sockets: []string{"/run/docker.sock"}})
	r := mustAsk(t, g, typing("rm -rf ~\n\x1b[2J\u202e", p))
	if want := `type "rm -rf ~\n\x1b[2J\u202e" to job 2 (bash)`; r.Title != want {
		t.Errorf("title %q, want %q", r.Title, want)
	}
	if got := decide.GrantWords(r.Grant); got != "write /srv/data, reach a.example:443, use the socket /run/docker.sock" {
		t.Errorf("it is said to have: %s", got)
	}
	for _, o := range r.Options {
		if o.Decision == Session || o.Decision == Outside || o.Decision == OutsideSession {
			t.Errorf("offers %q for an input", o.Decision)
		}
	}
	outside := mustAsk(t, g, typing("ls\n", confined().With(sandbox.Grant{Unsandboxed: true})))
	if !outside.Grant.Unsandboxed || !strings.Contains(strings.Join(outside.Warnings, " "), "outside the sandbox") {
		t.Errorf("outside: %+v", outside)
	}
}

func TestInputIsAskedForEachTime(t *testing.T) {
	g := newGate(OnRequest, confined())
	a := typing("ls\n", confined().With(sandbox.Grant{Unsandboxed: true}))
	for range 2 {
		r := mustAsk(t, g, a)
		permit, err := g.Settle(r, Answer{Decision: Once, Grant: &r.Grant})
		if err != nil {
			t.Fatal(err)
		}
		if p := mustPolicy(t, permit, err, a); p.Unconfined {
			t.Error("the yes to an input opened the sandbox")
		}
		other := a
		other.Input = "rm -rf ~\n"
		if _, err := permit.Policy(other); err == nil {
			t.Error("the yes holds for other characters too")
		}
		other = a
		other.Running.ID = 3
		if _, err := permit.Policy(other); err == nil {
			t.Error("the yes holds for another command too")
		}
	}
	for _, d := range []Decision{Session, Outside, OutsideSession} {
		if permit, err := g.Settle(mustAsk(t, g, a), Answer{Decision: d}); err == nil || permit.minted {
			t.Errorf("the answer %q was taken", d)
		}
	}
	if _, err := g.Settle(mustAsk(t, g, a), Answer{Decision: Once, Grant: &sandbox.Grant{}}); err == nil {
		t.Error("less was granted to a command that has more")
	}
}

// An answer about a command does not apply to input typed to it.
func TestInputIsNoRememberedCommand(t *testing.T) {
	g := newGate(OnRequest, confined(), counted)
	start := Action{CallID: "c1", Tool: "shell", Kind: word.KindCommand, Command: "bash", Folder: "/srv", Background: true, Wish: Wish{Unsandboxed: true, Justification: "j"}}
	r := mustAsk(t, g, start)
	permit, err := g.Settle(r, Answer{Decision: OutsideSession})
	p := mustPolicy(t, permit, err, start)
	mustAsk(t, g, typing("ls\n", p))
	foreground := start
	foreground.Background = false
	mustAsk(t, g, foreground) // another action: this one cannot be typed to
	if _, again, err := g.Decide(start); again != nil || err != nil {
		t.Errorf("the very same command is asked for again: %v", err)
	}
}

func TestInputFollowsWhatHoldsNow(t *testing.T) {
	g := newGate(OnRequest, confined())
	wider := confined().With(sandbox.Grant{Write: []string{"/srv/data"}})
	start := Action{CallID: "c1", Tool: "shell", Kind: word.KindCommand, Command: "x", Folder: workspace, Wish: Wish{Write: []string{"/srv/data"}, Justification: "j"}}
	mustAsk(t, g, typing("a\n", wider))
	if _, err := g.Settle(mustAsk(t, g, start), Answer{Decision: Session}); err != nil {
		t.Fatal(err)
	}
	if _, r, err := g.Decide(typing("a\n", wider)); r != nil || err != nil {
		t.Errorf("asked about what is open to every command: %v", err)
	}
}

// What a held call of the command was granted since its start counts like its original
// policy, in every mode.
func TestInputSeesWhatWasGrantedSince(t *testing.T) {
	all := sandbox.Grant{Write: []string{"/srv/data"}, Read: []string{"/home/u/.ssh"}, Hosts: []sandbox.HostPort{{Host: "a.example", Port: 443}}, Sockets: []string{"/run/docker.sock"}}
	words := decide.GrantWords(all)
	for _, mode := range Modes() {
		g := newGate(mode, confined())
		a := typing("x\n", confined())
		a.Running.Granted = []sandbox.Grant{{Write: all.Write, Read: all.Read}, {Hosts: all.Hosts}, {Sockets: all.Sockets}}
		permit, r, err := g.Decide(a)
		if refusal, ok := AsRefusal(err); ok && mode == Never {
			r = refusal.Request
		}
		if r == nil || permit.minted || (err == nil) == (mode == Never) || decide.GrantWords(r.Grant) != words || len(r.Warnings) == 0 {
			t.Errorf("%s: %+v, %v", mode, r, err)
			continue
		}
		if mode == Never {
			continue
		}
		r.Action.Running.Granted[0].Write[0] = "/else" // a copy: the gate has its own
		permit, err = g.Settle(r, Answer{Decision: Once})
		if p := mustPolicy(t, permit, err, a); p.JudgeWrite("/srv/data/x").Allowed {
			t.Errorf("%s: the yes to an input opened what the command may", mode)
		}
		a.Running.Granted = nil
		if _, err := permit.Policy(a); err == nil {
			t.Errorf("%s: the yes holds for a command with other grants too", mode)
		}
	}
}

// A running command keeps what was granted for the session, even if the grant no longer
// applies to others: because its path leads elsewhere now, or the session is another.
func TestInputAsksForASessionGrantThatStandsNoMore(t *testing.T) {
	g := newGate(OnRequest, confined(), func(o *Options) { o.GrantsHosts = true })
	start := command("server", Wish{})
	start.Background = true
	a := typing("x\n", confined())
	for _, d := range []sandbox.Denial{{Kind: sandbox.KindWrite, Target: "/srv/data"}, {Kind: sandbox.KindNetwork, Target: "a.example:443"}} {
		_, r, err := g.DecideHeld(start, d, HeldAnswers{})
		if r == nil {
			t.Fatal(err)
		}
		grant, err := g.SettleHeld(r, Answer{Decision: Session})
		if err != nil {
			t.Fatal(err)
		}
		a.Running.Granted = append(a.Running.Granted, grant)
	}
	if _, r, err := g.Decide(a); r != nil || err != nil {
		t.Errorf("asked about what is open to every command: %+v %v", r, err)
	}
	g.disk["/srv/data"] = "->/etc"
	if got := decide.GrantWords(mustAsk(t, g, a).Grant); got != "write /srv/data" {
		t.Errorf("the folder became a link: %s", got)
	}
	if got := decide.GrantWords(mustAsk(t, newGate(OnRequest, confined()), a).Grant); got != "write /srv/data, reach a.example:443" {
		t.Errorf("another session: %s", got)
	}
}
