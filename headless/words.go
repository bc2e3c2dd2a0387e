package headless

import (
	"strings"

	"codeagent/event"
	"codeagent/internal/short"
)

// What progress shows of one message of the model, at most: its writer is as
// free as a command is to print for ever.
const (
	wordsLines = 20
	wordsBytes = 4 << 10
)

// words tells apart what the model says on its way from its answer, which is
// printed on stdout and nowhere else. Which of them a message is shows only in
// what follows it:
//
//	message -> a call, or another request -> said on the way: shown
//	message -> the end of the turn        -> the answer: not shown
//	message -> a retry                    -> void
type words struct {
	held []string
	// onTheWay: the answer that comes has a call, so that it is not the last.
	onTheWay bool
}

// after takes in an event and returns the messages that are known by it to have
// been said on the way.
func (w *words) after(e event.Event) []string {
	switch e := e.(type) {
	case event.MessageFinished:
		w.held = append(w.held, e.Text)
	case event.ToolStarted:
		w.onTheWay = true
	case event.RequestStarted, event.Compacting, event.Steered:
		said := w.held
		w.held, w.onTheWay = nil, false
		return said
	case event.Retrying:
		w.held = nil
	case event.TurnFinished:
		if e.Answer != "" {
			w.held = nil
		}
		w.onTheWay = true // an answer that broke off has no place but here
	}
	if !w.onTheWay {
		return nil
	}
	said := w.held
	w.held = nil
	return said
}

// said shows one message of the model. Each line has its mark: nothing that the
// model says can be taken for a line of codeagent's own, or of a CI system's
// (which obeys what begins with "::").
func (p *progress) said(text string) {
	p.of = ""
	left := wordsBytes
	for i, l := range strings.Split(strings.TrimSpace(text), "\n") {
		if i == wordsLines {
			p.line("2", "> …")
			return
		}
		l = strings.TrimRight(l, " \t\r")
		if len(l) > left {
			p.line("", "> %s…", short.Head(l, left))
			return
		}
		left -= len(l)
		p.line("", "%s", strings.TrimRight("> "+l, " "))
	}
}
