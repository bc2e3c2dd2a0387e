package exec

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// A shortened text keeps the note about where the whole text is, and
// is within the limit.
func TestShorten(t *testing.T) {
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "line %d ä\n", i)
		if i == 1000 {
			b.WriteString("[… 12 bytes cut, whole output in /tmp/output-1.txt …]\n")
		}
	}
	text := b.String()
	for _, most := range []int{0, 10, 100, 400, 1000, 10_000, len(text) - 1, len(text)} {
		got := Shorten(text, most, "whole in /x")
		if len(got) > max(most, noteBytes+len(", whole in /x")) || !utf8.ValidString(got) {
			t.Errorf("%d bytes of at most %d", len(got), most)
		}
		if most == len(text) && got != text {
			t.Error("what fits was changed")
		}
		if most < 1000 || most == len(text) {
			continue
		}
		for _, want := range []string{"line 0 ä\n", "line 1999 ä\n", "bytes cut, whole in /x …]\n", "whole output in /tmp/output-1.txt …]\n"} {
			if strings.Count(got, want) != 1 {
				t.Errorf("within %d bytes: %d times %q:\n%s", most, strings.Count(got, want), want, got)
			}
		}
	}
	if got := Shorten(strings.Repeat("ä", 5000), 1001, ""); len(got) > 1001 || !utf8.ValidString(got) || strings.Contains(got, "cut,") {
		t.Errorf("one long line: %q", got)
	}
}

// The whole of a shortened text is written to a file, once.
func TestWithin(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	text := strings.Repeat("all of it\n", 1000)
	r := New(Options{SpillDir: dir})
	got := r.Within(text, 1000)
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || len(got) > 1000 {
		t.Fatalf("%v, %d files for %d bytes", err, len(files), len(got))
	}
	path := filepath.Join(dir, files[0].Name())
	if data, err := os.ReadFile(path); err != nil || string(data) != text || !strings.Contains(got, "bytes cut, whole in "+path+" …]\n") {
		t.Errorf("%d bytes in %s, %v, for %q", len(data), path, err, got)
	}
	again := r.Within(got, 500)
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 || len(again) > 500 || !strings.Contains(again, "whole in "+path) {
		t.Errorf("%v, %d files for %q", err, len(files), again)
	}
	if got := New(Options{}).Within(text, 1000); !strings.Contains(got, "bytes cut …]") {
		t.Errorf("without a folder: %q", got)
	}
}
