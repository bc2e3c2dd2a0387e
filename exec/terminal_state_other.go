//go:build !linux

package exec

import (
	"os"

	"golang.org/x/term"
)

// TerminalState is what a foreground command shares with the process that started
// codeagent and can change: here the modes of a terminal.
type TerminalState struct {
	files []*os.File
	modes []*term.State
}

// SaveTerminal records the state of files; nil entries are skipped.
func SaveTerminal(files ...*os.File) TerminalState {
	var s TerminalState
	for _, f := range files {
		if f == nil {
			continue
		}
		if modes, err := term.GetState(int(f.Fd())); err == nil {
			s.files, s.modes = append(s.files, f), append(s.modes, modes)
		}
	}
	return s
}

// Restore puts the recorded state back.
func (s TerminalState) Restore() {
	for i, f := range s.files {
		_ = term.Restore(int(f.Fd()), s.modes[i])
	}
}
