package tui

import (
	tea "charm.land/bubbletea/v2"

	"codeagent/tui/mention"
)

// mentioned is the word with @ under the cursor, and whether one is there.
func (m *app) mentioned() (mention.Word, bool) {
	from, query, ok := m.composer.Mention()
	return mention.Word{From: from, Query: query}, ok && !m.composer.Normal()
}

// lookUp follows the word under the cursor, after every key.
func lookUp(m *app) tea.Cmd {
	s := mention.Sources{Files: m.offers.Writing.Files, Now: m.now}
	if m.templates.Servers != nil {
		s.Resources = m.templates.Servers.Resources
	}
	word, ok := m.mentioned()
	return m.do(m.menu.files.Follow(word, ok, s))
}
