package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestEntries(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		sub := filepath.Join(dir, fmt.Sprint(i))
		if err := os.MkdirAll(filepath.Join(sub, "deep"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(sub, "deep", "file"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/", filepath.Join(dir, "all")); err != nil {
		t.Fatal(err)
	}
	if n, _, ok := Entries(dir); n != 10 || !ok {
		t.Errorf("%d entries, %v; want 10", n, ok)
	}
	for _, none := range []string{filepath.Join(dir, "absent"), filepath.Join(dir, "0", "deep", "file"), filepath.Join(dir, "all")} {
		if n, more, ok := Entries(none); ok {
			t.Errorf("%s: %d %v", none, n, more)
		}
	}
}
