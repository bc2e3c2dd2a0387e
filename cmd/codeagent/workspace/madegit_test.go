package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestMadeGit: what a session made is known to later ones, in and around their folders, until the
// directory is gone.
func TestMadeGit(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"w/.git", "w/a/.git", "other/.git", "gone/.git"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	record := top + "/record"
	for _, made := range [][]string{nil, {top + "/w/.git", top + "/other/.git"}, {top + "/w/.git", top + "/w/a/.git", top + "/gone/.git"}} {
		if err := noteMadeGit(record, made); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(top + "/gone"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		folder string
		roots  []string
		now    []string
		want   []string
	}{
		{top + "/w", []string{top + "/w"}, nil, []string{top + "/w/.git", top + "/w/a/.git"}},
		{top + "/w/sub", []string{top + "/w/sub"}, nil, []string{top + "/w/.git"}},
		{top + "/w/sub", []string{top + "/w/sub", top + "/other"}, []string{"/new/.git"}, []string{"/new/.git", top + "/other/.git", top + "/w/.git"}},
		{top + "/elsewhere", []string{top + "/elsewhere"}, nil, nil},
	} {
		if got := madeGit(record, tt.folder, tt.roots, tt.now); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.folder, got, tt.want)
		}
	}
}
