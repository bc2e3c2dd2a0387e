package sandboxtest

import (
	"context"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"codeagent/internal/machine"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// Output runs one command of a backend and returns everything it printed.
func Output(t testing.TB, b resolved.Backend, p sandbox.Policy, cmd sandbox.Command) (sandbox.Status, string) {
	t.Helper()
	st, out, _ := Traced(t, b, p, cmd)
	return st, out
}

// Traced also returns the command's denials.
func Traced(t testing.TB, b resolved.Backend, p sandbox.Policy, cmd sandbox.Command) (sandbox.Status, string, []sandbox.Denial) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), machine.Patience(30*time.Second))
	defer cancel()
	st, out, trace := Finish(t, ctx, b, p, cmd, nil)
	return st, out, trace.Denials
}

// Finish runs one command, whose refused calls wait for the answers of h, until ctx ends. It returns how the
// command ended, everything it printed and its trace.
func Finish(t testing.TB, ctx context.Context, b resolved.Backend, p sandbox.Policy, cmd sandbox.Command, h sandbox.Holder) (sandbox.Status, string, sandbox.Trace) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout, cmd.Stderr = w, w
	proc, err := Start(b, ctx, p, cmd, h)
	_ = w.Close()
	if err != nil {
		said, _ := io.ReadAll(r) // a program that a backend starts may say why
		t.Fatalf("%v %s", err, said)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	st, err := proc.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return st, string(out), proc.Trace()
}

// HasLayer reports whether that layer is active for commands of b.
func HasLayer(t testing.TB, b resolved.Backend, layer string) bool {
	t.Helper()
	e, err := Enforcement(b, sandbox.ReadOnly())
	if err != nil {
		t.Fatal(err)
	}
	return slices.Contains(e.Active(), layer)
}

// Observer is a change observer made of a function.
type Observer func(dir int, name, path string)

// Unsaved holds nothing.
func (Observer) Unsaved(int, string, string) string { return "" }

// BeforeChange calls the function.
func (f Observer) BeforeChange(dir int, name, path string) { f(dir, name, path) }
