package tools

import (
	"context"
	"slices"
	"strings"
	"testing"

	"codeagent/approvals"
	"codeagent/sandbox"
)

// generous is a person who grants one folder to every held call.
type generous struct{ folder string }

func (generous) Asks(sandbox.Denial) bool { return true }

func (h generous) Hold(context.Context, sandbox.Denial) (sandbox.Grant, bool) {
	return sandbox.Grant{Write: []string{h.folder}}, true
}

// A command keeps what it was granted while it started, so the question about input to it
// includes these grants.
func TestTypingToWhatWasGrantedMoreSinceItStarted(t *testing.T) {
	for _, mode := range approvals.Modes() {
		t.Run(string(mode), func(t *testing.T) {
			p := confined(t, nil)
			p.withJobs()
			p.mode, p.answer, p.stage.Holder = mode, approvals.Answer{Decision: approvals.Once}, generous{p.out}
			p.ok("shell", args{"command": "cd " + p.out + "; echo one >one && echo ready; exec sh", "background": true, "wait_for": "ready", "yield_time_ms": longest})
			if got := p.read(p.out + "/one"); got != "one\n" {
				t.Fatalf("what was granted was not done: %q", got)
			}
			typing := args{"session_id": 1, "chars": "echo typed >two; echo done\n", "wait_for": "done", "yield_time_ms": longest}
			p.asked, p.answer = nil, approvals.Answer{Decision: approvals.Deny}
			_, err := p.do("write_stdin", typing)
			refusal, ok := approvals.AsRefusal(err)
			if !ok || p.read(p.out+"/two") != "(absent)" {
				t.Fatalf("typed without a yes: %v, and the file outside: %q", err, p.read(p.out+"/two"))
			}
			asked := refusal.Request // when the mode refuses
			if mode != approvals.Never {
				if len(p.asked) != 1 {
					t.Fatalf("asked %+v", p.asked)
				}
				asked = &p.asked[0]
			}
			if asked == nil || !slices.Equal(asked.Grant.Write, []string{p.out}) || !strings.Contains(strings.Join(asked.Warnings, " "), "more permissions than the sandbox") {
				t.Errorf("the question does not say what the command may: %+v", asked)
			}
			if mode == approvals.Never {
				return
			}
			p.answer = approvals.Answer{Decision: approvals.Once}
			p.ok("write_stdin", typing)
			if got := p.read(p.out + "/two"); got != "typed\n" {
				t.Errorf("with a yes: %q", got)
			}
		})
	}
}

// While a command starts it may be granted more than any question about an input
// could show by then.
func TestNothingIsTypedToWhatStillStarts(t *testing.T) {
	p := newPlace(t, nil)
	p.withJobs()
	var during error
	p.stage.Output = func(int64, []byte) {
		_, during = p.plan("write_stdin", args{"session_id": 1, "chars": "x\n"})
		if _, err := p.plan("write_stdin", args{"session_id": 1}); err != nil {
			t.Errorf("a look: %v", err)
		}
	}
	p.ok("shell", args{"command": "echo ready; cat", "background": true, "wait_for": "ready", "yield_time_ms": longest})
	if during == nil || !strings.Contains(during.Error(), "job 1 is still being started") {
		t.Errorf("while it started: %v", during)
	}
	p.stage.Output = nil
	p.ok("write_stdin", args{"session_id": 1, "chars": "x\n", "wait_for": "x", "yield_time_ms": longest})
}
