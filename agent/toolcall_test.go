package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/tools"
)

func npm(w approvals.Wish) deed { return deed{action: approvals.Action{Command: "npm i", Wish: w}} }

func writes(paths ...string) approvals.Wish {
	return approvals.Wish{Write: paths, Justification: "its cache"}
}

// refusedWrite returns a tool's result for a command that the sandbox denied a write.
func refusedWrite(confidence sandbox.Confidence) tools.Result {
	v := sandbox.Verdict{Denied: true, Confidence: confidence, Evidence: sandbox.EvidenceFull,
		Denials: []sandbox.Denial{{Kind: sandbox.KindWrite, Operation: "openat", Target: "/home/u/.npm/x", Program: "npm", Evidence: sandbox.EvidenceKernel, Count: 1}}}
	v.Suggest.Write = []string{"/home/u/.npm"}
	return tools.Result{Text: "EACCES", Failed: true, Outcome: word.Failed, Exit: 1, Verdict: v}
}

func yes(d approvals.Decision) func(context.Context, approvals.Request) (approvals.Answer, error) {
	return func(context.Context, approvals.Request) (approvals.Answer, error) {
		return approvals.Answer{Decision: d}, nil
	}
}

func answer1(a approvals.Answer, err error) func(context.Context, approvals.Request) (approvals.Answer, error) {
	return func(context.Context, approvals.Request) (approvals.Answer, error) { return a, err }
}

