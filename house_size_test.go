package house

import (
	"go/token"
	"path"
	"strings"
	"testing"
)

// mostFiles is how many files a package may have: nobody reads more as a whole. What a type or a
// package may reach is in house_owner_test.go; how many names it has is not counted, since a cap on
// names is met by hiding them.
const mostFiles = 35

// checkSizes reports the packages with too many files, at the last of them.
func (h *house) checkSizes() {
	count, last := map[string]int{}, map[string]token.Pos{}
	for _, f := range h.files {
		if !f.test && !f.room.support && f.dir() != "." && (h.only == "" || path.Dir(h.only) == f.dir()) {
			count[f.dir()]++
			last[f.dir()] = f.ast.Pos()
		}
	}
	for dir, n := range count {
		if n > mostFiles {
			h.say(last[dir], "%s has %d files, and at most %d are allowed", dir, n, mostFiles)
		}
	}
}

// TestManyFiles: the one file too many is reported.
func TestManyFiles(t *testing.T) {
	clean, err := load(".")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, f := range clean.files {
		if f.dir() == "gitrun" && !f.test {
			files++
		}
	}
	h, last := clean, "gitrun/plant.go"
	for ; files <= mostFiles; files++ {
		if n := len(h.check()); n > 0 && h.only != "" {
			t.Fatalf("%d files are too many: %q", files, h.violations)
		}
		last = strings.Replace(last, ".go", "x.go", 1)
		if h, err = h.plant(last, "package gitrun\n"); err != nil {
			t.Fatal(err)
		}
	}
	if v := h.check(); len(v) != 1 || !strings.HasPrefix(v[0], last+":") || !strings.Contains(v[0], "gitrun has 36 files") {
		t.Errorf("of %d files: %q", mostFiles+1, v)
	}
}
