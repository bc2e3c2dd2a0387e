package tui

import (
	tea "charm.land/bubbletea/v2"

	"codeagent/tui/reader"
)

// findText is Ctrl+F, and /find with a text.
func findText(m *app, text string) tea.Cmd {
	r, ok := m.panel.(*reader.Reader)
	if !ok {
		r = readTranscript(m)
	}
	r.Look(text)
	return nil
}

// readTranscript is Ctrl+T.
func readTranscript(m *app) *reader.Reader {
	var file reader.File
	if outputs := m.offers.Background; outputs != nil {
		file = outputs.File
	}
	r := reader.New(&m.transcript, m.keys, m.canvas, file)
	m.panel = r
	return r
}
