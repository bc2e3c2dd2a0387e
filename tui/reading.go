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
	r := reader.New(&m.transcript, m.keys, m.canvas, outputs(m))
	m.panel = r
	return r
}

// outputs reads the files with whole outputs; nil: none can be read.
func outputs(m *app) reader.File {
	if background := m.offers.Background; background != nil {
		return background.File
	}
	return nil
}
