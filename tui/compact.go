package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/keys"
)

// between is "" while no turn runs, else a hint what to do first. The key comes
// first in it, because a narrow screen cuts the end off.
func (w *work) between(what string) string {
	if w.running {
		return keyFor(everywhere, keys.Back) + " interrupts the turn; " + what + " needs no turn running"
	}
	return ""
}

// compact is /compact: it runs as a turn does.
func compact(m *app, focus string) tea.Cmd {
	if hint := m.work.between("/compact"); hint != "" {
		return m.say(hint)
	}
	m.transcript.End()
	shorten := m.offers.Compact
	return m.begin("Compacting", m.run(func(ctx context.Context) (then, error) { return nil, shorten(ctx, focus) }))
}
