package tui

import (
	tea "charm.land/bubbletea/v2"

	"codeagent/tui/part"
	"codeagent/tui/rewind"
	"codeagent/tui/undoing"
)

// rewinds is what going back gets of the screen.
func (m *app) rewinds() rewind.Screen {
	return rewind.Screen{Shown: m.transcript.Size, Screen: undoing.Screen{
		Setting: m.setting(), Jobs: func() int { return m.facts.Running },
	}}
}

// rewound shows what going back did: the removed messages leave the transcript, and the first of them
// returns to the editor.
func rewound(m *app, d rewind.Done) tea.Cmd {
	if len(d.Gone) > 0 {
		var sent []string
		for _, said := range d.Gone {
			sent = append(sent, said.Shown())
		}
		m.transcript.Rewind(d.Shown, sent)
		m.composer.TakeBack(m.images.Numbered(d.Gone[0]))
	}
	m.transcript.End()
	if d.Told != nil {
		return m.do(d.Told)
	}
	if len(d.Gone) == 0 {
		return nil
	}
	return m.do(part.Say("went back; /redo takes it back"))
}
