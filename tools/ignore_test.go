package tools

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ignoreLines are rules that are easily misread.
var ignoreLines = []string{
	"*.o", "!keep.o", "build/", "/top", "a/b", "/a/b/", "**/deep", "a/**", "a/**/z", "**/x/**", "foo**bar", "***", "**",
	"[abc].txt", "[!abc].txt", "[^a]*", "[a-c]?", "[a", `\#hash`, "#comment", `\!bang`, "!", "/", "//",
	`trail\ `, "space   ", "tab\t", `back\`, `esc\*`, "?", "??", "*", "!*/", "!*.go", "a*c", "*a*b*", "a/*", "a/*/z", "a//b", "x/", "!x", "sub/*.txt", "**/sub/*.txt",
	".hidden", ".*", "a/b/**/c", "*/z", "/*/z", "**/*.go", "z/**/", "/**", "deep/", "crlf\r", "\ufeffbom",
}

var ignoreNames = []string{"a", "b", "c", "x", "z", "top", "deep", "build", "foobar", "fooXbar", "keep.o", "t.o", "a.txt", "d.txt", "m.go", "#hash", "!bang",
	"trail ", "space", "tab", "esc*", ".hidden", "9x", "]", "sub", "bom", "crlf", "ab", "back"}

// For random rules in two folders and a random tree, what is not ignored is
// exactly what git lists.
func TestIgnoreAsGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 7))
		dir := t.TempDir()
		for range 40 {
			var parts []string
			for range 1 + r.IntN(4) {
				parts = append(parts, ignoreNames[r.IntN(len(ignoreNames))])
			}
			p := filepath.Join(dir, filepath.Join(parts...))
			if os.MkdirAll(filepath.Dir(p), 0o755) == nil {
				os.WriteFile(p, nil, 0o644) // a folder of that name may be there: then it stays
			}
		}
		rules := func(n int) []byte {
			var b bytes.Buffer
			for range n {
				fmt.Fprintln(&b, ignoreLines[r.IntN(len(ignoreLines))])
			}
			return b.Bytes()
		}
		files := map[string][]byte{dir: rules(1 + r.IntN(6))}
		for _, sub := range []string{"a", "sub", "x"} {
			if fi, err := os.Stat(filepath.Join(dir, sub)); err == nil && fi.IsDir() {
				files[filepath.Join(dir, sub)] = rules(1 + r.IntN(3))
			}
		}
		for folder, data := range files {
			if err := os.WriteFile(filepath.Join(folder, ".gitignore"), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want := gitListing(t, dir)
		got := ownListing(t, dir)
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: rules %q\n got %q\nwant %q", seed, files, got, want)
		}
	}
}

func gitListing(t *testing.T, dir string) []string {
	t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"ls-files", "-coz", "--exclude-standard"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if args[0] == "ls-files" {
			names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
			slices.Sort(names)
			return slices.DeleteFunc(names, func(s string) bool { return s == "" })
		}
	}
	return nil
}

// ownListing walks with ignores, not going into ignored folders.
func ownListing(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	var walk func(folder string, ig *ignores)
	walk = func(folder string, ig *ignores) {
		if data, err := os.ReadFile(filepath.Join(folder, ".gitignore")); err == nil {
			ig = ig.withRules(folder, data)
		}
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			p := filepath.Join(folder, e.Name())
			switch {
			case e.Name() == ".git", ig.ignored(t.Context(), p, e.IsDir()):
			case e.IsDir():
				walk(p, ig)
			default:
				rel, _ := filepath.Rel(dir, p)
				out = append(out, rel)
			}
		}
	}
	walk(dir, nil)
	slices.Sort(out)
	return out
}

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		glob, path string
		want       bool
	}{
		{"", "a/b", true},
		{"*.go", "a/b.go", true},
		{"*.go", "a/b.gox", false},
		{"a/*.go", "a/b.go", true},
		{"a/*.go", "x/a/b.go", false},
		{"/a/*.go", "a/b.go", true},
		{"./a/*.go", "a/b.go", true},
		{"**/*.go", "b.go", true},
		{"**/*.go", "a/b/c.go", true},
		{"a/", "a/b/c", true},
		{"a/", "b/a/c", false},
		{"*.{go,md}", "x/y.md", true},
		{"*.{go,md}", "x/y.m", false},
		{"{a,b/{c,d}}/*.go", "b/d/x.go", true},
		{"{a,b/{c,d}}/*.go", "b/x.go", false},
		{"{a", "{a", true},
		{"!*.go", "a.go", false},
		{"!*.go", "a.md", true},
		{"[ab].txt", "b.txt", true},
		{"?.txt", "bb.txt", false},
	} {
		g, err := newGlob(tt.glob)
		if err != nil {
			t.Errorf("%q: %v", tt.glob, err)
			continue
		}
		if got := g.match(tt.path); got != tt.want {
			t.Errorf("%q on %q: %v", tt.glob, tt.path, got)
		}
	}
	for _, bad := range []string{"/", "../x", "a/../b", strings.Repeat("{a,b}", 7), strings.Repeat("x", 1025)} {
		if _, err := newGlob(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// A pattern made to be slow is matched quickly.
func TestWildmatchIsBounded(t *testing.T) {
	name := strings.Repeat("a", 4000)
	if matchName(strings.Repeat("*a", 300)+"b", name) {
		t.Error("matched")
	}
	if newPathPattern(strings.Repeat("**/a/", 300) + "b").match(strings.Repeat("a/", 2000) + "a") {
		t.Error("matched")
	}
}

func FuzzPatterns(f *testing.F) {
	for _, l := range ignoreLines {
		f.Add(l, "a/b/c.go")
	}
	for _, g := range []string{"{a,b/{c,d}}/**", "{{{{", "!{,}", "[a-", "[\\\\", "**/**/**"} {
		f.Add(g, "x/y")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		var ig *ignores
		ig = ig.withRules("/w", []byte(pattern))
		ig.ignored(t.Context(), "/w/"+name, true)
		if g, err := newGlob(pattern); err == nil {
			g.match(name)
		}
	})
}
