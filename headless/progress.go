package headless

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"codeagent/approvals/plain"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/sandbox"
)

// outputShown is how many lines of a failed command's output progress repeats.
const outputShown = 6

// progress writes events to stderr, for a person who reads a log.
type progress struct {
	w     io.Writer
	color bool
	// of is the call that was named last. Calls run in parallel, and a line about another
	// call names that call first.
	of string
	// asked are the calls about which a question was shown, with its answer.
	asked map[string]bool
	// folder is the session's folder; paths inside it are shown relative to it.
	folder string
	// words holds the model's messages; silent: they go to stdout as JSON lines.
	words  words
	silent bool
	detail Detail
	// name begins each line of a helper; helpers are those that work, by the call of delegate and the
	// number.
	name    string
	helpers map[string]*progress
}

func (p *progress) print(e event.Event) {
	if p.detail == Quiet {
		p.quietly(e)
		return
	}
	if !p.silent {
		for _, text := range p.words.after(e) {
			p.said(">", text)
		}
	}
	switch e := e.(type) {
	case event.SessionStarted:
		p.session(e)
	case event.ToolStarted:
		p.of = e.CallID
		p.line("1", "%s", e.Title)
		if e.Backend != "" {
			p.line("2", "  in the backend %s", e.Backend)
		}
		if s := e.Server; s != nil && s.Arguments != "{}" {
			p.line("2", "  sends %s", short.Cut(s.Arguments, argumentsShown))
		}
	case event.ToolFinished:
		p.tool(e)
	case event.PermissionRequested:
		p.requested(e)
	case event.PermissionAnswered:
		p.answered(e)
	case event.PlanUpdated:
		for _, s := range e.Steps {
			mark := map[word.StepStatus]string{word.StepCompleted: "x", word.StepInProgress: ">"}[s.Status]
			p.line("", "  [%1s] %s", mark, s.Step)
		}
	case event.Retrying:
		p.line("33", "! %s", retryWords(e))
	case event.EarlierAnswer:
		p.line("2", "%s · -c answers.enabled=false asks the model", e.Line())
	case event.Searched:
		p.said("@", strings.Join(e.Lines(), "\n"))
	case event.Notice:
		p.notice(e)
	case event.BackgroundEnded:
		p.ended(e)
	case event.HelperEvent:
		p.helper(e)
	case event.Compacting:
		why := map[word.CompactReason]string{word.CompactNear: "the context is nearly full: ", word.CompactFull: "the context is full: "}[e.Reason]
		p.line("2", "%smaking a summary of the conversation", why)
	case event.Compacted:
		if e.Err != "" {
			p.line("33", "  no summary: %s", e.Err)
		} else {
			p.line("32", "  summarized: about %d tokens instead of %d", e.After, e.Before)
		}
	case event.TurnFinished:
		p.finished(e)
	case event.ReasoningFinished:
		if p.detail == Verbose {
			p.said("~", e.Text)
		}
	case event.UsageUpdated:
		if p.detail == Verbose {
			p.of = ""
			p.line("2", "tokens: %d in (%d of them cached), %d out; context: %d of %d", e.Last.Input, e.Last.Cached, e.Last.Output, e.Context, e.Limit)
		}
	case event.TurnStarted, event.Steered, event.TextDelta, event.ReasoningDelta, event.MessageFinished,
		event.ToolOutput, event.RequestStarted, event.BackgroundChanged:
		// The model's text was handled above; output is shown when a command ended.
	}
}

// argumentsShown is how much of what an MCP server gets is printed, in bytes.
const argumentsShown = 300

// quietly prints what --quiet leaves of an event: what a person must know in any case.
func (p *progress) quietly(e event.Event) {
	switch e := e.(type) {
	case event.SessionStarted:
		p.weaknesses(e)
	case event.Notice:
		if e.Level != word.LevelInfo {
			p.notice(e)
		}
	case event.TurnFinished:
		p.finished(e)
	case event.HelperEvent:
		if notice, ok := e.Event.(event.Notice); ok {
			notice.Text = e.Name() + ": " + notice.Text
			p.quietly(notice)
		}
	}
}

// taskShown is how much of a helper's task is printed, in bytes.
const taskShown = 200

