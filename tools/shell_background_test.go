package tools

import (
	"strings"
	"testing"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/exec"
	"codeagent/sandbox"
	"codeagent/undo"
)

// longest is a wait that only the command itself ends.
const longest = 60_000

func TestShellInTheBackground(t *testing.T) {
	p := newPlace(t, nil)
	p.withJobs()
	r := p.ok("shell", args{"command": "echo hello; read -r x; echo got $x; exit 3", "background": true, "wait_for": "hello", "yield_time_ms": longest})
	if r.Job != 1 || !r.Running || r.Outcome != word.OK || r.Text != "running in the background as job 1 (session_id 1)\noutput so far:\nhello\n" || r.Output != "hello\n" {
		t.Fatalf("%+v", r)
	}
	if r := p.ok("background", args{"action": "list"}); !strings.HasPrefix(r.Text, "job 1: running for ") || !strings.HasSuffix(r.Text, "6 bytes of output; in "+p.ws+": $ echo hello; read -r x; echo got $x; exit 3") {
		t.Errorf("list: %q", r.Text)
	}
	r = p.ok("write_stdin", args{"session_id": 1, "chars": "you\n", "wait_for": "never", "yield_time_ms": longest})
	if r.Job != 1 || r.Running || r.Exit != 3 || r.Message != "job 1 ended: exit status 3" || !strings.HasSuffix(r.Text, "new output:\ngot you\n") {
		t.Errorf("typed: %+v", r)
	}
	if _, err := p.do("write_stdin", args{"session_id": 1, "chars": "more\n"}); err != nil {
		t.Error(err)
	}
	r, err := p.do("write_stdin", args{"session_id": 1, "chars": "more\n"})
	if err != nil || !r.Failed || !strings.HasPrefix(r.Text, "Not typed: the command has ended.\njob 1 ended: exit status 3") {
		t.Errorf("typed to what has ended: %v, %q", err, r.Text)
	}
	if r := p.ok("background", args{"action": "list"}); !strings.HasPrefix(r.Text, "job 1: ended: exit status 3; ") {
		t.Errorf("list: %q", r.Text)
	}
}

func TestShellInTheBackgroundThatEndsAtOnce(t *testing.T) {
	p := newPlace(t, nil)
	p.withJobs()
	r, err := p.do("shell", args{"command": "echo hello; exit 3", "background": true, "wait_for": "never", "yield_time_ms": longest})
	if err != nil || r.Job != 0 || !r.Failed || r.Exit != 3 || !strings.HasPrefix(r.Text, "exit status 3 after ") || !strings.HasSuffix(r.Text, "output:\nhello\n") {
		t.Errorf("%v, %+v", err, r)
	}
	if r := p.ok("background", args{"action": "list"}); r.Text != "Nothing runs in the background." {
		t.Errorf("list: %q", r.Text)
	}
}

// TestEndOfAJob: the end of a background command is reported once, whether it ends during its call
// or after it.
func TestEndOfAJob(t *testing.T) {
	p := newPlace(t, nil)
	p.withJobs()
	ends := make(chan Result, 4)
	p.stage.Ended = func(r Result) { ends <- r }
	if r, err := p.do("shell", args{"command": "exit 3", "background": true, "wait_for": "never", "yield_time_ms": longest}); err != nil || r.Running {
		t.Fatalf("%v, %+v", err, r)
	}
	if r := <-ends; r.Exit != 3 || !r.Failed || r.Running {
		t.Errorf("at once: %+v", r)
	}
	if r := p.ok("shell", args{"command": "echo ready; read -r x", "background": true, "wait_for": "ready", "yield_time_ms": longest}); !r.Running || len(ends) != 0 {
		t.Fatalf("%+v", r)
	}
	p.ok("write_stdin", args{"session_id": 2, "chars": "x\n", "wait_for": "never", "yield_time_ms": longest})
	if r := <-ends; r.Exit != 0 || r.Failed {
		t.Errorf("later: %+v", r)
	}
	p.ok("shell", args{"command": "true"})
	if len(ends) != 0 {
		t.Error("reported again")
	}
}

func TestShellWithATerminal(t *testing.T) {
	p := newPlace(t, nil)
	p.withJobs()
	p.ok("shell", args{"command": `stty -echo; printf '\033[1mbold\033[0m 10%%\r20%%\rready\n'; read -r x; echo "got $x"; cat`, "background": true, "tty": true, "wait_for": "ready", "yield_time_ms": longest})
	r := p.ok("write_stdin", args{"session_id": 1, "chars": "you\n", "wait_for": "got you", "yield_time_ms": longest})
	if !strings.HasSuffix(r.Text, "new output:\ngot you\n") && !strings.HasSuffix(r.Text, "new output:\ngot you") {
		t.Errorf("%q", r.Text)
	}
	p.ok("write_stdin", args{"session_id": 1, "chars": "again\n", "wait_for": "again", "yield_time_ms": longest}) // cat is there
	r = p.ok("write_stdin", args{"session_id": 1, "chars": "\x03", "wait_for": "never", "yield_time_ms": longest})
	if r.Message != "job 1 ended: signal 2 (SIGINT)" && r.Message != "job 1 ended: exit status 130" {
		t.Errorf("Ctrl+C: %+v", r)
	}
}

