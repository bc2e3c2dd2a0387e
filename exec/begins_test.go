package exec

import (
	"context"
	"errors"
	"testing"

	"codeagent/sandbox"
)

// TestBegins: a command does not start if its policy could not be recorded.
func TestBegins(t *testing.T) {
	full := errors.New("the disk is full")
	var seen []sandbox.Root
	r := New(Options{None: Plain{}, Begins: func(p sandbox.Policy) error {
		seen = p.Write
		return full
	}})
	p := sandbox.FullAccess()
	p.Write = []sandbox.Root{{Path: "/granted"}}
	var start *sandbox.StartError
	if _, err := r.Run(context.Background(), p, Command{Argv: []string{"/bin/true"}, Dir: "/"}, nil); !errors.Is(err, full) || !errors.As(err, &start) {
		t.Errorf("ran: %v", err)
	}
	if len(seen) != 1 || seen[0].Path != "/granted" {
		t.Errorf("recorded %v", seen)
	}
}
