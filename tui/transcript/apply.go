package transcript

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/tui/home"
	"codeagent/tui/markdown"
)

// stream is what events refer to while a turn runs.
type stream struct {
	session event.SessionStarted
	started bool
	began   time.Time // the turn
	// echo is the message that was shown before its turn began; nil afterwards.
	echo  *entry
	tools map[string]call // those that have not ended, by their id
	// ends are the ends of jobs that were shown between turns, by the job's number; nil: nothing more is said of it.
	ends map[string]*entry
	// grows is the answer or the thought that is arriving, and words is its text; nil: neither is.
	grows *entry
	words *markdown.Document
	// request is the index of the first entry of the current request.
	request    int
	retrying   *entry // waits for the next attempt
	compacting *entry // the summary that is being written
}

// call is a tool call that runs, and the entry that shows it.
type call struct {
	*tool
	at *entry
}

// Apply changes the transcript by one event. Every kind of event has its case;
// a test feeds all of them.
func (t *Transcript) Apply(e event.Event) {
	t.retried(e)
	switch e := e.(type) {
	case event.SessionStarted:
		was, again := t.session, t.started && t.session.ID == e.ID
		t.session, t.started = e, true
		switch {
		case !again:
			t.add(welcome{home.Home{Session: e, Facts: t.Home}})
		case was.Model != "" && was.Model != e.Model:
			t.Note(word.LevelInfo, "now using "+e.Model)
		}
	case event.TurnStarted:
		t.began = t.now()
		if t.echo != nil && t.echo.body.(*said).text == e.Text {
			t.echo.body = &said{e.Text, e.Images}
			t.echo.changed()
			t.echo = nil
		} else if strings.TrimSpace(e.Text) != "" || len(e.Images) > 0 {
			t.add(&said{e.Text, e.Images})
		}
	case event.Steered:
		t.settle()
		t.add(&said{e.Text, e.Images})
	case event.RequestStarted:
		t.settle()
		t.request = len(t.entries)
	case event.TextDelta, event.MessageFinished, event.ReasoningDelta, event.ReasoningFinished:
		t.applyWords(e)
	case event.ToolStarted, event.ToolOutput, event.ToolFinished:
		t.applyTool(e)
	case event.PermissionRequested:
		t.applyRequest(e)
	case event.PermissionAnswered:
		t.applyAnswer(e)
	case event.PlanUpdated:
		t.applyPlan(e)
	case event.Retrying:
		t.applyRetry(e)
	case event.HelperEvent:
		t.applyHelper(e)
	case event.UsageUpdated, event.BackgroundChanged:
		// The footer shows them.
	case event.BackgroundEnded:
		t.applyBackgroundEnded(e)
	case event.Compacting:
		t.settle()
		t.compacting = t.add(&compaction{reason: e.Reason})
		t.compacting.moving = true
	case event.Compacted:
		t.applyCompacted(e)
	case event.EarlierAnswer:
		t.Note(word.LevelInfo, e.Line()+" · r asks again")
	case event.Searched:
		t.Note(word.LevelInfo, strings.Join(e.Lines(), "\n"))
	case event.Notice:
		t.Note(e.Level, e.Text)
	case event.TurnFinished:
		t.applyFinish(e)
	default:
		// A renderer that meets an event it does not know must not be silent.
		t.Note(word.LevelWarning, fmt.Sprintf("unknown event %T", e))
	}
}

// JobEnded shows the end of a job between turns, once. all: nothing more is said of it later.
func (t *Transcript) JobEnded(job string, line Body, all bool) {
	if _, shown := t.ends[job]; shown {
		return
	}
	if t.ends[job] = t.add(line); all {
		t.ends[job] = nil
	}
	t.leave(job)
}

// leave has the call that started a job say that it no longer runs.
func (t *Transcript) leave(job string) {
	for _, e := range t.entries {
		if call, ok := e.body.(*tool); ok && call.done != nil && call.done.Running && call.kind == word.KindCommand && strconv.Itoa(call.done.Job) == job {
			call.left = true
			e.changed()
		}
	}
}

