package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/keys"
)

// A terminal without bracketed paste sends a paste as keys. They come faster than anybody
// types; an Enter among them is a line break and sends nothing. Whether more follows an
// Enter is known only afterwards, so one that came that fast waits for a moment.

const (
	// burstGap is the greatest time between two keys of a paste, as they are taken.
	burstGap = 10 * time.Millisecond
	// burstHold is how long an Enter waits for what follows it.
	burstHold = 30 * time.Millisecond
)

// burst is what is known about keys that came in quick succession.
type burst struct {
	gap    time.Duration // 0: every key is typed
	last   time.Time     // of the last key
	text   bool          // it entered text
	pasted bool          // a line break was recognised among them
	held   *tea.Key      // an Enter that waits
	number int           // of that one
}

// heldMsg ends the wait of Enter number at.
type heldMsg struct{ at int }

// joinBurst takes a key of the message that belongs to a paste; false: it is typed.
func joinBurst(m *app, k tea.Key) (cmd tea.Cmd, handled bool) {
	b := &m.burst
	if b.gap == 0 {
		return nil, false
	}
	now, do := m.now(), m.keys.Find(k, keys.InComposer, keys.Everywhere)
	text, enter := keys.Typed(k) != "", k.Code == tea.KeyEnter && do == keys.Send
	quick := b.text && now.Sub(b.last) <= b.gap
	b.pasted = b.pasted && quick
	b.last, b.text = now, text || enter || quick && k.Code == tea.KeyTab
	if b.held != nil {
		if quick && b.text {
			b.held, b.pasted = nil, true
			m.composer.Typed("\n")
		} else {
			cmd = endBurst(m, b.number)
		}
	}
	switch {
	case quick && enter && b.pasted:
		m.composer.Typed("\n")
	case quick && enter && !m.composer.Normal():
		b.held, b.number = &k, b.number+1
		at := b.number
		return m.after(burstHold, func(time.Time) tea.Msg { return heldMsg{at} }), true
	case quick && k.Code == tea.KeyTab && k.Mod == 0 && b.pasted:
		m.composer.Typed("\t")
	case cmd != nil:
		return tea.Batch(cmd, m.write(k)), true
	default:
		return nil, false
	}
	return cmd, true
}

// endBurst does what the Enter that waits stands for: nothing followed it.
func endBurst(m *app, at int) tea.Cmd {
	held := m.burst.held
	if held == nil || at != m.burst.number {
		return nil
	}
	m.burst.held, m.burst.text = nil, false
	return m.key(*held)
}
