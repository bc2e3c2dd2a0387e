package exec

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"codeagent/sandbox"
)

// noDraft is asked for nothing: no backend here has drafts.
type noDraft struct{ Draft }

// TestDraftNeedsABackend: where commands run unconfined, or in a sandbox without drafts, one for a draft does not
// run: it would change the files themselves.
func TestDraftNeedsABackend(t *testing.T) {
	dir := t.TempDir()
	r := New(Options{Backend: Plain{}, None: Plain{}, Files: OS{}, Environ: os.Environ()})
	for _, p := range []sandbox.Policy{sandbox.ReadOnly(), {Unconfined: true}} {
		_, err := r.Run(t.Context(), p, Command{Argv: []string{"touch", "made"}, Dir: dir, Draft: noDraft{}}, nil)
		if start := (*sandbox.StartError)(nil); !errors.As(err, &start) || start.Stage != "draft" {
			t.Errorf("unconfined %v: %v", p.Unconfined, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "made")); err == nil {
		t.Error("the command changed a file")
	}
}
