// Package cli holds what the commands of codeagent share: the streams and the environment
// they run in, the values of the common flags, and the errors that carry an exit status
// and hints. It writes to the streams and to files that a flag names, and starts nothing.
// Read exit.go first: it is the one table from an error to a status.
package cli

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"codeagent/internal/visible"

	"golang.org/x/term"
)

// Stdio is the program's whole environment: nothing below cmd reads os.Stdin, os.Stdout or
// os.Environ.
type Stdio struct {
	In, Out, Err *os.File
	Environ      []string
	// Text writes to Out and remembers an error: codeagent fails if its output was lost.
	Text *Output
	// Version is the git description of the build, HelperSum the SHA-512 of the sandbox
	// helper built with it. If HelperSum is empty, any helper beside codeagent is accepted.
	Version, HelperSum string
	// Quit ends the process at once, without cleaning up; nil: never.
	Quit func(code int)
}

// Output is a writer that remembers its first error.
type Output struct {
	W   io.Writer
	Err error
}

func (t *Output) Write(p []byte) (int, error) {
	n, err := t.W.Write(p)
	if t.Err == nil {
		t.Err = err
	}
	return n, err
}

// Interactive reports whether input and output are terminals.
func (s Stdio) Interactive() bool { return IsTerminal(s.In) && IsTerminal(s.Out) }

// ErrColor reports whether progress may have colour.
func (s Stdio) ErrColor() bool {
	return IsTerminal(s.Err) && s.Env("NO_COLOR") == "" && s.Env("TERM") != "dumb"
}

// Env returns the last value of a variable, as in the C library.
func (s Stdio) Env(name string) string {
	for _, kv := range slices.Backward(s.Environ) {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

// PrintJSON writes v as one line.
func PrintJSON(w io.Writer, v any) error {
	data, err := visible.JSON(v, "")
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// NoScreen returns why no screen can be shown: there is no terminal, or it cannot move its
// cursor. It returns nil if a screen is possible.
func (s Stdio) NoScreen() error {
	switch {
	case s.Interactive() && s.Env("TERM") != "dumb":
		return nil
	case s.Interactive():
		return Usage(errors.New("this terminal cannot show a screen (TERM=dumb)"),
			"without a screen use: codeagent exec \"PROMPT\"",
			"where the terminal can do more than it says: TERM=xterm-256color codeagent")
	}
	return Usage(errors.New("no terminal here"), "in scripts use: codeagent exec \"PROMPT\"", "to see the tour without a terminal: codeagent exec </dev/null")
}