// Every path through toolcall.go, one row each.
func TestEveryBranchOfAToolCall(t *testing.T) {
	policySays := func(ctx context.Context, p sandbox.Policy, s tools.Stage) (tools.Result, error) {
		return tools.Result{Text: fmt.Sprintf("npm=%v unconfined=%v", p.JudgeWrite("/home/u/.npm/x").Allowed, p.Unconfined), Outcome: word.OK}, nil
	}
	refusedOnce := func(c sandbox.Confidence) func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
		return func(ctx context.Context, p sandbox.Policy, s tools.Stage) (tools.Result, error) {
			if p.Unconfined || p.JudgeWrite("/home/u/.npm/x").Allowed {
				return tools.Result{Text: "added 1 package", Outcome: word.OK}, nil
			}
			return refusedWrite(c), nil
		}
	}
	// A verdict from words alone is a guess.
	guessedOnce := func(ctx context.Context, p sandbox.Policy, s tools.Stage) (tools.Result, error) {
		r, err := refusedOnce(sandbox.Likely)(ctx, p, s)
		r.Verdict.Evidence = sandbox.EvidenceOutputOnly
		return r, err
	}
	narrower := approvals.Answer{Decision: approvals.Once}
	narrower.Grant = &sandbox.Grant{Write: []string{"/home/u/.npm"}}
	wider := narrower
	wider.Grant = &sandbox.Grant{Write: []string{"/etc"}}
	with := func(d deed, run func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error)) deed {
		d.run = run
		return d
	}
	for _, c := range []struct {
		name string
		mode approvals.Mode
		deed deed
		ask  func(context.Context, approvals.Request) (approvals.Answer, error)
		away bool // nobody is there
		// what the model reads, what it must not read, how the call ended, what was answered
		want, never, answered string
		outcome               word.Outcome
		refused               int
		turn                  word.TurnOutcome // "done" unless set
	}{
		{name: "plan: bad arguments", deed: deed{err: errors.New(`the argument "command" is missing`)}, want: `Not run: the argument "command" is missing`, outcome: "failed"},
		{name: "decide: permitted", deed: with(npm(approvals.Wish{}), policySays), want: "npm=false unconfined=false", outcome: "ok"},
		{name: "decide: impossible wish", deed: npm(writes("/")), want: "Not run: path \"/\" is the root", outcome: "refused"},
		{name: "decide: never", mode: approvals.Never, deed: npm(writes("/home/u/.npm")), want: "Not run: the approval policy is never", never: "[user]", outcome: "refused", answered: "refused", refused: 1},
		{name: "ask: once", deed: with(npm(writes("/home/u/.npm")), policySays), ask: yes(approvals.Once), want: "npm=true unconfined=false", outcome: "ok", answered: "once"},
		{name: "ask: session", deed: with(npm(writes("/home/u/.npm")), policySays), ask: yes(approvals.Session), want: "npm=true", outcome: "ok", answered: "session"},
		{name: "ask: outside", deed: with(npm(approvals.Wish{Unsandboxed: true}), policySays), ask: yes(approvals.Outside), want: "unconfined=true", outcome: "ok", answered: "once"},
		{name: "ask: outside, session", deed: with(deed{action: approvals.Action{Command: "id", Wish: approvals.Wish{Unsandboxed: true}}}, policySays), ask: yes(approvals.OutsideSession), want: "unconfined=true", outcome: "ok", answered: "session"},
		{name: "ask: yes with a note", deed: npm(writes("/home/u/.npm")), ask: answer1(approvals.Answer{Decision: approvals.Once, Reason: "mind the lock file"}, nil), want: "fine\n[approval] The user allowed it and says: mind the lock file", outcome: "ok", answered: "once"},
		{name: "ask: less than asked", deed: with(npm(writes("/home/u/.npm", "/srv")), policySays), ask: answer1(narrower, nil), want: "npm=true unconfined=false\n[approval] The user opened /home/u/.npm.", outcome: "ok", answered: "once"},
		{name: "ask: no", deed: npm(writes("/home/u/.npm")), ask: answer1(approvals.Answer{Reason: "use pnpm"}, nil), want: "Not run: the user said no: use pnpm.", outcome: "refused", answered: "denied"},
		{name: "ask: stop", deed: npm(writes("/home/u/.npm")), ask: yes(approvals.Stop), want: "Not run: the user said no and stopped the turn.", outcome: "refused", answered: "stopped", turn: "stopped"},
		{name: "ask: nobody", deed: npm(writes("/home/u/.npm")), ask: yes(approvals.Unattended), away: true, want: "nobody could be asked", outcome: "refused", answered: "refused", refused: 1},
		{name: "ask: broken", deed: npm(writes("/home/u/.npm")), ask: answer1(approvals.Answer{Decision: approvals.Once}, errors.New("no terminal")), want: "the question could not be put: no terminal", outcome: "refused", answered: "denied"},
		{name: "settle: more than shown", deed: npm(writes("/home/u/.npm")), ask: answer1(wider, nil), want: "more than the question showed", outcome: "refused", answered: "denied"},
		{name: "settle: not offered", deed: npm(writes("/home/u/.npm")), ask: yes(approvals.Outside), want: "was not offered", outcome: "refused", answered: "denied"},
		{name: "run: cannot start", deed: with(npm(approvals.Wish{}), func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
			return tools.Result{}, &sandbox.StartError{Code: 125, Stage: "landlock", Err: errors.New("no")}
		}), want: "could not be started: sandbox: landlock: no (the command did not run)", outcome: "not_started"},
		{name: "run: panics", deed: with(npm(approvals.Wish{}), func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
			panic("index out of range")
		}), want: "bug: index out of range (agent/toolcall_test.go:", outcome: "failed"},
		{name: "run: failed by itself", deed: with(npm(approvals.Wish{}), func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
			return tools.Result{Text: "exit 1", Failed: true, Outcome: word.Failed}, nil
		}), want: "exit 1", never: "[sandbox]", outcome: "failed"},
		{name: "run: silent", deed: with(npm(approvals.Wish{}), func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
			return tools.Result{Outcome: word.OK}, nil
		}), want: "(no output)", outcome: "ok"},
		{name: "denied: asked how", deed: with(npm(approvals.Wish{}), refusedOnce(sandbox.Certain)), want: `"additional_permissions":{"write":["/home/u/.npm"]}`, outcome: "failed"},
		{name: "denied: nobody there", away: true, deed: with(npm(approvals.Wish{}), refusedOnce(sandbox.Certain)), want: "You cannot ask for this here", never: "additional_permissions", outcome: "failed", refused: 1},
		{name: "denied: a file tool", deed: with(deed{action: approvals.Action{Kind: word.KindRead}}, refusedOnce(sandbox.Certain)), want: "EACCES", never: "additional_permissions", outcome: "failed"},
		{name: "on-failure: yes", mode: approvals.OnFailure, deed: with(npm(approvals.Wish{}), refusedOnce(sandbox.Certain)), ask: yes(approvals.Once), want: "allowed to run again with more. The second run:\nadded 1 package", outcome: "ok", answered: "once"},
		{name: "on-failure: likely, by the kernel's record", mode: approvals.OnFailure, deed: with(npm(approvals.Wish{}), refusedOnce(sandbox.Likely)), ask: yes(approvals.Once), want: "allowed to run again with more. The second run:\nadded 1 package", outcome: "ok", answered: "once"},
		{name: "on-failure: a guess, outside", mode: approvals.OnFailure, deed: with(npm(approvals.Wish{}), guessedOnce), ask: yes(approvals.Outside), want: "added 1 package", outcome: "ok", answered: "once"},
		{name: "on-failure: a guess opens no path", mode: approvals.OnFailure, deed: with(npm(approvals.Wish{}), guessedOnce), ask: yes(approvals.Once), want: "EACCES", outcome: "failed", answered: "denied"},
		{name: "on-failure: yes, and it cannot start", mode: approvals.OnFailure, deed: with(npm(approvals.Wish{}), func(ctx context.Context, p sandbox.Policy, s tools.Stage) (tools.Result, error) {
			if p.JudgeWrite("/home/u/.npm/x").Allowed {
				return tools.Result{}, errors.New("no more processes")
			}
			return refusedWrite(sandbox.Certain), nil
		}), ask: yes(approvals.Once), want: "EACCES\n[sandbox] The sandbox refused this; without it the command would have passed:\n- write /home/u/.npm/x, by npm\n[approval] It was allowed to run again with more. Not run: no more processes.", outcome: "failed", answered: "once"},
		{name: "on-failure: no", mode: approvals.OnFailure, deed: with(npm(approvals.Wish{}), refusedOnce(sandbox.Certain)), ask: answer1(approvals.Answer{Reason: "leave it"}, nil), want: "was asked: the user said no: leave it", never: "additional_permissions", outcome: "failed", answered: "denied"},
		{name: "on-failure: nobody", mode: approvals.OnFailure, away: true, deed: with(npm(approvals.Wish{}), refusedOnce(sandbox.Certain)), ask: yes(approvals.Unattended), want: "nobody could be asked", outcome: "failed", answered: "refused", refused: 1},
		{name: "on-failure: stop", mode: approvals.OnFailure, deed: with(npm(approvals.Wish{}), refusedOnce(sandbox.Certain)), ask: yes(approvals.Stop), want: "stopped the turn", outcome: "failed", answered: "stopped", turn: "stopped"},
		{name: "untrusted: an edit", mode: approvals.Untrusted, deed: deed{action: approvals.Action{Kind: word.KindEdit, Paths: []string{"a.go"}}}, ask: yes(approvals.Once), want: "fine", outcome: "ok", answered: "once"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(c.mode, toolbox{"shell": c.deed}, play("I try.", call("1", "shell")))
			r.face.ask, r.cfg.Attended = c.ask, !c.away
			err := r.Turn(t.Context(), Input{Text: "do it"})
			items := r.check(t)
			if c.turn == "" {
				c.turn = "done"
			}
			end := r.face.last(t)
			if end.Outcome != c.turn || (err == nil) != (c.turn == "done") || len(end.Refused) != c.refused {
				t.Errorf("turn %q %v refused %v", end.Outcome, err, end.Refused)
			}
			i := slices.IndexFunc(items, func(i model.Item) bool { return i.Kind == model.Result })
			text := items[i].Text
			if !strings.Contains(text, c.want) || c.never != "" && strings.Contains(text, c.never) {
				t.Errorf("the model reads %q\nwant %q, and not %q", text, c.want, c.never)
			}
			if f := told[event.ToolFinished](r.face)[0]; f.Outcome != c.outcome || f.CallID != "1" || items[i].Failed != (c.outcome != "ok") {
				t.Errorf("outcome %q, failed %v, want %q", f.Outcome, items[i].Failed, c.outcome)
			}
			answered := ""
			for _, a := range told[event.PermissionAnswered](r.face) {
				answered += string(a.Answer)
			}
			if answered != c.answered {
				t.Errorf("answered %q, want %q", answered, c.answered)
			}
			for _, refusal := range end.Refused {
				if refusal.Hint == "" || refusal.Title == "" || refusal.Grant.Empty() {
					t.Errorf("refusal %+v", refusal)
				}
			}
		})
	}
}

