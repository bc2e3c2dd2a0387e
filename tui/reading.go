package tui

import (
	tea "charm.land/bubbletea/v2"

	"codeagent/tui/keys"
	"codeagent/tui/part"
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

// blockKey takes a key that means the chosen block, while nothing was typed.
func blockKey(m *app, k tea.Key) (handled bool, cmd tea.Cmd) {
	if !m.transcript.Chosen() || !m.composer.Empty() || m.rewind.Active() {
		return false, nil
	}
	switch m.keys.Find(k, keys.InBlock) {
	case keys.Open:
		m.transcript.Toggle(m.canvas())
	case keys.Copy:
		return true, m.do(part.Copy(m.transcript.Source()))
	default:
		if keys.Typed(k) != "" {
			m.transcript.Unchoose()
		}
		return false, nil
	}
	return true, nil
}
