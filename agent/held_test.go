package agent

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"codeagent/approvals"
	"codeagent/approvals/without"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/sandbox"
	"codeagent/tools"
)

// holding returns a command with held calls, all at once, that ends when they are answered: its
// output is what was granted.
func holding(denials ...sandbox.Denial) deed {
	d := npm(approvals.Wish{})
	d.run = func(ctx context.Context, _ sandbox.Policy, s tools.Stage) (tools.Result, error) {
		if s.Holder == nil {
			return tools.Result{Text: "no holder", Failed: true, Outcome: word.Failed}, nil
		}
		said := make([]string, len(denials))
		done := make(chan struct{})
		for i, one := range denials {
			go func() {
				said[i] = "no"
				if g, ok := s.Holder.Hold(ctx, one); ok {
					said[i] = things(g)
				}
				done <- struct{}{}
			}()
		}
		for range denials {
			<-done
		}
		return tools.Result{Text: "answers: " + strings.Join(said, "; "), Outcome: word.OK}, nil
	}
	return d
}

func always() bool { return true }

// begin starts judging the refusals of a command, without a memory.
func begin(command string) *without.Run {
	return (*without.Memory)(nil).Begin(context.Background(), without.Command{Text: command, Folder: "/w"})
}

func waitingWrite(path string) sandbox.Denial {
	return sandbox.Denial{Kind: sandbox.KindWrite, Operation: "openat", Target: path, Program: "npm", Evidence: sandbox.EvidenceKernel}
}

// TestWhoIsHeld: a call is held only if a person can be asked and the settings allow it. Under
// untrusted, only changes that undo cannot reverse are held.
func TestWhoIsHeld(t *testing.T) {
	for _, c := range []struct {
		name           string
		mode           approvals.Mode
		attended, hold bool
		want           string
	}{
		{"on-request", approvals.OnRequest, true, true, "answers: /home/u/dir; no extra permissions"},
		{"on-failure", approvals.OnFailure, true, true, "answers: /home/u/dir; no extra permissions"},
		{"untrusted", approvals.Untrusted, true, true, "answers: no; no extra permissions"},
		{"never", approvals.Never, true, true, "no holder"},
		{"nobody", approvals.OnRequest, false, true, "no holder"},
		{"switched off", approvals.OnRequest, true, false, "no holder"},
	} {
		lost := waitingWrite("/w/large")
		lost.Kind = sandbox.KindLoss
		t.Run(c.name, func(t *testing.T) {
			r := newRig(c.mode, toolbox{"npm": holding(waitingWrite("/home/u/dir"), lost)}, play(call("1", "npm")))
			r.cfg.Attended, r.cfg.Hold = c.attended, func() bool { return c.hold }
			r.face.ask = yes(approvals.Once)
			if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
				t.Fatal(err)
			}
			if text := r.check(t)[2].Text; !strings.HasPrefix(text+"\n", c.want+"\n") {
				t.Errorf("want %q:\n%s", c.want, text)
			}
		})
	}
}

// TestOneAnswerOpensWhatOthersWaitFor: granting a folder also answers the open questions about
// paths below it, and only those.
func TestOneAnswerOpensWhatOthersWaitFor(t *testing.T) {
	for name, decision := range map[string]approvals.Decision{"once": approvals.Once, "session": approvals.Session} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(approvals.OnRequest, toolbox{"npm": holding(waitingWrite("/home/u/dir"), waitingWrite("/home/u/dir/a"), waitingWrite("/etc/b"))}, play(call("1", "npm")))
				r.cfg.Hold = always
				r.face.ask = func(ctx context.Context, q approvals.Request) (approvals.Answer, error) {
					switch q.Grant.Write[0] {
					case "/home/u/dir":
						time.Sleep(time.Second) // by then all three have asked
						return approvals.Answer{Decision: decision}, nil
					case "/etc/b":
						time.Sleep(time.Minute)
						return approvals.Answer{Reason: "not there"}, nil
					}
					<-ctx.Done()
					return approvals.Answer{}, ctx.Err()
				}
				if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
					t.Fatal(err)
				}
				text := r.check(t)[2].Text
				for _, want := range []string{"answers: /home/u/dir; /home/u/dir/a; no", "the user opened for it: /home/u/dir", "did not open: /etc/b (the user said no: not there)"} {
					if !strings.Contains(text, want) {
						t.Errorf("%q is not in %q", want, text)
					}
				}
				decided := map[string]int{}
				for _, e := range told[event.PermissionAnswered](r.face) {
					decided[string(e.Answer)+": "+e.Reason]++
				}
				if decided["denied: the user said no: not there"] != 1 || decided[string(decision)+": "] == 0 || decided["once: "] == 0 || len(told[event.PermissionAnswered](r.face)) != 3 {
					t.Errorf("told %v", decided)
				}
			})
		})
	}
}