func TestUnknownToolIsWordsForTheModel(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{}, play(call("1", "sehll")))
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if items := r.check(t); items[2].Text != `Not run: there is no tool "sehll"` || !items[2].Failed {
		t.Errorf("%s", dump(items))
	}
}

// A tool that plans one action and runs another gets no permit: shown with a tool that changes
// its action after the decision.
func TestRunRefusesAPermitForSomethingElse(t *testing.T) {
	other := npm(approvals.Wish{})
	other.action.Command = "rm -rf ."
	r := newRig(approvals.OnRequest, toolbox{"shell": npm(approvals.Wish{})}, play(call("1", "shell")))
	r.cfg.Tools = swapped{toolbox{"shell": npm(approvals.Wish{})}, other}
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if items := r.check(t); !strings.Contains(items[2].Text, "not permitted") {
		t.Errorf("%s", dump(items))
	}
}

type swapped struct {
	toolbox
	run deed
}

type swappedCall struct{ shown, run tools.Call }

func (s swapped) Plan(c model.ToolCall) (tools.Call, error) {
	shown, err := s.toolbox.Plan(c)
	return swappedCall{shown, s.run}, err
}
func (s swappedCall) Action() approvals.Action { return s.shown.Action() }
func (s swappedCall) Run(ctx context.Context, p approvals.Permit, st tools.Stage) (tools.Result, error) {
	return s.run.Run(ctx, p, st)
}

