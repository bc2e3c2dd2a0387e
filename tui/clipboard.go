package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// stillRead is said where something is not sent yet: what is being pasted belongs
// to it.
const stillRead = "the clipboard is still being read; Esc leaves it"

// readClipboard has the clipboard read for c, the message or a note. The screen
// goes on meanwhile; Esc and Ctrl+C leave it.
func (m *app) readClipboard(c *composer) tea.Cmd {
	clipboard := m.offers.Clipboard
	if clipboard == nil || m.unread != nil {
		return nil
	}
	if c == &m.composer {
		m.disarm()
	}
	wanted, leave := context.WithCancel(context.Background())
	m.unread = leave
	return m.aside(func(ctx context.Context) then {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(wanted, cancel)()
		clip, err := clipboard.Read(ctx)
		return func(m *app) tea.Cmd {
			if wanted.Err() != nil {
				return nil // it was left
			}
			m.leaveClipboard()
			cmd := m.clipped(c, clip, err)
			return tea.Batch(cmd, m.stir())
		}
	})
}

// leaveClipboard gives up on what is being read, if anything.
func (m *app) leaveClipboard() {
	if m.unread != nil {
		m.unread()
		m.unread = nil
	}
}

// clipped pastes what the clipboard held where it was asked for.
func (m *app) clipped(c *composer, clip Clip, err error) tea.Cmd {
	q := m.questions.front()
	note := c != &m.composer
	switch {
	case err != nil:
		m.note("warning", err.Error())
		m.transcript.end()
	case note && (q == nil || q.field != c):
		return m.say("the note is closed")
	case note && clip.Image != nil:
		return m.say("a note takes text only")
	case clip.Image != nil:
		m.disarm()
		m.composer.save(false)
		m.composer.attach(m.numbered(Message{Images: []Image{*clip.Image}}).Images[0])
	default:
		return m.pasteInto(c, clip.Text)
	}
	return nil
}

// pasteInto pastes into the message, or into a note, which is one line.
func (m *app) pasteInto(c *composer, s string) tea.Cmd {
	if c != &m.composer {
		c.paste(strings.Join(strings.Fields(s), " "))
		return nil
	}
	m.disarm()
	if cmd := m.pasteImage(s); cmd != nil {
		return cmd
	}
	c.paste(s)
	return nil
}

// disarm takes the keys from a question: the message is written on.
func (m *app) disarm() {
	if q := m.questions.front(); q != nil {
		q.armed = false
	}
}