// TestNoAnswerIsNo: after five minutes, at the end of the command, and at the end of the turn.
func TestNoAnswerIsNo(t *testing.T) {
	for name, c := range map[string]struct {
		ends, wantAfter time.Duration
		whose           string
		reason          string
	}{
		"late":        {time.Hour, 5 * time.Minute, "turn", "nobody answered within five minutes"},
		"command":     {time.Minute, time.Minute, "command", "the command did not wait for the answer"},
		"interrupted": {time.Minute, time.Minute, "turn", "interrupted by the user"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(approvals.OnRequest, nil)
				r.face.ask = func(ctx context.Context, q approvals.Request) (approvals.Answer, error) {
					if q.Patience != heldPatience {
						t.Errorf("patience %v", q.Patience)
					}
					<-ctx.Done()
					return approvals.Answer{}, context.Cause(ctx)
				}
				ends := map[string]context.Context{}
				for _, who := range []string{"turn", "command"} {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if ends[who] = ctx; who == c.whose {
						defer time.AfterFunc(c.ends, cancel).Stop()
					}
				}
				h := &holder{turn: ends["turn"], run: begin("touch /home/u/dir"), call: &toolCall{turn: &turn{agent: r.Agent}, action: approvals.Action{Tool: "shell", Kind: word.KindCommand, Command: "npm i", Folder: "/w"}}}
				start := time.Now()
				if _, ok := h.Hold(ends["command"], waitingWrite("/home/u/dir")); ok || time.Since(start) != c.wantAfter {
					t.Errorf("%v after %v", ok, time.Since(start))
				}
				if got := told[event.PermissionAnswered](r.face); len(got) != 1 || !strings.Contains(got[0].Reason, c.reason) {
					t.Errorf("told %+v", got)
				}
			})
		})
	}
}

// TestAfterANoNothingAsksAgain: neither the on-failure question nor the text for the model
// suggests it.
func TestAfterANoNothingAsksAgain(t *testing.T) {
	d := npm(approvals.Wish{})
	d.run = func(ctx context.Context, _ sandbox.Policy, s tools.Stage) (tools.Result, error) {
		s.Holder.Hold(ctx, waitingWrite("/home/u/dir"))
		return tools.Result{Text: "EACCES", Failed: true, Outcome: word.Failed, Exit: 1, Verdict: sandbox.Verdict{
			Denied: true, Confidence: sandbox.Certain, Evidence: sandbox.EvidenceFull,
			Denials: []sandbox.Denial{waitingWrite("/home/u/dir")}, Suggest: sandbox.Grant{Write: []string{"/home/u/dir"}},
		}}, nil
	}
	r := newRig(approvals.OnFailure, toolbox{"npm": d}, play(call("1", "npm")))
	r.cfg.Hold = always
	r.face.ask = yes(approvals.Deny)
	if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	text := r.check(t)[2].Text
	if len(r.face.asked) != 1 || strings.Contains(text, "sandbox_permissions") || !strings.Contains(text, "did not open: /home/u/dir") {
		t.Errorf("asked %d times: %s", len(r.face.asked), text)
	}
}

// TestTryingAgainIsNoNewQuestion: after a no, or without an answer, a program that tries again
// gets its error at once.
func TestTryingAgainIsNoNewQuestion(t *testing.T) {
	for name, c := range map[string]struct {
		answers bool
		asks    int
		took    time.Duration
	}{
		"no":     {true, 1, 0},
		"nobody": {false, 1, heldPatience},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := npm(approvals.Wish{})
				d.run = func(ctx context.Context, _ sandbox.Policy, s tools.Stage) (tools.Result, error) {
					for _, path := range []string{"/home/u/dir", "/home/u/dir", "/home/u/dir/a", "/etc/b"} {
						if _, ok := s.Holder.Hold(ctx, waitingWrite(path)); ok {
							t.Errorf("%s was granted", path)
						}
					}
					return tools.Result{Text: "done", Outcome: word.OK}, nil
				}
				r := newRig(approvals.OnRequest, toolbox{"npm": d}, play(call("1", "npm")))
				r.cfg.Hold = always
				r.face.ask = func(ctx context.Context, _ approvals.Request) (approvals.Answer, error) {
					if !c.answers {
						<-ctx.Done()
					}
					return approvals.Answer{}, context.Cause(ctx)
				}
				start := time.Now()
				if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); len(r.face.asked) != c.asks || took != c.took {
					t.Errorf("asked %d times in %v; want %d in %v", len(r.face.asked), took, c.asks, c.took)
				}
			})
		})
	}
}