// helper prints an event of a helper, with its name before each line.
func (p *progress) helper(e event.HelperEvent) {
	key := fmt.Sprintf("%s/%d", e.CallID, e.Number)
	h := p.helpers[key]
	if h == nil {
		h = &progress{w: p.w, color: p.color, silent: true, detail: p.detail, folder: p.folder, name: e.Name() + ": "}
		if p.helpers == nil {
			p.helpers = map[string]*progress{}
		}
		p.helpers[key] = h
	}
	p.of = ""
	switch in := e.Event.(type) {
	case event.TurnStarted:
		h.line("1", "%s", short.Cut(in.Text, taskShown))
	case event.TurnFinished: // the parent's lists what was refused
		delete(p.helpers, key)
		if in.Err != nil {
			h.line("31", "failed: %v", in.Err)
		} else {
			h.line("32", "%s", in.Outcome)
		}
	default:
		h.print(in)
	}
}

func (p *progress) notice(e event.Notice) {
	p.line(map[word.Level]string{word.LevelWarning: "33", word.LevelError: "31"}[e.Level], "%s: %s", e.Level, e.Text)
}

// requested shows a question: first what codeagent computed, then the model's reason, at
// most three lines of it, each with its mark (words.go).
func (p *progress) requested(e event.PermissionRequested) {
	p.of = e.CallID
	if p.asked == nil {
		p.asked = map[string]bool{}
	}
	p.asked[e.CallID] = true
	p.line("33", "? %s", e.Title)
	for _, g := range e.Wanted.Lines(nil) {
		p.line("", "  opens: %s", g)
	}
	for _, w := range e.Warnings {
		p.line("33", "  warning: %s", w)
	}
	for _, l := range plain.Denials(e.Denials) {
		p.line("", "  refused: %s", l)
	}
	for _, f := range e.Facts {
		p.line("", "  known: %s", f)
	}
	if e.Justification == "" {
		return
	}
	p.line("", "  reason, in the model's words:")
	for _, l := range plain.Quoted(visible.Line(e.Justification), reasonRows) {
		p.line("", "  > %s", l)
	}
}

// reasonRows bounds the rows of a model's reason.
const reasonRows = 3

func (p *progress) session(e event.SessionStarted) {
	p.folder = e.Folder
	model := e.Model
	if e.Tour {
		model = "the built-in tour"
	}
	p.line("2", "codeagent · %s · %s · %s, approval %s", model, e.Folder, e.Policy, e.Approval)
	p.weaknesses(e)
}

func (p *progress) weaknesses(e event.SessionStarted) {
	for _, w := range e.Enforcement.Weaknesses {
		p.line("33", "not enforced here: %s (%s)", w.What, w.Why)
	}
}

// retryWords says why a request is sent again, when, and for how long retries continue.
func retryWords(e event.Retrying) string {
	words := fmt.Sprintf("%s; retry %s in %s", e.Message, e.Number(), e.Delay.Round(100*time.Millisecond))
	if left := e.Left.Round(time.Second); left > 0 {
		words += fmt.Sprintf(", for at most %s more", left)
	}
	return words
}

// about names the call if the last line was about another one.
func (p *progress) about(e event.ToolFinished) {
	if p.of != e.CallID {
		p.line("2", "%s:", e.Title)
	}
	p.of = e.CallID
}

func (p *progress) tool(e event.ToolFinished) {
	verdict := e.Verdict
	verdict.Failed = verdict.Failed || e.Outcome != word.OK || e.Running
	denials, spared := denialLines(verdict)
	shown := p.asked[e.CallID]
	delete(p.asked, e.CallID)
	silent := e.Outcome == word.Refused && (shown || e.Message == "") || e.Outcome == word.OK && e.Kind == word.KindPlan
	if !silent || len(e.Changes) > 0 || len(denials) > 0 || spared != "" {
		p.about(e)
	}
	switch e.Outcome {
	case word.OK:
		if e.Kind == word.KindPlan {
			break // the plan itself has been printed
		}
		if e.Job != 0 {
			p.line(map[bool]string{false: "32", true: "2"}[e.Running], "  %s", e.Message)
			break
		}
		done := "  done in " + e.Duration.Round(time.Millisecond).String()
		if e.Kind == word.KindServer && e.Message != "" {
			done += ": " + e.Message
		}
		p.line("32", "%s", done)
	case word.TimedOut:
		p.line("31", "  timed out after %s", e.Duration.Round(time.Millisecond))
	case word.Failed:
		what := e.Message
		if e.Kind == word.KindCommand && hasEnd(e) {
			what = fmt.Sprintf("exit %d", e.Exit)
			if e.Signal != "" {
				what = "ended by " + e.Signal
			}
			if e.Limit != "" {
				what += ": " + e.Limit.Words()
			}
		}
		p.line("31", "  failed: %s", what)
	case word.NotStarted:
		p.line("31", "  %s", e.Message)
	case word.Refused:
		if !shown && e.Message != "" { // else the answer to the question was shown
			p.line("33", "  %s", e.Message)
		}
	default:
		p.line("31", "  %s", e.Outcome)
	}
	if e.Kind == word.KindCommand && e.Outcome == word.Failed || p.detail == Verbose && (e.Kind == word.KindCommand || e.Kind == word.KindServer || e.Job != 0) {
		p.output(e.Output)
	}
	for _, c := range e.Changes {
		p.line("", "  %s %s (+%d -%d)", c.Kind, c.Path, c.Added, c.Removed)
	}
	p.changed(e.Changed)
	for _, d := range e.Diagnostics {
		p.line("33", "  %s", d.Title)
		for _, l := range d.Lines {
			p.line("2", "    %s", l)
		}
	}
	p.denied(denials, spared)
	p.tried(verdict)
}

