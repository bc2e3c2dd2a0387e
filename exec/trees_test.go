package exec

import (
	"context"
	"slices"
	"testing"

	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// TestUnseenChanges: where no backend sees changes, a command may have changed all that it can write,
// the folders for temporary files included.
func TestUnseenChanges(t *testing.T) {
	var trees Trees
	p := sandbox.WorkspaceWrite("/w")
	p.Temp, p.SharedTemp = "/t", true
	New(Options{Trees: &trees}).unseen(p, "job 1")
	changes, all := trees.Since(0)
	for _, want := range []string{"/w", "/t", "/tmp"} {
		if !slices.Contains(changes, Change{want, "job 1"}) || !all {
			t.Errorf("%s is not among %v (all: %v)", want, changes, all)
		}
	}
}

// idle is a process that holds no file of its own open but those given.
type idle struct {
	sandbox.Process
	holds []string
}

func (idle) Stop() (func(), error)                      { return func() {}, nil }
func (i idle) Holds(func(string) bool) ([]string, bool) { return i.holds, true }

// observing is a backend that reports each change.
type observing struct{ resolved.Backend }

func (observing) Enforcement(resolved.Policy) (sandbox.Enforcement, error) {
	return sandbox.Enforcement{Observes: true}, nil
}

func (observing) Start(context.Context, resolved.Policy, sandbox.Command, sandbox.Holder) (sandbox.Process, error) {
	panic("nothing is started")
}

// TestWriters: a tree that may write in the workspace is a writer while it runs, whatever it holds open:
// it could change what a command reads after its start.
func TestWriters(t *testing.T) {
	server := sandbox.ReadOnly()
	server.Write = []sandbox.Root{{Path: "/state/server"}}
	var trees Trees
	runner := New(Options{Trees: &trees, Backend: observing{}})
	for name, one := range map[string]*execution{
		"idle":   {policy: sandbox.WorkspaceWrite("/w"), proc: idle{}},
		"writes": {policy: sandbox.WorkspaceWrite("/w"), proc: idle{holds: []string{"/w/x"}}},
		"server": {policy: server, proc: idle{}},
		"holds":  {policy: server, proc: idle{holds: []string{"/w/y"}}},
		"reads":  {policy: sandbox.ReadOnly(), proc: idle{}},
		"begins": {policy: sandbox.ReadOnly()},
	} {
		one.runner, one.command.By = runner, name
		trees.list = []*execution{one}
		got := trees.Writers(func(path string) bool { return sandbox.Covers("/w", path) })
		if want := name != "server" && name != "reads"; len(got) > 0 != want {
			t.Errorf("%s: %+v", name, got)
		}
		if len(got) > 0 && got[0].By != name {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