func TestCallsOfOneMessageRunAtOnceAndReportInOrder(t *testing.T) {
	// Each waits for the other, so they can only end if they run in parallel.
	a, b := make(chan struct{}), make(chan struct{})
	meet := func(mine, other chan struct{}, text string) deed {
		d := npm(approvals.Wish{})
		d.action.Independent = true
		d.run = func(ctx context.Context, _ sandbox.Policy, _ tools.Stage) (tools.Result, error) {
			close(mine)
			select {
			case <-other:
			case <-ctx.Done():
			}
			return tools.Result{Text: text, Outcome: word.OK}, nil
		}
		return d
	}
	r := newRig(approvals.OnRequest, toolbox{"a": meet(a, b, "first"), "b": meet(b, a, "second")}, play(call("1", "a"), call("2", "b")))
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	items := r.check(t)
	if items[3].Text != "first" || items[4].Text != "second" {
		t.Errorf("%s", dump(items))
	}
}

func TestAnEditRunsAloneInItsPlace(t *testing.T) {
	var running, wrong atomic.Int32
	var order []string
	act := func(kind word.Kind, name string) deed {
		d := deed{action: approvals.Action{Kind: kind}}
		if kind == word.KindEdit {
			d.action.Paths = []string{name}
		}
		d.run = func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
			if running.Add(1) > 1 && kind == word.KindEdit {
				wrong.Add(1)
			}
			if kind == word.KindEdit {
				order = append(order, name) // alone: no lock, the race detector watches
			}
			running.Add(-1)
			return tools.Result{Text: "fine", Outcome: word.OK}, nil
		}
		return d
	}
	box := toolbox{"read": act(word.KindRead, ""), "e1": act(word.KindEdit, "e1"), "e2": act(word.KindEdit, "e2"), "e3": act(word.KindEdit, "e3")}
	r := newRig(approvals.OnRequest, box, play(
		call("1", "read"), call("2", "read"), call("3", "e1"), call("4", "read"), call("5", "read"), call("6", "e2"), call("7", "e3"), call("8", "read")))
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	r.check(t)
	if wrong.Load() != 0 || strings.Join(order, " ") != "e1 e2 e3" {
		t.Errorf("%d edits were not alone; order %v", wrong.Load(), order)
	}
}

