package tui

import (
	"testing"
	"time"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/golden"
	"codeagent/sandbox"
	"codeagent/tui/part"
	"codeagent/tui/question"
)

// heldRequest is a question about a call of curl that waits, from one process.
func heldRequest(id string, pid int) approvals.Request {
	return approvals.Request{
		ID: id, CallID: "c", Title: "curl wants to reach example.org:443", Held: true, Patience: 5 * time.Minute,
		Action: approvals.Action{Kind: "command", Title: "$ curl https://example.org", Command: "curl https://example.org", Folder: "/home/ada/src/app"},
		Denials: []sandbox.Denial{{
			Kind: sandbox.KindNetwork, Operation: "connect", Target: "example.org:443", Requested: "93.184.215.14:443", Program: "curl", PID: pid,
			Chain: []sandbox.Ancestor{{Program: "bash", PID: 7}}, Errno: "ECONNREFUSED", Evidence: sandbox.EvidenceKernel, Order: pid, Count: 1,
		}},
		Grant: sandbox.Grant{Hosts: []sandbox.HostPort{{Host: "example.org", Port: 443}}},
		Options: []approvals.Option{
			{Key: "1", Decision: approvals.Once, Label: "once, for this command"},
			{Key: "2", Decision: approvals.Session, Label: "this session"},
			{Key: "n", Decision: approvals.Deny, Label: "no, because …"},
			{Key: "s", Decision: approvals.Stop, Label: "stop"},
		},
	}
}

// hold reports a held call of a running command and puts the question about it.
func (r *rig) hold(q approvals.Request) *question.Ask {
	r.emit(event.PermissionRequested{ID: q.ID, CallID: q.CallID, Title: q.Title, Denials: q.Denials, Wanted: q.Grant, Held: true})
	return r.put(q)
}

func curlRuns(r *rig) {
	r.app.work.running, r.app.work.since = true, r.clock
	r.emit(session(), event.ToolStarted{CallID: "c", Tool: "shell", Kind: "command", Title: "$ curl https://example.org", Command: "curl https://example.org", Folder: "/home/ada/src/app"})
}

// TestHeldQuestion shows a command that waits, and what became of it.
func TestHeldQuestion(t *testing.T) {
	for _, w := range []int{40, 80} {
		r := newRig(t, w, 26)
		curlRuns(r)
		a := r.hold(heldRequest("q", 41))
		r.clock = r.clock.Add(72 * time.Second)
		r.press("ctrl+y")
		golden.Check(t, map[int]string{40: "held-40.txt", 80: "held-80.txt"}[w], r.screen())
		if w == 80 {
			golden.Check(t, "held-80.svg", golden.SVG(trimmed(r.app.View().Content), w))
		}
		r.press("1")
		r.wantAnswer(a, approvals.Once, "")
		r.emit(event.PermissionAnswered{ID: "q", CallID: "c", Answer: "once"},
			event.ToolFinished{CallID: "c", Kind: "command", Title: "$ curl https://example.org", Outcome: "ok", Output: "hello\n", Duration: time.Second})
		golden.Check(t, map[int]string{40: "held-done-40.txt", 80: "held-done-80.txt"}[w], r.screen())
	}
}

// TestHeldClock: the person sees how long the command waits and when no answer
// becomes a no; an ask that ran out of time leaves the clock of the next one.
func TestHeldClock(t *testing.T) {
	r := newRig(t, 80, 26)
	curlRuns(r)
	first := r.hold(heldRequest("q1", 41))
	r.has("the command waits 0:00", "auto-deny in 5:00", "waiting for your answer")
	r.clock = r.clock.Add(90 * time.Second)
	r.hold(heldRequest("q2", 42))
	r.has("×2", "the command waits 1:30", "auto-deny in 3:30")
	r.app.box.post(part.Withdrawn{Ask: first})
	r.send(inboxMsg{})
	r.lacks("×2")
	r.has("the command waits 0:00", "auto-deny in 5:00")
	r.clock = r.clock.Add(10 * time.Minute)
	r.send(tickMsg{})
	r.has("the command waits 10:00", "auto-deny in 0:00")
}

// An interruption is shown as one, not as a denial or a refusal.
func TestHeldQuestionInterrupted(t *testing.T) {
	r := newRig(t, 80, 26)
	curlRuns(r)
	q := heldRequest("q", 41)
	r.app.box.post(part.Withdrawn{Ask: r.hold(q)})
	r.emit(event.PermissionAnswered{ID: "q", CallID: "c", Answer: "denied", Reason: "no answer: interrupted by the user"},
		event.ToolFinished{CallID: "c", Kind: "command", Outcome: "interrupted", Verdict: sandbox.Verdict{Denied: true, Denials: q.Denials}},
		event.TurnFinished{Outcome: "interrupted"})
	r.has("no answer while it ran: network example.org:443  interrupted by the user", "Interrupted.")
	r.lacks("⊘")
	r.press("ctrl+o")
	r.has("⊘ connect example.org:443")
}

