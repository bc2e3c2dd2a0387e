package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/keys"
)

// between reports whether no turn runs; else a hint says what to do. The key comes
// first, because a narrow screen cuts the end off.
func (m *app) between(what string) (tea.Cmd, bool) {
	if m.work.running {
		return m.say(keyName(keyFor(everywhere, keys.Back)) + " interrupts the turn; " + what + " needs no turn running"), false
	}
	return nil, true
}

// compact is /compact: it runs as a turn does.
func compact(m *app, focus string) tea.Cmd {
	if no, ok := m.between("/compact"); !ok {
		return no
	}
	m.transcript.End()
	shorten := m.offers.Compact
	return m.begin("Compacting", m.run(func(ctx context.Context) (then, error) { return nil, shorten(ctx, focus) }))
}