// A call starts when its arguments are complete, not at the end of the answer.
func TestCallStartsWhileTheModelStillTalks(t *testing.T) {
	ran := make(chan struct{})
	d := npm(approvals.Wish{})
	d.run = func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
		close(ran)
		return tools.Result{Text: "fine", Outcome: word.OK}, nil
	}
	r := newRig(approvals.OnRequest, toolbox{"shell": d}, play(call("1", "shell"), "and more"))
	r.model.before = func(n int) {
		if n == 4 { // the text after the call
			<-ran
		}
	}
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	items := r.check(t)
	if items[1].Kind != model.Assistant || items[2].Kind != model.Call {
		t.Errorf("text must stand before the calls:\n%s", dump(items))
	}
}

func TestStopEndsTheOtherCallsToo(t *testing.T) {
	asks, waits := npm(writes("/home/u/.npm")), npm(approvals.Wish{})
	running := make(chan struct{})
	waits.run = func(ctx context.Context, _ sandbox.Policy, _ tools.Stage) (tools.Result, error) {
		close(running)
		<-ctx.Done()
		return tools.Result{Text: "half", Failed: true, Outcome: word.Interrupted}, nil
	}
	r := newRig(approvals.OnRequest, toolbox{"asks": asks, "waits": waits}, play(call("1", "waits"), call("2", "asks")))
	r.face.ask = func(context.Context, approvals.Request) (approvals.Answer, error) {
		<-running
		return approvals.Answer{Decision: approvals.Stop}, nil
	}
	if err := r.Turn(t.Context(), Input{Text: "x"}); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	items := r.check(t)
	if !strings.Contains(items[3].Text, "half\n[Ended early: the user stopped the turn.]") {
		t.Errorf("%s", dump(items))
	}
	if n := len(r.model.requests); n != 1 {
		t.Errorf("%d requests after stop", n)
	}
}

func TestHeldDenialIsAskedAndAnswered(t *testing.T) {
	for _, c := range []struct {
		name   string
		mode   approvals.Mode
		target string
		ask    func(context.Context, approvals.Request) (approvals.Answer, error)
		ok     bool
		answer string
	}{
		{"yes", approvals.OnRequest, "/home/u/dir/x", yes(approvals.Once), true, "once"},
		{"no", approvals.OnRequest, "/home/u/dir/x", yes(approvals.Deny), false, "denied"},
		{"nobody", approvals.OnRequest, "/home/u/dir/x", yes(approvals.Unattended), false, "refused"},
		{"stop", approvals.OnRequest, "/home/u/dir/x", yes(approvals.Stop), false, "stopped"},
		{"outside is not for a running command", approvals.OnRequest, "/home/u/dir/x", yes(approvals.Outside), false, "denied"},
		{"impossible", approvals.OnRequest, "/", yes(approvals.Once), false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(c.mode, nil)
			r.face.ask = c.ask
			ctx, stop := context.WithCancelCause(t.Context())
			call := &toolCall{turn: &turn{agent: r.Agent, stop: stop}, action: approvals.Action{CallID: "1", Tool: "shell", Kind: word.KindCommand, Command: "npm i", Folder: "/w"}}
			held := &holder{call: call, turn: ctx, run: begin("touch " + c.target)}
			grant, ok := held.Hold(ctx, sandbox.Denial{Kind: sandbox.KindWrite, Operation: "openat", Target: c.target, Evidence: sandbox.EvidenceKernel})
			if ok != c.ok || ok != !grant.Empty() {
				t.Errorf("%v %+v", ok, grant)
			}
			if ok && !slices.Equal(grant.Write, []string{c.target}) {
				t.Errorf("granted %+v", grant)
			}
			answered := ""
			for _, a := range told[event.PermissionAnswered](r.face) {
				answered += string(a.Answer)
			}
			if answered != c.answer {
				t.Errorf("answered %q", answered)
			}
			if (context.Cause(ctx) != nil) != (c.name == "stop") {
				t.Errorf("the turn's cause is %v", context.Cause(ctx))
			}
			for _, q := range told[event.PermissionRequested](r.face) {
				if !q.Held || len(q.Denials) != 1 {
					t.Errorf("told %+v", q)
				}
			}
		})
	}
}

