package tui

import (
	"cmp"
	"fmt"
	"strings"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/sandbox"
)

// asked is a request for a permission, by a call or by itself.
type asked struct {
	request event.PermissionRequested
	answer  *event.PermissionAnswered
	// chosen is the person's choice; the event has the same value for a yes inside
	// and outside the sandbox.
	chosen approvals.Decision
}

// fewDenials is how many of the denials that mattered a folded call shows.
const fewDenials = 3

// denialLines lists what the sandbox denied: a line each, and in an open call also
// who tried it and how that is known.
func denialLines(c canvas, v sandbox.Verdict) []string {
	var shown []sandbox.Denial
	for _, d := range v.Denials {
		if !d.Moot || c.open {
			shown = append(shown, d)
		}
	}
	most := mostDenials
	if !c.open {
		most = fewDenials
	}
	var out []string
	for i, d := range shown {
		if i == most && len(shown) > most+1 {
			out = append(out, c.theme.row(c.inner(), dim.span(fmt.Sprintf("… and %d more", len(shown)-most))))
			break
		}
		out = append(out, c.theme.wrap(c.inner(), refused(d, c.home, c.open)...)...)
		if c.open {
			for _, l := range records(d, c.home) {
				out = append(out, wrapper{theme: c.theme, width: c.inner(), first: []span{dim.span("    ")}, rest: []span{dim.span("      ")}}.lines(flat([]span{dim.span(l)})...)...)
			}
		}
	}
	return indent(out)
}

// draw shows a permission that belongs to no call.
func (a *asked) draw(c canvas) []string {
	head := c.hang(warn.span("?"), text.span(cmp.Or(a.request.Title, "permission")))
	return append(head, indent(a.lines(c))...)
}

// lines say what was asked for and how it was answered.
func (a *asked) lines(c canvas) []string {
	if a.answer == nil {
		return nil
	}
	what := strings.Join(grantLines(a.request.Wanted, c.home), ", ")
	s, word, reason := warn, "denied", a.answer.Reason
	switch a.answer.Answer {
	case event.AnswerOnce:
		s, word = good, "allowed once"
	case event.AnswerSession:
		s, word = good, "allowed for this session"
	case event.AnswerStopped:
		word = "denied; turn stopped"
	case event.AnswerRefused:
		word = "refused: nobody could answer"
	}
	if a.request.Held {
		word = map[event.Answer]string{
			event.AnswerOnce: "allowed while it ran", event.AnswerSession: "allowed while it ran, and for this session",
			event.AnswerStopped: "denied; turn stopped",
		}[a.answer.Answer]
		word = cmp.Or(word, "denied while it ran")
		if rest, ok := strings.CutPrefix(reason, "no answer"); ok { // nobody denied it
			word, reason = "no answer while it ran", strings.TrimPrefix(rest, ": ")
		}
	}
	switch a.chosen {
	case approvals.Outside, approvals.OutsideSession:
		if s == good {
			s, word, what = warn, word+", outside the sandbox", ""
		}
	}
	spans := []span{s.span(word)}
	if what != "" {
		spans = append(spans, text.span(": "+what))
	}
	if reason != "" {
		spans = append(spans, dim.span("  “"+reason+"”"))
	}
	if a.answer.Hint != "" {
		spans = append(spans, dim.span("  "+a.answer.Hint))
	}
	return c.theme.wrap(c.inner(), spans...)
}

// permissions lists the session's questions and answers, the latest last.
func (t *transcript) permissions(th *theme, w int, home string) []string {
	if len(t.asked) == 0 {
		return th.wrap(w, dim.span("No permission was asked for in this session."))
	}
	c := canvas{theme: th, width: w, home: home}
	var out []string
	for i, a := range t.asked {
		if i > 0 {
			out = append(out, "")
		}
		out = append(out, th.wrap(w, strong.span(cmp.Or(a.request.Title, a.request.Command, "permission")))...)
		if a.request.Command != "" {
			out = append(out, th.row(w, text.span("  $ "+a.request.Command)))
		}
		if a.answer == nil {
			out = append(out, th.row(w, warn.span("  waiting for your answer")))
			continue
		}
		for _, l := range a.lines(c) {
			out = append(out, "  "+l)
		}
	}
	return out
}
