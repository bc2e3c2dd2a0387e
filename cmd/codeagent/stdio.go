package main

import (
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"codeagent/internal/visible"
)

// stdio is all that the program touches of its surroundings: nothing below cmd
// reads os.Stdin, os.Stdout or os.Environ.
type stdio struct {
	In, Out, Err *os.File
	Environ      []string
	// told is Out for words: a run of which nobody got the words does not end with 0.
	told *told
	// Quit ends the process at once, without any cleaning up; nil: never.
	Quit func(code int)
}

// told is a writer that remembers its first error.
type told struct {
	w   io.Writer
	err error
}

func (t *told) Write(p []byte) (int, error) {
	n, err := t.w.Write(p)
	if t.err == nil {
		t.err = err
	}
	return n, err
}

// interactive reports whether a person sits at both ends.
func (s stdio) interactive() bool { return isTerminal(s.In) && isTerminal(s.Out) }

// errColor reports whether progress may be coloured.
func (s stdio) errColor() bool {
	return isTerminal(s.Err) && s.env("NO_COLOR") == "" && s.env("TERM") != "dumb"
}

// env is the last value of a variable, as in the C library.
func (s stdio) env(name string) string {
	for _, kv := range slices.Backward(s.Environ) {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

func isTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

// printJSON writes v in one line.
func printJSON(w io.Writer, v any) error {
	data, err := visible.JSON(v, "")
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}