func TestBackgroundKill(t *testing.T) {
	p := newPlace(t, nil)
	p.withJobs()
	p.ok("shell", args{"command": "echo ready; sleep 1000 & wait", "background": true, "wait_for": "ready", "yield_time_ms": longest})
	r := p.ok("background", args{"action": "kill", "session_id": 1})
	if r.Message != "job 1 ended: killed with all it had started" {
		t.Errorf("%+v", r)
	}
	if news := p.options.Jobs.News(); len(news) != 0 {
		t.Errorf("what the model ended itself is news: %+v", news)
	}
	for want, a := range map[string]args{
		`there is no job 2; there is 1`:                              {"action": "kill", "session_id": 2},
		`there is no job 0; there is 1`:                              {"action": "kill"},
		`the argument "action" must be "list" or "kill", not "stop"`: {"action": "stop"},
	} {
		if _, err := p.plan("background", a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", a, err)
		}
	}
}

func TestBackgroundArguments(t *testing.T) {
	p := newPlace(t, nil)
	if _, err := p.plan("shell", args{"command": "x", "background": true}); err == nil || !strings.Contains(err.Error(), "nothing can run in the background here") {
		t.Errorf("without jobs: %v", err)
	}
	p.withJobs()
	for want, a := range map[string]args{
		`go together with "background"`: {"command": "x", "tty": true},
		`must be positive, not -1`:      {"command": "x", "background": true, "yield_time_ms": -1},
		`at most 1000 are looked for`:   {"command": "x", "background": true, "wait_for": strings.Repeat("x", 1001)},
	} {
		if _, err := p.plan("shell", a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", a, err)
		}
	}
	if _, err := p.plan("write_stdin", args{"session_id": 1}); err == nil || !strings.Contains(err.Error(), "there is no job 1: nothing runs in the background") {
		t.Errorf("%v", err)
	}
	if _, err := p.plan("write_stdin", args{"session_id": 1, "chars": strings.Repeat("x", maxChars+1)}); err == nil || !strings.Contains(err.Error(), "write a file") {
		t.Errorf("%v", err)
	}
}

// The action contains what the gate needs to judge an input; a read is not an input.
func TestWriteStdinSaysWhatItTypesTo(t *testing.T) {
	p := newPlace(t, nil)
	p.withJobs()
	p.answer = approvals.Answer{Decision: approvals.Outside}
	p.ok("shell", args{"command": "cat", "background": true, "yield_time_ms": 1, "sandbox_permissions": "require_escalated", "justification": "j"})
	if len(p.asked) != 1 || !p.asked[0].Action.Background {
		t.Fatalf("asked %+v", p.asked)
	}
	c, err := p.plan("write_stdin", args{"session_id": 1, "chars": "rm -rf /\n"})
	if err != nil {
		t.Fatal(err)
	}
	a := c.Action()
	if a.Kind != word.KindInput || a.Input != "rm -rf /\n" || a.Running.ID != 1 || a.Running.Command != "cat" || !a.Running.Policy.Unconfined {
		t.Errorf("%+v", a)
	}
	p.answer = approvals.Answer{Decision: approvals.Deny}
	if _, err := p.do("write_stdin", args{"session_id": 1, "chars": "x\n"}); err == nil || len(p.asked) != 2 {
		t.Errorf("typed outside the sandbox without a yes: %v, asked %d", err, len(p.asked))
	}
	if r := p.ok("write_stdin", args{"session_id": 1, "yield_time_ms": 1}); r.Output != "" || len(p.asked) != 2 {
		t.Errorf("a look: %+v, asked %d", r, len(p.asked))
	}
	if c, err = p.plan("write_stdin", args{"session_id": 1}); err != nil || c.Action().Kind != word.KindWatch {
		t.Errorf("a look: %v", err)
	}
}

// settled is a change observer that records the end of a command.
type settled struct{ told chan struct{} }

func (settled) Unsaved(int, string, string) string { return "" }

func (settled) BeforeChange(int, string, string) {}
func (settled) Watch([]string)                   {}
func (settled) Made([]string)                    {}
func (settled) Lost(string, string)              {}
func (settled) Before() (*undo.Plan, bool)       { return nil, false }
func (s settled) Settle()                        { s.told <- struct{}{} }
func (settled) Changed() sandbox.Changes {
	return sandbox.Changes{List: []sandbox.Change{{Path: "/w/a", Kind: sandbox.Updated}}}
}

// Undo is notified of the end of a command that the turn has started.
func TestBackgroundSettlesAtItsEnd(t *testing.T) {
	p := newPlace(t, nil)
	p.withJobs()
	s := settled{told: make(chan struct{}, 2)}
	p.stage.kept = s
	p.ok("shell", args{"command": "echo ready; read -r x", "background": true, "wait_for": "ready", "yield_time_ms": longest})
	if len(s.told) != 0 {
		t.Error("it is over while it runs")
	}
	p.ok("write_stdin", args{"session_id": 1, "chars": "\n", "wait_for": "never", "yield_time_ms": longest})
	if len(s.told) != 1 {
		t.Errorf("told %d times that it is over", len(s.told))
	}
}

func TestUnread(t *testing.T) {
	many := strings.Repeat("line\n", 100)
	for name, tt := range map[string]struct {
		info exec.Info
		tail string
		want string
	}{
		"nothing":          {exec.Info{}, "read\n", ""},
		"after what is":    {exec.Info{Unread: 6}, "read\ngone\n\n", "gone"},
		"all, and more":    {exec.Info{Unread: 1000}, "kept\n", "kept"},
		"the last lines":   {exec.Info{Unread: 500}, many, strings.TrimSuffix(strings.Repeat("line\n", unreadLines), "\n")},
		"a long line":      {exec.Info{Unread: 1 << 20}, strings.Repeat("x", 1<<20), strings.Repeat("x", unreadBytes)},
		"of a terminal":    {exec.Info{Unread: 11, Terminal: true}, "\x1b[1mred\x1b[0m", "red"},
		"half a character": {exec.Info{Unread: 3}, "\xa4ok", "\uFFFDok"},
	} {
		if got := Unread(tt.info, []byte(tt.tail)); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
