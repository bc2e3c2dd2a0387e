package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/reader"
)

// mostOutput bounds what is shown of a file with a command's output.
const mostOutput = 4 << 20

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
	var file func(context.Context, string) (string, error)
	if outputs := m.offers.Background; outputs != nil {
		file = func(ctx context.Context, name string) (string, error) {
			data, err := outputs.File(ctx, name, mostOutput)
			switch {
			case err != nil:
				return "", err
			case len(data) == mostOutput:
				data = append(data, "\n… the rest is in "+paint.Tilde(name, m.facts.home)...)
			}
			return string(data), nil
		}
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