// TestOneQuestionAfterwards: a command that failed because of refusals is asked about once, if its
// calls could be held. There is no question if a person denied it while it ran, or if its program
// usually survives the refusal and a yes changed nothing. The memory then records what mattered.
func TestOneQuestionAfterwards(t *testing.T) {
	refused := waitingWrite("/home/u/.npm/x")
	refused.Executable = "/usr/bin/npm"
	for _, c := range []struct {
		name       string
		confidence sandbox.Confidence
		held       bool
		known      bool // the memory says that it survives the refusal
		vain       bool // the memory says that and that a yes changed nothing
		saysNo     bool // the person denies while it runs
		job        bool // it runs in the background
		say        approvals.Decision
		asks       int
		text       string
		last       without.Outcome
	}{
		{name: "yes", confidence: sandbox.Likely, held: true, say: approvals.Once, asks: 1, text: "The second run:\nadded", last: without.Mattered},
		{name: "no", confidence: sandbox.Likely, held: true, asks: 1, text: "EACCES"},
		{name: "no, and certain", confidence: sandbox.Certain, held: true, asks: 1, text: "EACCES", last: without.Mattered},
		{name: "not held", confidence: sandbox.Certain, say: approvals.Once, text: "EACCES", last: without.Mattered},
		{name: "it usually does without", confidence: sandbox.Likely, held: true, known: true, say: approvals.Once, asks: 1, text: "added", last: without.Mattered},
		{name: "a yes changed nothing before", confidence: sandbox.Likely, held: true, vain: true, say: approvals.Once, text: "EACCES", last: without.Survived},
		{name: "usually, but certain", confidence: sandbox.Certain, held: true, known: true, say: approvals.Once, asks: 1, text: "added", last: without.Mattered},
		{name: "a job", confidence: sandbox.Certain, held: true, job: true, text: "running", last: without.Mattered},
		{name: "a job, likely", confidence: sandbox.Likely, held: true, job: true, text: "running"},
		{name: "a job that passed", held: true, job: true, text: "running", last: without.Survived},
		{name: "a no while it ran", confidence: sandbox.Likely, held: true, saysNo: true, asks: 1, text: "EACCES"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			memory, err := without.Open(dir+"/without.json", "/home/u")
			if err == nil && (c.known || c.vain) {
				err = memory.Learn(time.Now(), []without.Lesson{{Denial: refused, Denied: c.vain}})
			}
			if err != nil {
				t.Fatal(err)
			}
			d, end := npm(approvals.Wish{}), make(chan struct{})
			d.action.Background = c.job
			d.run = func(ctx context.Context, p sandbox.Policy, s tools.Stage) (tools.Result, error) {
				if p.JudgeWrite(refused.Target).Allowed {
					return tools.Result{Text: "added 1 package", Outcome: word.OK}, nil
				}
				if c.saysNo {
					s.Holder.Hold(ctx, refused)
				}
				res := refusedWrite(c.confidence)
				res.Verdict.Denials = []sandbox.Denial{refused}
				if c.confidence == "" {
					res.Failed, res.Verdict.Denied = false, false
				}
				if !c.job {
					close(end)
					return res, nil
				}
				go func() { // it ends after the tool call
					defer close(end)
					s.Ended(res)
				}()
				return tools.Result{Text: "running", Outcome: word.OK, Running: true}, nil
			}
			r := newRig(approvals.OnRequest, toolbox{"npm": d}, play(call("1", "npm")))
			r.cfg.Hold, r.cfg.Without = func() bool { return c.held }, memory
			r.face.ask = yes(c.say)
			if err := r.Turn(t.Context(), Input{Text: "x"}); err != nil {
				t.Fatal(err)
			}
			if text := r.check(t)[2].Text; len(r.face.asked) != c.asks || !strings.Contains(text, c.text) {
				t.Errorf("asked %d times: %s", len(r.face.asked), text)
			}
			<-end
			if got := memory.Of(refused).Last; got != c.last {
				t.Errorf("remembered as %q", got)
			}
		})
	}
}