func (p *progress) denied(denials []string, spared string) {
	for _, l := range denials {
		p.line("31", "  ⊘ %s", l)
	}
	if spared != "" {
		p.line("2", "  ⊘ %s", spared)
	}
}

// tried says what running the command again on a copy showed.
func (p *progress) tried(v sandbox.Verdict) {
	if v.Experiment != "" {
		p.line("2", "  %s", v.Experiment)
	}
}

// denialLines returns a line for each denial that mattered, and one line for those that a passed
// command did without.
func denialLines(v sandbox.Verdict) (mattered []string, spared string) {
	list := v.Spared()
	rest := slices.DeleteFunc(slices.Clone(v.Denials), func(d sandbox.Denial) bool {
		return slices.ContainsFunc(list, func(o sandbox.Denial) bool { return o.Order == d.Order && o.Kind == d.Kind && o.Target == d.Target })
	})
	return plain.Denials(rest), sandbox.SparedWords(list, func(name string) string { return name })
}

// ended reports a background command whose end no call reports.
func (p *progress) ended(e event.BackgroundEnded) {
	p.of = ""
	p.line("33", "%s", e.Message)
	if !e.Killed && (e.Exit != 0 || e.Signal != "") {
		p.output(e.Output)
	}
	p.changed(e.Changed)
	p.denied(denialLines(e.Verdict))
	p.tried(e.Verdict)
}

// changedShown is how many changed paths of one command are named.
const changedShown = 8

func (p *progress) changed(c sandbox.Changes) {
	if !c.None() {
		p.line("2", "  changed %s", c.Words(p.folder, changedShown))
	}
	if words := c.Undoable(); words != "" {
		p.line("2", "  %s", words)
	}
}

func (p *progress) output(text string) {
	shown := outputShown
	if p.detail == Verbose {
		shown = len(text)
	}
	for _, l := range lastLines(text, shown) {
		p.line("2", "  | %s", l)
	}
}

func (p *progress) answered(e event.PermissionAnswered) {
	if e.Answer != word.AnswerRefused && e.Answer != word.AnswerDenied {
		p.line("32", "  granted: %s", e.Answer)
		return
	}
	p.line("31", "  refused: %s", e.Reason)
	if e.Hint != "" {
		p.line("", "  to allow it: %s", e.Hint)
	}
}

func (p *progress) finished(e event.TurnFinished) {
	if len(e.Refused) == 0 {
		return // the reason of a failed turn is the last line of the whole run
	}
	p.line("31", "%s refused, because nobody could be asked:", short.Count(len(e.Refused), "permission"))
	for _, r := range e.Refused {
		p.line("", "  %s", r.Title)
		for _, g := range r.Grant.Lines(nil) {
			p.line("", "    %s", g)
		}
		if r.Hint != "" {
			p.line("", "    to allow it: %s", r.Hint)
		}
	}
}

// line writes one line. Its text may come from the model or a command, so control
// characters are made visible, and no CI system obeys it.
func (p *progress) line(color, format string, args ...any) {
	text := visible.Log(visible.Line(p.name + fmt.Sprintf(format, args...)))
	if p.color && color != "" {
		text = "\x1b[" + color + "m" + text + "\x1b[0m"
	}
	fmt.Fprintln(p.w, text)
}

func lastLines(s string, n int) []string {
	if s = strings.TrimRight(s, "\n"); s == "" {
		return nil
	}
	all := strings.Split(s, "\n")
	return all[max(0, len(all)-n):]
}