func TestSessionAnswerSparesTheNextQuestion(t *testing.T) {
	r := newRig(approvals.OnRequest, toolbox{"shell": npm(writes("/home/u/.npm"))}, play(call("1", "shell")), play(call("2", "shell")))
	r.face.ask = yes(approvals.Session)
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	r.check(t)
	if len(r.face.asked) != 1 {
		t.Errorf("asked %d times", len(r.face.asked))
	}
}

// TestAskedAgainAtTheStart: what changed between the yes and the start is asked about again, and a no
// ends the call.
func TestAskedAgainAtTheStart(t *testing.T) {
	for _, answers := range [][]approvals.Decision{{approvals.Once, approvals.Once}, {approvals.Once, approvals.Deny}} {
		d, starts := npm(writes("/home/u/.npm")), 0
		var r rig
		d.run = func(context.Context, sandbox.Policy, tools.Stage) (tools.Result, error) {
			if starts++; starts > 1 {
				return tools.Result{Text: "fine", Outcome: word.OK}, nil
			}
			return tools.Result{}, fmt.Errorf("shell: %w", &approvals.Refusal{Reason: "Makefile changed", Again: func() (*approvals.Request, error) {
				_, question, err := r.cfg.Gate.Decide(r.face.asked[0].Action)
				return question, err
			}})
		}
		r = newRig(approvals.OnRequest, toolbox{"shell": d}, play(call("1", "shell")))
		r.face.ask = func(context.Context, approvals.Request) (approvals.Answer, error) {
			return approvals.Answer{Decision: answers[len(r.face.asked)-1]}, nil
		}
		if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
			t.Fatal(err)
		}
		r.check(t)
		yes := answers[1].Yes()
		if f := told[event.ToolFinished](r.face)[0]; len(r.face.asked) != 2 || (starts == 2) != yes || (f.Outcome == word.OK) != yes {
			t.Errorf("%q: asked %d times, started %d times, %q", answers, len(r.face.asked), starts, f.Outcome)
		}
	}
}

func TestARefusalIsListedOnce(t *testing.T) {
	r := newRig(approvals.Never, toolbox{"shell": npm(writes("/home/u/.npm"))}, play(call("1", "shell")), play(call("2", "shell")))
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	r.check(t)
	if end := r.face.last(t); len(end.Refused) != 1 || len(told[event.PermissionAnswered](r.face)) != 2 {
		t.Errorf("%+v", end.Refused)
	}
}

func TestRepeatedFailureIsTold(t *testing.T) {
	bad := deed{err: errors.New("no")}
	r := newRig(approvals.OnRequest, toolbox{"bad": bad, "good": npm(approvals.Wish{})},
		play(call("1", "bad")), play(call("2", "bad")), play(call("3", "bad")), play(call("4", "bad")),
		play(call("5", "good")), play(call("6", "good")), play(call("7", "good")), play(call("8", "good")), play(call("9", "bad")))
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	var toldOf []string
	for _, i := range r.check(t) {
		if strings.Contains(i.Text, "exactly this call") {
			toldOf = append(toldOf, i.CallID)
		}
	}
	if strings.Join(toldOf, " ") != "3 4" {
		t.Errorf("told after the calls %v", toldOf)
	}
}
