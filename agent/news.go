package agent

import (
	"strings"

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
	for _, e := range a.cfg.News() {
		a.append(model.Item{Kind: model.Note, Text: a.endedWords(e), Carried: changedBy(e.Changed)})
		a.emit(e)
	}
}

// endedWords is what the model is told of a background command that has ended by
// itself. Each line that the command printed is marked as its own: a note stands
// among what codeagent and the person say.
func (a *Agent) endedWords(e event.BackgroundEnded) string {
	var b strings.Builder
	b.WriteString("[" + e.Message + "]")
	if e.Output != "" {
		b.WriteString("\nThe last of its unread output:")
		for line := range strings.SplitSeq(strings.TrimRight(e.Output, "\n"), "\n") {
			b.WriteString("\n| " + line)
		}
	}
	if words := a.denial(e.Verdict); words != "" {
		b.WriteString("\n" + strings.TrimRight(words, "\n"))
	}
	return b.String()
}
