package sandboxtest

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"codeagent/internal/machine"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// Output runs one command of a backend and returns everything it printed.
func Output(t *testing.T, b resolved.Backend, p sandbox.Policy, cmd sandbox.Command) (sandbox.Status, string) {
	t.Helper()
	st, out, _ := Traced(t, b, p, cmd)
	return st, out
}

// Traced also returns the command's denials.
func Traced(t *testing.T, b resolved.Backend, p sandbox.Policy, cmd sandbox.Command) (sandbox.Status, string, []sandbox.Denial) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout, cmd.Stderr = w, w
	ctx, cancel := context.WithTimeout(t.Context(), machine.Patience(30*time.Second))
	defer cancel()
	proc, err := Start(b, ctx, p, cmd, nil)
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	st, err := proc.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return st, string(out), proc.Trace().Denials
}

// Observer is a change observer made of a function.
type Observer func(dir int, name, path string)

// Unsaved holds nothing.
func (Observer) Unsaved(int, string, string) string { return "" }

// BeforeChange calls the function.
func (f Observer) BeforeChange(dir int, name, path string) { f(dir, name, path) }
