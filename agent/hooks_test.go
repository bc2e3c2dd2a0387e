package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/hooks"
	"codeagent/sandbox"
	"codeagent/tools"
)

// hookedBy gives r one hook for each event of says, which prints that.
func hookedBy(t *testing.T, r rig, says map[hooks.Event]string) *[]string {
	t.Helper()
	var mu sync.Mutex
	var ran []string
	o := hooks.Options{Run: func(_ context.Context, h hooks.Hook, _ sandbox.Policy, stdin []byte) hooks.Exit {
		mu.Lock()
		defer mu.Unlock()
		if !json.Valid(stdin) {
			t.Errorf("not JSON: %s", stdin)
		}
		ran = append(ran, string(h.Event)+" "+string(stdin))
		if says[h.Event] == "panic" {
			panic("oops")
		}
		return hooks.Exit{Stdout: []byte(says[h.Event])}
	}}
	for _, e := range hooks.Events() {
		if says[e] == "" {
			continue
		}
		h, err := hooks.Hook{Event: e, Command: "check"}.Compile()
		if err != nil {
			t.Fatal(err)
		}
		o.Hooks = append(o.Hooks, h)
	}
	r.cfg.Hooks = hooks.New(o)
	return &ran
}

// TestHooksTighten: what hooks can do to a call that would run, and to one that a person would be
// asked about. No answer of a hook makes a call run.
func TestHooksTighten(t *testing.T) {
	const deny, ask, allow = `{"decision": "deny", "reason": "because"}`, `{"decision": "ask", "reason": "sure?"}`, `{"decision": "allow"}`
	const words = `{"additionalContext": "mind the gap"}`
	for name, c := range map[string]struct {
		says  map[hooks.Event]string
		wants bool               // the call wants more than the sandbox allows
		ans   approvals.Decision // of the person
		runs  bool
		asked int
		model string // part of what the model reads
	}{
		"nothing":              {nil, false, approvals.Deny, true, 0, "did it"},
		"deny":                 {map[hooks.Event]string{hooks.BeforeTool: deny}, false, approvals.Once, false, 0, "because"},
		"panic":                {map[hooks.Event]string{hooks.BeforeTool: "panic"}, false, approvals.Once, false, 0, "bug: oops"},
		"ask, yes":             {map[hooks.Event]string{hooks.BeforeTool: ask}, false, approvals.Once, true, 1, "did it"},
		"ask, no":              {map[hooks.Event]string{hooks.BeforeTool: ask}, false, approvals.Deny, false, 1, "said no"},
		"allow, no":            {map[hooks.Event]string{hooks.BeforeTool: allow, hooks.Question: allow}, true, approvals.Deny, false, 1, "said no"},
		"allow, yes":           {map[hooks.Event]string{hooks.BeforeTool: allow}, true, approvals.Once, true, 1, "did it"},
		"deny a wish":          {map[hooks.Event]string{hooks.BeforeTool: deny}, true, approvals.Once, false, 0, "because"},
		"deny the question":    {map[hooks.Event]string{hooks.Question: deny}, true, approvals.Once, false, 0, "a hook refused this, and the user was not asked: hook check (): because"},
		"no question, no deny": {map[hooks.Event]string{hooks.Question: deny}, false, approvals.Once, true, 0, "did it"},
		"words":                {map[hooks.Event]string{hooks.BeforeTool: words, hooks.AfterTool: words}, false, approvals.Once, true, 0, "did it\n[hook check () adds:]\n| mind the gap\n[hook check () adds:]\n| mind the gap"},
		"too late":             {map[hooks.Event]string{hooks.AfterTool: deny}, false, approvals.Once, true, 0, "A hook objects to what this call did:]\n| hook check (): because"},
	} {
		t.Run(name, func(t *testing.T) {
			ran := false
			d := npm(approvals.Wish{})
			if c.wants {
				d = npm(writes("/home/u/.npm"))
			}
			d.run = func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
				ran = true
				return tools.Result{Outcome: word.OK, Text: "did it"}, nil
			}
			r := newRig(approvals.OnRequest, toolbox{"shell": d}, play(call("1", "shell")))
			r.cfg.Attended = true
			r.face.ask = yes(c.ans)
			hookedBy(t, r, c.says)
			if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
				t.Fatal(err)
			}
			if text := dump(r.check(t)); ran != c.runs || len(r.face.asked) != c.asked || !strings.Contains(text, strings.Trim(strconv.Quote(c.model), `"`)) {
				t.Errorf("ran %v, asked %d times:\n%s", ran, len(r.face.asked), text)
			}
		})
	}
}

