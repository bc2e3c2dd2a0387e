package exec

import (
	"slices"
	"testing"

	"codeagent/sandbox"
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