// applyBackgroundEnded shows the end of a background command like that of a call, in place of the line that said so
// between turns.
func (t *Transcript) applyBackgroundEnded(e event.BackgroundEnded) {
	job := strconv.Itoa(e.Job)
	t.leave(job)
	shown, told := t.ends[job]
	if told && shown == nil {
		return
	}
	call := &tool{kind: word.KindCommand, command: e.Command, folder: e.Folder, workspace: t.session.Folder}
	outcome := word.OK
	if e.Exit != 0 || e.Signal != "" {
		outcome = word.Failed
	}
	call.finish(event.ToolFinished{
		Kind: call.kind, Outcome: outcome, Exit: e.Exit, Signal: e.Signal, Limit: e.Limit, Duration: e.Duration,
		Output: e.Output, Verdict: e.Verdict, Message: e.Message, Job: e.Job,
		Changed: e.Changed,
	})
	if told {
		shown.body = call
		shown.changed()
		return
	}
	t.add(call)
}

// settle closes the answer and the thought that were growing. Entries that come from
// elsewhere (a notice, a job's end, a call that had to wait) do not settle: the text
// goes on above them, and its end brings the whole text once.
func (t *Transcript) settle() {
	if t.grows != nil {
		t.words.Ended = true
		t.grows.changed()
		t.grows, t.words = nil, nil
	}
}

func (t *Transcript) applyWords(e event.Event) {
	switch e := e.(type) {
	case event.TextDelta:
		t.growing(false).Add(e.Text)
	case event.MessageFinished:
		t.wholeText(false, e.Text)
	case event.ReasoningDelta:
		t.growing(true).Add(e.Text)
	case event.ReasoningFinished:
		t.wholeText(true, e.Text)
	}
}

// wholeText ends the answer, or the thought, with its whole text.
func (t *Transcript) wholeText(quiet bool, text string) {
	if t.grows != nil && t.words.Quiet == quiet || strings.TrimSpace(text) != "" {
		t.growing(quiet).Set(text)
		t.settle()
	}
}

// growing is the text of the answer that is arriving, or with quiet of the thought.
func (t *Transcript) growing(quiet bool) *markdown.Document {
	if t.grows == nil || t.words.Quiet != quiet {
		t.settle()
		t.words = &markdown.Document{Margin: !quiet, Quiet: quiet}
		if t.grows = t.add(&answer{t.words}); quiet {
			t.grows.body = &thought{t.words}
		}
	}
	t.grows.changed()
	return t.words
}

func (t *Transcript) applyTool(e event.Event) {
	switch e := e.(type) {
	case event.ToolStarted:
		if e.Kind == word.KindPlan {
			return // the plan itself is shown when it changes
		}
		t.startTool(e)
	case event.ToolOutput:
		if on, ok := t.tools[e.CallID]; ok {
			on.output(e)
			on.at.changed()
		}
	case event.ToolFinished:
		on, ok := t.tools[e.CallID]
		if !ok {
			if e.Kind == word.KindPlan && (e.Outcome == word.OK || e.Outcome == "") {
				return
			}
			on = t.startTool(event.ToolStarted{CallID: e.CallID, Tool: e.Tool, Kind: e.Kind, Title: e.Title})
		}
		on.end(e)
		delete(t.tools, e.CallID)
		if e.Job != 0 && !e.Running {
			t.leave(strconv.Itoa(e.Job))
		}
	}
}

func (t *Transcript) startTool(e event.ToolStarted) call {
	on := call{tool: &tool{kind: e.Kind, title: e.Title, command: e.Command, folder: e.Folder, started: t.now(), workspace: t.session.Folder, server: e.Server, own: e.Own, backend: e.Backend}}
	if e.Kind == word.KindRead {
		on.at = t.startRead(on.tool)
	} else {
		on.at = t.add(on.tool)
	}
	on.at.moving = true
	on.at.changed()
	t.tools[e.CallID] = on
	return on
}

// Title is the title of a call that runs; "" for one that does not.
func (t *Transcript) Title(callID string) string {
	if on, ok := t.tools[callID]; ok {
		return on.title
	}
	return ""
}

// Commands reports whether a command of the model runs.
func (t *Transcript) Commands() bool {
	for _, on := range t.tools {
		if on.kind == word.KindCommand && !on.own && !on.waiting() {
			return true
		}
	}
	return false
}

// end ends the call; its entry moves on while others in it run.
func (on call) end(e event.ToolFinished) {
	on.finish(e)
	r, ok := on.at.body.(*reads)
	on.at.moving = ok && r.running()
	on.at.changed()
}

func (t *Transcript) applyRequest(e event.PermissionRequested) {
	a := &question{request: e}
	t.asked = append(t.asked, a)
	if on, ok := t.tools[e.CallID]; ok {
		on.asks = append(on.asks, a)
		on.at.changed()
		return
	}
	t.add(a)
}

