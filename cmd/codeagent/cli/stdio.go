// Package cli holds what the commands of codeagent share: the streams and the environment
// they run in, the values of the common flags, and the errors that carry an exit status
// and hints. It writes to the streams and to files that a flag names, and starts nothing.
// Read exit.go first: it is the one table from an error to a status.
package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"codeagent/eventlog"
	"codeagent/hostfile"
	"codeagent/internal/visible"

	"golang.org/x/term"
)

// Stdio are the streams and the environment: nothing below cmd reads os.Stdin, os.Stdout or os.Environ.
type Stdio struct {
	In, Out, Err *os.File
	Environ      []string
	// Text writes to Out and remembers an error: codeagent fails if its output was lost.
	Text *Output
}

// Process is what the build and the start of codeagent know, and what has one owner in it.
type Process struct {
	// Version is the git description of the build, HelperSum the SHA-256 of the sandbox
	// helper built with it. If HelperSum is empty, any helper beside codeagent is accepted.
	Version, HelperSum string
	// OpenFiles is the limit of open files with which codeagent was started, for its commands; 0: its
	// own now.
	OpenFiles uint64
	// Lent: another program has the terminal, and what Ctrl+C and Ctrl+\ send is for it. Nil: none
	// ever has.
	Lent *atomic.Bool
	// Log is what --log opens; nil or closed: no log.
	Log *eventlog.Log
}

// Lend gives the terminal to another program until the returned function is called.
func (p Process) Lend() (back func()) {
	if p.Lent == nil {
		return func() {}
	}
	p.Lent.Store(true)
	return func() { p.Lent.Store(false) }
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

// PrintJSON writes v as one line, or with an indent.
func PrintJSON(w io.Writer, v any, indent string) error {
	data, err := visible.JSON(v, indent)
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// Dumb reports whether the terminal cannot move its cursor.
func (s Stdio) Dumb() bool { return s.Env("TERM") == "dumb" }

// NoScreen returns why nobody can be talked to: there is no terminal. It returns nil if there is.
func (s Stdio) NoScreen() error {
	if s.Interactive() {
		return nil
	}
	return Usage(errors.New("no terminal here"), "in scripts use: codeagent exec \"PROMPT\"", "to see the tour without a terminal: codeagent exec </dev/null")
}

// OutputFile is a file that a flag names; it is written when there is output.
type OutputFile struct {
	flag string
	file *hostfile.Replacement
}

// OpenOutput finds the folder of the file that flag names before any command of the run
// starts. It follows no link that an earlier command may have planted. It returns nil if no
// file is named.
func OpenOutput(g hostfile.Ground, flag, name string, perm fs.FileMode) (*OutputFile, error) {
	if name == "" {
		return nil, nil
	}
	var file *hostfile.Replacement
	name, err := filepath.Abs(name)
	if err == nil {
		name, err = g.Resolve("/", name)
	}
	if err == nil {
		file, err = hostfile.Replace(name, perm)
	}
	if err != nil {
		return nil, Usage(fmt.Errorf("%s: %w", flag, err))
	}
	return &OutputFile{flag, file}, nil
}

// Write replaces the file with the output of write.
func (o *OutputFile) Write(write func(io.Writer) error) error {
	if err := o.file.Write(write); err != nil {
		return fmt.Errorf("%s: %w", o.flag, err)
	}
	return nil
}

// Close releases a file that was not written.
func (o *OutputFile) Close() {
	if o != nil {
		_ = o.file.Close() // only a folder was opened
	}
}
