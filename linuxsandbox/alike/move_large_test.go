//go:build linux

package alike

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"codeagent/linuxsandbox/backendtest"
)

// TestLargeFolderMoves: a folder with many files is moved and exchanged like a small one, and
// refused like one if it contains something protected.
func TestLargeFolderMoves(t *testing.T) {
	b := backendtest.New(t)
	defer b.Close()
	th := backendtest.NewTheatre(t, b)
	for _, name := range []string{"plain", "holds"} {
		dir := filepath.Join(th.Dir, name)
		if err := os.MkdirAll(filepath.Join(dir, "deep"), 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range 1000 {
			if err := os.WriteFile(filepath.Join(dir, "deep", strconv.Itoa(i)), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Mkdir(filepath.Join(th.Dir, "holds/deep/.git"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, denials := th.Shell(t, `mv plain moved && ls moved/deep | wc -l; mv holds other 2>/dev/null || echo refused; ls -d plain holds other 2>/dev/null`)
	if strings.Fields(out) == nil || strings.Join(strings.Fields(out), " ") != "1000 refused holds" {
		t.Errorf("%q", out)
	}
	if len(denials) == 0 || !strings.HasSuffix(denials[0].Target, "/holds/deep/.git") {
		t.Errorf("%+v", denials)
	}
}
