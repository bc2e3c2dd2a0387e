package transcript

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
	"codeagent/tui/denial"
	"codeagent/tui/paint"
)

// question is a request for a permission, by a call or by itself.
type question struct {
	request event.PermissionRequested
	answer  *event.PermissionAnswered
	// chosen is the person's choice; the event has the same value for a yes inside
	// and outside the sandbox.
	chosen approvals.Decision
}

// fewDenials is how many of the denials that mattered a folded call shows.
const fewDenials = 3

// denialLines lists what the sandbox denied: a line each, and in an open call also
// who tried it and how that is known. What a command that passed did without is one dim line.
func denialLines(c Canvas, v sandbox.Verdict) []string {
	var shown []sandbox.Denial
	spared := v.Spared()
	for _, d := range v.Denials {
		mattered := !d.Moot && !slices.ContainsFunc(spared, func(o sandbox.Denial) bool { return o.Order == d.Order && o.Kind == d.Kind && o.Target == d.Target })
		if mattered || c.open {
			shown = append(shown, d)
		}
	}
	most := denial.Most
	if !c.open {
		most = fewDenials
	}
	var out []string
	for i, d := range shown {
		if i == most && len(shown) > most+1 {
			out = append(out, c.Theme.Row(c.Inner(), paint.Dim.Span(fmt.Sprintf("… and %d more", len(shown)-most))))
			break
		}
		out = append(out, c.Theme.Wrap(c.Inner(), denial.Line(d, c.Home, c.Folder, c.open)...)...)
		if c.open {
			for _, l := range denial.Records(d, c.Home) {
				out = append(out, paint.Wrapper{Theme: c.Theme, Width: c.Inner(), First: []paint.Span{paint.Dim.Span("    ")}, Rest: []paint.Span{paint.Dim.Span("      ")}}.Lines(paint.Flat([]paint.Span{paint.Dim.Span(l)})...)...)
			}
		}
	}
	if words := sandbox.SparedWords(spared, func(name string) string { return short.Middle(paint.Tilde(name, c.Home), mostSpared) }); words != "" && !c.open {
		out = append(out, c.Theme.Wrap(c.Inner(), paint.Flat([]paint.Span{paint.Dim.Span("⊘ " + words)})...)...)
	}
	if v.Experiment != "" {
		out = append(out, c.Theme.Wrap(c.Inner(), paint.Flat([]paint.Span{paint.Dim.Span(v.Experiment)})...)...)
	}
	return paint.Indent(out)
}

// mostSpared bounds a name in the line of what a command did without.
const mostSpared = 60

// Draw shows a permission that belongs to no call.
func (a *question) Draw(c Canvas) []string {
	head := c.Hang(paint.Warn.Span("?"), paint.Text.Span(cmp.Or(a.request.Title, "permission")))
	return append(head, paint.Indent(a.lines(c))...)
}

// lines say what was asked for and how it was answered.
func (a *question) lines(c Canvas) []string {
	if a.answer == nil {
		return nil
	}
	what := strings.Join(denial.Grants(a.request.Wanted, c.Home), ", ")
	s, said, reason := paint.Warn, "denied", a.answer.Reason
	switch a.answer.Answer {
	case word.AnswerOnce:
		s, said = paint.Good, "allowed once"
	case word.AnswerSession:
		s, said = paint.Good, "allowed for this session"
	case word.AnswerAlways:
		s, said = paint.Good, "allowed, always"
	case word.AnswerStopped:
		said = "denied; turn stopped"
	case word.AnswerRefused:
		said = "refused: nobody could answer"
	}
	if a.request.Held {
		said = map[word.Answer]string{
			word.AnswerOnce: "allowed while it ran", word.AnswerSession: "allowed while it ran, and for this session",
			word.AnswerAlways:  "allowed while it ran, and always",
			word.AnswerStopped: "denied; turn stopped",
		}[a.answer.Answer]
		said = cmp.Or(said, "denied while it ran")
		if rest, ok := strings.CutPrefix(reason, "no answer"); ok { // nobody denied it
			said, reason = "no answer while it ran", strings.TrimPrefix(rest, ": ")
		}
	}
	if a.chosen.Leaves() && s == paint.Good {
		s, said, what = paint.Warn, said+", outside the sandbox", ""
	}
	spans := []paint.Span{s.Span(said)}
	if what != "" {
		spans = append(spans, paint.Text.Span(": "+what))
	}
	if a.answer.Unsaved != "" {
		spans = append(spans, paint.Warn.Span("  the rule could not be saved: "+a.answer.Unsaved))
	}
	if reason := quoted(a.answer.Answer, reason); reason != "" {
		spans = append(spans, paint.Dim.Span("  "+reason))
	}
	if a.answer.Hint != "" {
		spans = append(spans, paint.Dim.Span("  "+a.answer.Hint))
	}
	return c.Theme.Wrap(c.Inner(), spans...)
}

// quoted is the reason of an answer: only the person's own words are in quotes.
func quoted(answer word.Answer, reason string) string {
	words, own := answer.OwnWords(reason)
	if !own || words == "" {
		return words
	}
	return "“" + words + "”"
}

// Permissions lists the session's questions and answers, the latest last.
func (t *Transcript) Permissions(th *paint.Theme, w int, home string) []string {
	if len(t.asked) == 0 {
		return th.Wrap(w, paint.Dim.Span("No permission was asked for in this session."))
	}
	c := Canvas{Theme: th, Width: w, Home: home}
	var out []string
	for i, a := range t.asked {
		if i > 0 {
			out = append(out, "")
		}
		out = append(out, th.Wrap(w, paint.Strong.Span(cmp.Or(a.request.Title, a.request.Command, "permission")))...)
		if a.request.Command != "" {
			out = append(out, th.Row(w, paint.Text.Span("  $ "+a.request.Command)))
		}
		if a.answer == nil {
			out = append(out, th.Row(w, paint.Warn.Span("  waiting for your answer")))
			continue
		}
		for _, l := range a.lines(c) {
			out = append(out, "  "+l)
		}
	}
	return out
}
