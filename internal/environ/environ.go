// Package environ keeps the variables that codeagent was started with, and removes from its
// own process those that make libraries run programs or open files by name. It may import
// package os alone. Start reading at Started.
//
// Threat: lipgloss detects the colours of the terminal when its package is initialised, and
// bubbletea when a screen starts. Inside tmux they execute "tmux info" by PATH, and they open
// the terminal's description by the folders of TERMINFO. PATH and these folders can lead into
// a workspace (a venv's bin), where a command may have put a program, or a FIFO that blocks.
//
// Go initialises packages in the order of their import paths, as soon as all their imports
// are initialised. This one imports only os, and lipgloss imports packages whose paths come
// after it. So this package comes first; a test on the built binary checks it.
package environ

import (
	"os"
	"slices"
	"strings"
)

// acting are the variables that libraries act on: TMUX and TTY_FORCE make colorprofile
// execute tmux, TERMINFO and TERMINFO_DIRS make terminfo open files.
var acting = []string{"TMUX", "TTY_FORCE", "TERMINFO", "TERMINFO_DIRS"}

// Started is the environment at the start, as os.Environ gives it.
var Started = take()

func take() []string {
	all := os.Environ()
	for _, name := range acting {
		_ = os.Unsetenv(name) // fails only for an invalid name
	}
	return all
}

// Inert returns env without the variables that libraries act on.
func Inert(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(acting, name)
	})
}
