package agent

import (
	"strings"

	"codeagent/event"
	"codeagent/model"
)

// news reports, before a request, which background commands have ended, so that the model
// need not ask.
func (t *turn) news() {
	a := t.agent
	if a.cfg.News == nil {
		return
	}
	for _, e := range a.cfg.News() {
		a.append(model.Item{Kind: model.Note, Text: a.endedWords(e), Carried: kept(e)})
		a.emit(e)
	}
}

// endedWords returns the note for the model about a background command that has ended. Each
// line printed by the command is marked, because notes are codeagent's own words.
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