func (t *Transcript) applyAnswer(e event.PermissionAnswered) {
	for i := len(t.asked) - 1; i >= 0; i-- {
		if a := t.asked[i]; a.request.ID == e.ID && a.answer == nil {
			a.answer = &e
			break
		}
	}
	for _, en := range t.entries[max(len(t.entries)-64, 0):] {
		switch en.body.(type) {
		case *tool, *reads, *question:
			en.changed()
		}
	}
}

func (t *Transcript) applyPlan(e event.PlanUpdated) {
	p := &plan{explanation: e.Explanation, steps: e.Steps}
	// A plan that changes twice in a row is one plan.
	if n := len(t.entries); n > 0 {
		if _, ok := t.entries[n-1].body.(*plan); ok {
			t.entries[n-1].body = p
			t.entries[n-1].changed()
			return
		}
	}
	t.add(p)
}

// Note adds a line about the work.
func (t *Transcript) Note(level word.Level, text string) {
	if strings.TrimSpace(text) != "" {
		t.add(&notice{level, text})
	}
}

// Interrupt closes what an ended turn left open.
func (t *Transcript) Interrupt() {
	for id, on := range t.tools {
		on.end(event.ToolFinished{CallID: id, Outcome: word.Interrupted})
	}
	clear(t.tools)
	t.settle()
	t.echo = nil // a command of the person's has no message
}

// Show adds a message of the person's before its turn begins.
func (t *Transcript) Show(text string) {
	t.echo = t.add(&said{text: text})
	t.End()
}

// Rewind removes a message and what followed it, of the first shown entries; what came
// later stays. sent are the texts of the message and of those after it. Without that
// message on the screen all of them go: it was sent before a resumed session was shown.
func (t *Transcript) Rewind(shown int, sent []string) {
	at := max(t.said(shown, sent), 0)
	t.drop(at, func(*entry) bool { at++; return at <= shown })
	t.End()
}

// said is the index of the first of these messages among the first shown entries; -1: it
// is not shown. What looks like a message but is not is passed over: a command
// of the person's own, what was never sent.
func (t *list) said(shown int, sent []string) int {
	for i, e := range slices.Backward(t.entries[:shown]) {
		if s, ok := e.body.(*said); ok && len(sent) > 0 && s.text == sent[len(sent)-1] {
			if sent = sent[:len(sent)-1]; len(sent) == 0 {
				return i
			}
		}
	}
	return -1
}

// Chose notes which option the person picked for a request.
func (t *Transcript) Chose(id string, d approvals.Decision) {
	for _, a := range t.asked {
		if a.request.ID == id && a.answer == nil {
			a.chosen = d
		}
	}
}

func (t *Transcript) applyFinish(e event.TurnFinished) {
	t.settle()
	if e.Outcome == word.TurnFailed {
		text := "the turn failed"
		if e.Err != nil {
			text = e.Err.Error()
		}
		t.Note(word.LevelError, text)
	}
	for _, r := range e.Refused {
		text := "refused: nobody could answer: " + r.Title
		if r.Hint != "" {
			text += "\n" + r.Hint
		}
		t.Note(word.LevelWarning, text)
	}
	end := map[word.TurnOutcome]string{word.TurnInterrupted: "Interrupted", word.TurnStopped: "Stopped"}[e.Outcome]
	if took := t.now().Sub(t.began).Truncate(time.Second); took >= shortTurn && !t.began.IsZero() && !t.session.Tour {
		if end != "" {
			end += " after " + short.Duration(took)
		} else {
			end = "Took " + short.Duration(took)
		}
	}
	if t.began = (time.Time{}); end != "" {
		t.Note(word.LevelInfo, end+".")
	}
}

// shortTurn is how long a turn takes whose time is not shown. A tour plays at a pace of its own, so its time means nothing.
const shortTurn = 5 * time.Second

// welcome opens the transcript.
type welcome struct{ home.Home }

func (h welcome) Draw(c Canvas) []string { return h.Home.Draw(c.Theme, c.Width, c.Home, c.Lines) }

// Found shows what needed IO where the transcript opens.
func (t *Transcript) Found(f home.Found) {
	for _, e := range t.entries[:min(len(t.entries), 1)] {
		if h, ok := e.body.(welcome); ok {
			h.Home.Found = &f
			e.body = h
			e.changed()
		}
	}
}
