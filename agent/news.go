package agent

import (
	"codeagent/event"
	"codeagent/model"
)

// news tells, before a request, what has happened beside the conversation, so
// that the model need not ask.
func (t *turn) news() {
	a := t.agent
	if a.cfg.News == nil {
		return
	}
	for _, line := range a.cfg.News() {
		a.append(model.Item{Kind: model.Note, Text: "[" + line + "]"})
		a.emit(event.Notice{Level: "info", Text: line})
	}
}