// TestHeldQuestionsOfOneCommandQueueUp, identical ones but for the process are
// one.
func TestHeldQuestionsOfOneCommandQueueUp(t *testing.T) {
	r := newRig(t, 80, 30)
	curlRuns(r)
	a, b := r.hold(heldRequest("q1", 41)), r.hold(heldRequest("q2", 42))
	other := heldRequest("q3", 43)
	other.Grant.Hosts[0].Port, other.Denials[0].Target = 80, "example.org:80"
	c := r.hold(other)
	r.has("×2", "1 more")
	r.press("ctrl+y", "2")
	r.wantAnswer(a, approvals.Session, "")
	r.wantAnswer(b, approvals.Session, "")
	r.emit(event.PermissionAnswered{ID: "q1", CallID: "c", Answer: "session"}, event.PermissionAnswered{ID: "q2", CallID: "c", Answer: "session"})
	// The command waits still, for the third answer.
	r.has("waiting for your answer", "example.org:80", "allowed while it ran, and for this session: network example.org:443")
	r.press("ctrl+y", "n", "enter")
	r.wantAnswer(c, approvals.Deny, "")
	r.emit(event.PermissionAnswered{ID: "q3", CallID: "c", Answer: "denied", Reason: "the user said no"})
	r.lacks("waiting for your answer")
	r.has("denied while it ran: network example.org:80\n")
}

// In an answered question only words of the person are in quotes.
func TestAnswersInQuotes(t *testing.T) {
	for _, c := range []struct{ answer, reason, want, never string }{
		{"denied", "the user said no", "denied: write ~/.npm\n", "“"},
		{"denied", "the user said no: use pnpm", "denied: write ~/.npm  “use pnpm”", "the user"},
		{"denied", "a hook refused this, and the user was not asked", "denied: write ~/.npm  a hook refused this, and the user was not asked", "“"},
		{"stopped", "not today", "denied; turn stopped: write ~/.npm  “not today”", ""},
		{"once", "only now", "allowed once: write ~/.npm  “only now”", ""},
	} {
		r := newRig(t, 80, 26)
		r.emit(event.SessionStarted{ID: "s", Model: "m"}, event.TurnStarted{Text: "go"}, event.ToolStarted{CallID: "c", Kind: "command", Command: "npm install"},
			event.PermissionRequested{ID: "q", CallID: "c", Wanted: sandbox.Grant{Write: []string{"/home/ada/.npm"}}},
			event.PermissionAnswered{ID: "q", CallID: "c", Answer: word.Answer(c.answer), Reason: c.reason})
		r.has(c.want)
		if c.never != "" {
			r.lacks(c.never)
		}
	}
}

// The home folder is shortened in the title of a question as in the rows below it.
func TestTitleOfAQuestion(t *testing.T) {
	r := newRig(t, 80, 26)
	q := npmRequest("q")
	q.Title = "npm wants to write /home/ada/.npm, /home/adam/x and read /home/ada"
	r.hold(q)
	r.has("npm wants to write ~/.npm, /home/adam/x and read ~ ")
}

// TestRecordsInTheDetails: an open call says who was refused what, and how that
// is known; a program's name does what any hostile text does, nothing.
func TestRecordsInTheDetails(t *testing.T) {
	r := newRig(t, 100, 30)
	curlRuns(r)
	r.emit(event.ToolFinished{CallID: "c", Kind: "command", Title: "$ curl https://example.org", Outcome: "failed", Exit: 7, Verdict: sandbox.Verdict{
		Denied: true, Confidence: sandbox.Certain, Evidence: sandbox.EvidenceFull, Denials: []sandbox.Denial{
			{Kind: sandbox.KindNetwork, Operation: "connect", Target: "example.org:443", Requested: "93.184.215.14:443", Program: "cu\x1b[2Jrl\nx", PID: 41,
				Chain: []sandbox.Ancestor{{Program: "make", PID: 9}, {Program: "bash", PID: 7}}, Errno: "ECONNREFUSED", Evidence: sandbox.EvidenceKernel, Count: 3},
			{Kind: sandbox.KindWrite, Operation: "unlink", Target: "/home/ada/.curlrc", Program: "curl", PID: 42, Evidence: sandbox.EvidenceKernel, Moot: true, MootReason: "it does not exist", Count: 1},
		}}})
	r.has("⊘ connect example.org:443 ×3 (host not allowed)")
	r.lacks("does not exist")
	r.press("ctrl+o")
	r.has("⊘ connect example.org:443 ×3 (host not allowed)", "by cu␛[2Jrl␊x (41) ← make (9) ← bash (7)", "connect failed with ECONNREFUSED · recorded by the kernel",
		"requested as 93.184.215.14:443", "⊘ write ~/.curlrc (it does not exist)", "by curl (42)")
}