// TestHooksKeepDenials: the words about a denial and the question after it are the same, whatever
// the hooks say, and the hook gets what the kernel saw.
func TestHooksKeepDenials(t *testing.T) {
	d := npm(approvals.Wish{})
	d.run = func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
		return refusedWrite(sandbox.Certain), nil
	}
	var plain string
	for i, says := range []string{"", `{"decision": "approve", "suppressOutput": true, "additionalContext": "all is well"}`} {
		r := newRig(approvals.OnFailure, toolbox{"shell": d}, play(call("1", "shell")))
		r.cfg.Attended = true
		r.face.ask = yes(approvals.Deny)
		ran := hookedBy(t, r, map[hooks.Event]string{hooks.AfterTool: says})
		if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
			t.Fatal(err)
		}
		text := r.check(t)[2].Text
		if i == 0 {
			plain = text
			continue
		}
		if !strings.HasPrefix(text, strings.TrimRight(plain, "\n")) || !strings.Contains(text, "| all is well") || len(r.face.asked) != 1 {
			t.Errorf("%d questions, %s\nwithout hooks\n%s", len(r.face.asked), text, plain)
		}
		if len(*ran) != 1 || !strings.Contains((*ran)[0], `"denied":true`) || !strings.Contains((*ran)[0], "/home/u/.npm/x") {
			t.Errorf("%q", *ran)
		}
	}
}

// TestHooksOfPrompts: a message that is refused is not part of the conversation.
func TestHooksOfPrompts(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{}, play("Hello."))
	ran := hookedBy(t, r, map[hooks.Event]string{hooks.SessionStart: "the branch is frozen", hooks.Prompt: `{"decision": "block", "reason": "a key"}`})
	if err := r.Turn(t.Context(), Input{Text: "sk-1"}); !errors.Is(err, ErrHooked) || !strings.Contains(err.Error(), "a key") {
		t.Errorf("%v", err)
	}
	if end := told[event.TurnFinished](r.face); len(r.Agent.History()) != 0 || len(end) != 1 || end[0].Outcome != word.TurnFailed {
		t.Errorf("%s, %+v", dump(r.Agent.History()), end)
	}
	if len(*ran) != 2 || !strings.Contains((*ran)[1], `"prompt":"sk-1"`) {
		t.Errorf("%q", *ran)
	}
}

// TestHooksOfTheEnd: a hook can make a turn continue, but not for ever.
func TestHooksOfTheEnd(t *testing.T) {
	var list [][]any
	for i := range maxContinued + 2 {
		list = append(list, play(fmt.Sprintf("Done %d.", i)))
	}
	r := newRig(approvals.OnRequest, toolbox{}, list...)
	ran := hookedBy(t, r, map[hooks.Event]string{hooks.TurnEnd: `{"decision": "block", "reason": "run the tests"}`})
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(dump(r.Agent.History()), "| hook check (): run the tests"); n != maxContinued || len(*ran) != maxContinued+1 {
		t.Errorf("continued %d times after %d runs", n, len(*ran))
	}
	if strings.Contains((*ran)[0], "continued") || !strings.Contains((*ran)[1], `"continued":true`) {
		t.Errorf("%q", *ran)
	}
}
