package headless

import (
	"strings"

	"codeagent/event"
	"codeagent/internal/short"
)

// Bounds of what progress shows of one message: a model can write without end.
const (
	wordsLines = 20
	wordsBytes = 4 << 10
)

// words separates the messages a model sends during its work from its answer, which is
// printed only on stdout. What a message is depends on what follows it:
//
//	message -> a call, or another request -> interim: shown
//	message -> the end of the turn        -> the answer: not shown
//	message -> a retry                    -> void
type words struct {
	held []string
	// onTheWay: the present answer has a call, so it is not the last.
	onTheWay bool
}

// after processes an event and returns the messages that are now known to be interim.
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
		w.onTheWay = true // an answer that broke off is shown only here
	}
	if !w.onTheWay {
		return nil
	}
	said := w.held
	w.held = nil
	return said
}

// said shows one text of the model. Each line has a mark, so that no line of the model
// can be mistaken for one of codeagent, or obeyed by a CI system (which interprets lines
// that begin with "::").
func (p *progress) said(mark, text string) {
	p.of = ""
	left := wordsBytes
	for i, l := range strings.Split(strings.TrimSpace(text), "\n") {
		if i == wordsLines {
			p.line("2", "%s …", mark)
			return
		}
		l = strings.TrimRight(l, " \t\r")
		if len(l) > left {
			p.line("", "%s %s…", mark, short.Head(l, left))
			return
		}
		left -= len(l)
		p.line("", "%s", strings.TrimRight(mark+" "+l, " "))
	}
}
