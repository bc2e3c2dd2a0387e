package house

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

const pageWords = 3000 // what a newcomer reads in a quarter of an hour

var inBackticks = regexp.MustCompile("`([^`\n]+)`")

// TestPage: ARCHITECTURE.md names every room, and no path that does not exist.
func TestPage(t *testing.T) {
	data, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(string(data))); n > pageWords {
		t.Errorf("ARCHITECTURE.md has %d words, want at most %d", n, pageWords)
	}
	_, rooms, found := strings.Cut(string(data), "\n## Rooms\n")
	rooms, _, ended := strings.Cut(rooms, "\n## ")
	if !found || !ended {
		t.Fatal("ARCHITECTURE.md has no table of rooms")
	}
	named := map[string]bool{}
	for line := range strings.SplitSeq(rooms, "\n") {
		if cell, ok := strings.CutPrefix(line, "|"); ok {
			cell, _, _ = strings.Cut(cell, "|")
			for _, m := range inBackticks.FindAllStringSubmatch(cell, -1) {
				named[m[1]] = true
			}
		}
	}
	names, err := goFiles(".")
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]bool{}
	for _, name := range names {
		if dir := path.Dir(name); !strings.HasSuffix(name, "_test.go") && dir != "." && !strings.HasSuffix(path.Base(dir), "test") {
			packages[dir] = true
		}
	}
	for dir := range packages {
		if !named[dir] {
			t.Errorf("ARCHITECTURE.md does not name the room %s", dir)
		}
	}
	if len(packages) < 50 {
		t.Errorf("only %d rooms were found", len(packages))
	}
	paths := 0
	for _, m := range inBackticks.FindAllStringSubmatch(string(data), -1) {
		first, _, nested := strings.Cut(m[1], "/")
		if info, err := os.Stat(first); !nested && path.Ext(first) == "" || nested && (err != nil || !info.IsDir()) {
			continue // a word of code, or a path elsewhere
		}
		if paths++; strings.ContainsAny(m[1], " …*") {
			t.Errorf("ARCHITECTURE.md names %q, which is no path", m[1])
		} else if _, err := os.Stat(m[1]); err != nil && strings.Contains(m[1], "/") {
			t.Errorf("ARCHITECTURE.md names %s: %v", m[1], err)
		}
	}
	if paths < 100 {
		t.Errorf("only %d paths were looked up", paths)
	}
}
