package tools

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sources returns a small tree with files that are easily listed by mistake.
func sources(t *testing.T) *place {
	p := newPlace(t, map[string]string{
		"main.go": "package main\n\nfunc main() { run() }\n", "README.md": "# Main\nrun it\n", ".gitignore": "*.log\nbuild/\n!keep.log\n",
		"a.log": "run\n", "keep.log": "run\n", "build/out.go": "run()\n", "sub/x.go": "package sub\n\nfunc run() {}\n", "sub/.gitignore": "secret*\n",
		"sub/secret.txt": "run\n", "sub/deep/er/y.go": "// run\n", ".github/ci.yml": "run: make\n", ".git/config": "run\n", ".git/info/exclude": "excluded\n",
		"excluded": "run\n", "bin.dat": "run\x00\n", "sub-2/z.go": "run\n",
	})
	p.remove(".keep")
	p.link("sub", "link")
	p.link("../out", "outlink")
	return p
}

func TestListFiles(t *testing.T) {
	p := sources(t)
	for _, tt := range []struct {
		name string
		args args
		want []string
	}{
		{"default", args{}, []string{".github/", ".github/ci.yml", ".gitignore", "README.md", "bin.dat", "keep.log", "link@", "main.go", "outlink@", "sub/", "sub/.gitignore", "sub/deep/", "sub/x.go", "sub-2/", "sub-2/z.go"}},
		{"one level", args{"depth": 1}, []string{".github/", ".gitignore", "README.md", "bin.dat", "keep.log", "link@", "main.go", "outlink@", "sub/", "sub-2/"}},
		{"glob", args{"glob": "*.go"}, []string{"main.go", "sub/deep/er/y.go", "sub/x.go", "sub-2/z.go"}},
		{"glob with folder", args{"glob": "sub/**/*.go"}, []string{"sub/deep/er/y.go", "sub/x.go"}},
		{"glob and depth", args{"glob": "*.go", "depth": 2}, []string{"main.go", "sub/x.go", "sub-2/z.go"}},
		{"glob that negates", args{"glob": "!*.go", "path": "sub"}, []string{"sub/.gitignore"}},
		{"glob is relative to path", args{"glob": "deep/**", "path": "sub"}, []string{"sub/deep/er/y.go"}},
		{"a folder below, with the rules from above", args{"path": "sub"}, []string{"sub/.gitignore", "sub/deep/", "sub/deep/er/", "sub/x.go"}},
		{"through a link", args{"path": "link", "depth": 1}, []string{"sub/.gitignore", "sub/deep/", "sub/x.go"}},
		{"outside", args{"path": "../out"}, []string{p.out + "/secret"}},
		{"nothing", args{"glob": "*.rs"}, []string{"(nothing)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if r := p.ok("list_files", tt.args); r.Text != strings.Join(tt.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", r.Text, strings.Join(tt.want, "\n"))
			}
		})
	}
	for name, want := range map[string]string{"nope": "there is no file or folder nope", "main.go": "main.go is not a folder; read_file"} {
		if r, err := p.do("list_files", args{"path": name}); err != nil || !strings.Contains(r.Text, want) || !r.Failed {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	for _, bad := range []args{{"glob": "../*"}, {"depth": -1}, {"path": "loop/loop"}} {
		p.remove("link")
		p.link("loop", "link")
		_, err := p.do("list_files", bad)
		if bad["path"] == nil && err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}

func TestListFilesIsBounded(t *testing.T) {
	p := newPlace(t, nil)
	for i := range 1200 {
		p.write(fmt.Sprintf("d/%04d", i), "")
	}
	p.write("d/control\x1b[31m\nname", "")
	p.write("top", "")
	r := p.ok("list_files", args{})
	all := lines(r.Text)
	if len(all) != maxListed+1 || all[0] != ".keep" || all[len(all)-2] != "top" || !strings.HasPrefix(all[len(all)-1], "(only the first 1000 entries, the upper levels first") {
		t.Errorf("%d lines, first %q, last %q", len(all), all[0], all[len(all)-1])
	}
	r = p.ok("list_files", args{"glob": "control*"})
	if r.Text != `"d/control\x1b[31m\nname"` {
		t.Errorf("%q", r.Text)
	}
}

func TestSearch(t *testing.T) {
	p := sources(t)
	for _, tt := range []struct {
		name string
		args args
		want []string
	}{
		{"all", args{"pattern": "run"}, []string{".github/ci.yml:1:run: make", "README.md:2:run it", "keep.log:1:run", "main.go:3:func main() { run() }",
			"sub/deep/er/y.go:1:// run", "sub/x.go:3:func run() {}", "sub-2/z.go:1:run"}},
		{"glob", args{"pattern": "run", "glob": "*.go"}, []string{"main.go:3:func main() { run() }", "sub/deep/er/y.go:1:// run", "sub/x.go:3:func run() {}", "sub-2/z.go:1:run"}},
		{"glob does not lift .gitignore", args{"pattern": "run", "glob": "*.{log,txt}"}, []string{"keep.log:1:run"}},
		{"folder", args{"pattern": "run", "path": "sub"}, []string{"sub/deep/er/y.go:1:// run", "sub/x.go:3:func run() {}"}},
		{"file", args{"pattern": "run", "path": "main.go"}, []string{"main.go:3:func main() { run() }"}},
		{"ignored file by name", args{"pattern": "run", "path": "a.log"}, []string{"a.log:1:run"}},
		{"binary file by name", args{"pattern": "run", "path": "bin.dat"}, []string{"(no match)", "(the file is binary and was not searched)"}},
		{"regular expression", args{"pattern": `^func \w+\(\)`}, []string{"main.go:3:func main() { run() }", "sub/x.go:3:func run() {}"}},
		{"case", args{"pattern": "MAIN"}, []string{"(no match)"}},
		{"ignoring case", args{"pattern": "# MAIN", "ignore_case": true}, []string{"README.md:1:# Main"}},
		{"max", args{"pattern": "run", "max": 2}, []string{".github/ci.yml:1:run: make", "README.md:2:run it", "(only the first 2 matches; there are more: narrow it with path, glob or a longer pattern)"}},
		{"exactly max", args{"pattern": "run", "max": 7, "glob": "!nothing"}, []string{".github/ci.yml:1:run: make", "README.md:2:run it", "keep.log:1:run", "main.go:3:func main() { run() }",
			"sub/deep/er/y.go:1:// run", "sub/x.go:3:func run() {}", "sub-2/z.go:1:run"}},
		{"looks like an option", args{"pattern": "--pre=evil"}, []string{"(no match)"}},
		{"outside", args{"pattern": "sec", "path": "../out"}, []string{p.out + "/secret:1:secret"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if r := p.ok("search", tt.args); r.Text != strings.Join(tt.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", r.Text, strings.Join(tt.want, "\n"))
			}
		})
	}
	for _, tt := range []struct {
		args args
		want string
	}{
		{args{"pattern": "("}, "is not a regular expression"},
		{args{"pattern": ""}, `"pattern" is empty`},
		{args{"pattern": "a\nb"}, "line by line"},
		{args{"pattern": "x", "max": -1}, "must be positive"},
		{args{"pattern": "x", "glob": "/"}, "names nothing below"},
		{args{"pattern": strings.Repeat("x", 5000)}, "at most 4096"},
	} {
		if _, err := p.plan("search", tt.args); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v", tt.args, err)
		}
	}
	if r, err := p.do("search", args{"pattern": "x", "path": "nope"}); err != nil || !strings.Contains(r.Text, "there is no file or folder nope") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestSearchLongAndManyLines(t *testing.T) {
	p := newPlace(t, map[string]string{
		"long": strings.Repeat("x", 5000) + "\n", "many": strings.Repeat("needle in a line\n", 3000), "crlf": "first\r\nlast needle\r\n", "latin": "needle \xe9\n",
	})
	r := p.ok("search", args{"pattern": "^x+", "path": "."})
	if len(r.Text) > 600 || !strings.HasSuffix(r.Text, " […]") {
		t.Errorf("%d bytes: %s", len(r.Text), tail(r.Text))
	}
	r = p.ok("search", args{"pattern": "needle"})
	contains(t, "text", r.Text, "crlf:2:last needle\n", "latin:1:needle \uFFFD\n", "many:198:needle in a line\n(only the first 200 matches")
}

// TestSearchBesideAPipe: no search waits at a FIFO in place of a file with rules.
func TestSearchBesideAPipe(t *testing.T) {
	p := newPlace(t, map[string]string{"a": "needle\n", "sub/b": "needle\n", "sub/.git/HEAD": "x"})
	pipes := []string{".gitignore", "sub/.gitignore", "sub/.git/info/exclude", ".git/info/exclude"}
	for _, name := range pipes {
		name = filepath.Join(p.ws, name)
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if err == nil {
			err = syscall.Mkfifo(name, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	for _, at := range []struct{ path, want string }{{".", "a:1:needle\nsub/b:1:needle"}, {"sub", "sub/b:1:needle"}} {
		if r := p.ok("search", args{"pattern": "needle", "path": at.path}); r.Text != at.want {
			t.Errorf("%s: %q", at.path, r.Text)
		}
	}
	if took := time.Since(began); took >= time.Minute {
		t.Errorf("it took %v", took)
	}
}

// More names than one request takes, and more files than are wanted.
func TestSearchManyFiles(t *testing.T) {
	p := newPlace(t, nil)
	for i := range 1500 {
		p.write(fmt.Sprintf("%s/%04d", strings.Repeat("long", 20), i), "needle\n")
	}
	p.write("b/f", "needle\n")
	r := p.ok("search", args{"pattern": "needle", "max": 1000})
	all := lines(r.Text)
	// The limit of 64 KiB of text is reached before 1000 lines.
	if len(all) < 600 || !strings.HasPrefix(all[0], "b/f:1") || !strings.HasPrefix(all[len(all)-1], "(only the first ") || !strings.HasPrefix(all[600], strings.Repeat("long", 20)+"/0599:1") {
		t.Errorf("%d lines, first %q, last %q", len(all), all[0], all[len(all)-1])
	}
	if r := p.ok("search", args{"pattern": "needle", "max": 5}); len(lines(r.Text)) != 6 {
		t.Errorf("%s", r.Text)
	}
}

func TestComparePaths(t *testing.T) {
	sorted := []string{"a", "a/b", "a/b/c", "a/c", "a-b", "a.b", "aa", "b"}
	for i, x := range sorted {
		for j, y := range sorted {
			if got := comparePaths(x, y); got != cmp.Compare(i, j) {
				t.Errorf("%s and %s: %d", x, y, got)
			}
		}
	}
}

// TestLooked: a call that only reads passes on all that it looks up, whatever it finds; no other call counts as one.
func TestLooked(t *testing.T) {
	p := sources(t)
	for _, tt := range []struct {
		tool   string
		args   args
		opened []string
	}{
		{"read_file", args{"path": "link/x.go"}, []string{"sub/x.go"}},
		{"read_file", args{"path": "absent"}, []string{"absent"}},
		{"list_files", args{"path": "sub", "glob": "*.go"}, []string{".gitignore", "sub", "sub/.gitignore", "sub/deep", "sub/deep/er"}},
		{"search", args{"pattern": "nowhere", "path": "sub"}, []string{".gitignore", "sub", "sub/.gitignore", "sub/deep", "sub/deep/er", "sub/deep/er/y.go", "sub/x.go"}},
	} {
		looked := map[string]bool{}
		p.stage.Looked = func(path string, opened bool) { looked[path] = looked[path] || opened }
		if _, err := p.do(tt.tool, tt.args); err != nil {
			t.Fatal(err)
		}
		for _, name := range tt.opened {
			if !looked[filepath.Join(p.ws, name)] {
				t.Errorf("%s %v does not say that it opens %s: %v", tt.tool, tt.args, name, looked)
			}
		}
	}
	for tool, given := range map[string]args{"view_image": {"path": "main.go"}, "apply_patch": {"patch": "*** Begin Patch\n*** Delete File: main.go\n*** End Patch"}, "shell": {"command": "cat main.go"}, "search": {"pattern": "x"}} {
		if call, err := p.plan(tool, given); err != nil || OnlyReads(call) != (tool == "search") {
			t.Errorf("%s: %v", tool, err)
		}
	}
}
