package patch

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The cases of this file are made: every edit of editsOf in a file of every
// style of styles, found in every way of drifts. What must come of it is made
// from the edit itself, and git apply is asked as well.

// program is the file that is edited: with empty lines, equal lines, tabs and
// characters beyond ASCII.
var program = strings.Split(`package main

import "fmt"

// add adds.
func add(a, b int) int {
	return a + b
}

// sub subtracts.
func sub(a, b int) int {
	return a - b
}

func main() {
	for i := range 10 {
		fmt.Println(add(i, 1))
		fmt.Println(sub(i, 1))
	}
	fmt.Println("ünïcode → done")
}

// end
var last = 1`, "\n")

// change puts lines in the place of n lines from at on.
type change struct {
	at, n int
	put   []string
}

var caseEdits = []struct {
	name    string
	changes []change
}{
	{"insert first", []change{{0, 0, []string{"// Copyright"}}}},
	{"insert", []change{{6, 0, []string{"\t// sums"}}}},
	{"insert an empty line", []change{{16, 0, []string{""}}}},
	{"insert last", []change{{24, 0, []string{"var more = 2", "var most = 3"}}}},
	{"remove first", []change{{0, 2, nil}}},
	{"remove", []change{{9, 1, nil}}},
	{"remove an empty line", []change{{13, 1, nil}}},
	{"remove last", []change{{22, 2, nil}}},
	{"replace", []change{{6, 1, []string{"\treturn b + a"}}}},
	{"replace last", []change{{23, 1, []string{"var last = 2"}}}},
	{"three become one", []change{{15, 3, []string{"\tfor range 10 {"}}}},
	{"one becomes three", []change{{11, 1, []string{"\tc := a", "\tc -= b", "\treturn c"}}}},
	{"two places far apart", []change{{2, 1, []string{`import "os"`}}, {19, 1, []string{"\tfmt.Println()"}}}},
	{"two places close by", []change{{4, 1, []string{"// add sums."}}, {9, 1, []string{"// sub takes."}}}},
	{"three places", []change{{0, 1, []string{"package p"}}, {10, 1, []string{"func minus(a, b int) int {"}}, {23, 1, nil}}},
	{"indentation", []change{{16, 2, []string{"\t\t\tfmt.Println(add(i, 1))", "\t\t\tfmt.Println(sub(i, 1))"}}}},
	{"to characters beyond ASCII", []change{{22, 1, []string{"// ende — Größe"}}}},
	{"everything", []change{{0, 24, []string{"package other", "", "var x int"}}}},
}

// style is how the lines of a file end.
type style struct {
	name  string
	eol   func(line int) string
	final bool
	bom   bool
}

func always(eol string) func(int) string { return func(int) string { return eol } }

var caseStyles = []style{
	{"LF", always("\n"), true, false},
	{"CR LF", always("\r\n"), true, false},
	{"no final newline", always("\n"), false, false},
	{"CR LF, no final newline", always("\r\n"), false, false},
	{"byte order mark", always("\n"), true, true},
	{"mixed", func(i int) string { return []string{"\n", "\r\n"}[i/6%2] }, true, false},
}

// drift is how the file differs from what the patch was written for.
type drift struct {
	name string
	// above are lines put on top, file and patch change a line of the one and the other.
	above []string
	file  func(line string) string
	patch func(line string) string
	// git: git apply takes it too.
	git bool
}

func same(l string) string { return l }

var caseDrifts = []drift{
	{"exact", nil, same, same, true},
	{"shifted", []string{"// one more", "// two more", "", "// three more"}, same, same, true},
	{"white space at line ends", nil, func(l string) string { return l + " \t" }, same, false},
	{"other indentation", nil, same, func(l string) string { return strings.ReplaceAll(l, "\t", "    ") }, false},
}

// line is a line with its ending.
type line struct{ text, eol string }

// patchCase is one file to be changed, and what must come of it.
type patchCase struct {
	name      string
	old, want string
	// hunks are in our grammar, diff is the same for git; empty where git is not
	// as tolerant.
	hunks, diff string
}

// lay writes lines as a file: the last ending is the style's.
func lay(s style, lines []line) string {
	var b strings.Builder
	if s.bom {
		b.WriteString(bom)
	}
	for i, l := range lines {
		b.WriteString(l.text)
		if i < len(lines)-1 || s.final {
			b.WriteString(l.eol)
		}
	}
	return b.String()
}

// changed is lines with the changes made; a new line ends as the one above it,
// else as the one below.
func changed(lines []line, changes []change, offset int) []line {
	out := slices.Clone(lines)
	for _, c := range slices.Backward(changes) {
		at := c.at + offset
		eol := lines[max(at-1, 0)].eol
		if c.n > 0 && at+c.n <= len(lines) {
			eol = lines[at+c.n-1].eol
		}
		var put []line
		for _, text := range c.put {
			put = append(put, line{text, eol})
		}
		out = slices.Replace(out, at, at+c.n, put...)
	}
	return out
}

// hunk is a run of lines with their marks, from line at on.
type hunk struct {
	at    int
	lines []string
}

// hunksOf writes changes with three lines of context; those that share context
// are one hunk.
func hunksOf(texts []string, changes []change) []hunk {
	const context = 3
	var out []hunk
	done := 0 // lines of texts that stand in a hunk
	for i, c := range changes {
		if i == 0 || c.at-context > done {
			done = max(c.at-context, 0)
			out = append(out, hunk{at: done})
		}
		h := &out[len(out)-1]
		for ; done < c.at; done++ {
			h.lines = append(h.lines, " "+texts[done])
		}
		for ; done < c.at+c.n; done++ {
			h.lines = append(h.lines, "-"+texts[done])
		}
		for _, l := range c.put {
			h.lines = append(h.lines, "+"+l)
		}
		until := min(done+context, len(texts))
		if i+1 < len(changes) {
			until = min(until, changes[i+1].at)
		}
		for ; done < until; done++ {
			h.lines = append(h.lines, " "+texts[done])
		}
	}
	return out
}

// diffOf writes the hunks for git: with numbers, each line with the ending it
// has in the file.
func diffOf(s style, old, new []line, changes []change) string {
	texts := make([]string, len(old))
	for i := range old {
		texts[i] = fmt.Sprint(i) // by number: the endings are looked up
	}
	var b strings.Builder
	grown := 0
	for _, h := range hunksOf(texts, changes) {
		var body strings.Builder
		o, n := h.at, h.at+grown
		put := func(mark byte, all []line, i int) {
			text := all[i].text
			if i == 0 && s.bom {
				text = bom + text
			}
			eol := strings.TrimSuffix(all[i].eol, "\n")
			if i == len(all)-1 && !s.final {
				fmt.Fprintf(&body, "%c%s\n\\ No newline at end of file\n", mark, text)
				return
			}
			fmt.Fprintf(&body, "%c%s%s\n", mark, text, eol)
		}
		for _, l := range h.lines {
			switch l[0] {
			case ' ':
				if put1, put2 := old[o], new[n]; put1 != put2 || (o == len(old)-1) != (n == len(new)-1) && !s.final || (o == 0) != (n == 0) && s.bom {
					put('-', old, o) // the last line gets or loses its newline, the first its mark
					put('+', new, n)
				} else {
					put(' ', old, o)
				}
				o, n = o+1, n+1
			case '-':
				put('-', old, o)
				o++
			case '+':
				put('+', new, n)
				n++
			}
		}
		from, to := h.at+1, h.at+grown+1
		if o == h.at {
			from--
		}
		if n == h.at+grown {
			to--
		}
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n%s", from, o-h.at, to, n-h.at-grown, body.String())
		grown += (n - h.at - grown) - (o - h.at)
	}
	return b.String()
}

// patchCases makes them all.
func patchCases() []patchCase {
	var out []patchCase
	for _, e := range caseEdits {
		for _, s := range caseStyles {
			exact := makeCase(e.name, e.changes, s, caseDrifts[0])
			out = append(out, exact)
			for _, d := range caseDrifts[1:] {
				// Where no line is indented there is no other indentation.
				if c := makeCase(e.name, e.changes, s, d); c.old != exact.old || c.hunks != exact.hunks {
					out = append(out, c)
				}
			}
		}
	}
	return out
}

func makeCase(name string, changes []change, s style, d drift) patchCase {
	c := patchCase{name: name + ", " + s.name + ", " + d.name}
	var plain, file []line
	for _, l := range d.above {
		file = append(file, line{l, s.eol(0)})
	}
	for i, l := range program {
		plain = append(plain, line{l, s.eol(i)})
		file = append(file, line{d.file(l), s.eol(i)})
	}
	c.old, c.want = lay(s, file), lay(s, changed(file, changes, len(d.above)))
	var theirs []string
	for _, l := range program {
		theirs = append(theirs, d.patch(l))
	}
	written := slices.Clone(changes)
	for i := range written {
		written[i].put = nil
		for _, l := range changes[i].put {
			written[i].put = append(written[i].put, d.patch(l))
		}
	}
	for _, h := range hunksOf(theirs, written) {
		c.hunks += "@@\n" + strings.Join(h.lines, "\n") + "\n"
	}
	if d.git && !(s.bom && d.above != nil) { // git takes the mark for a part of the first line
		c.diff = diffOf(s, plain, changed(plain, changes, 0), changes)
	}
	return c
}

func TestMadeCases(t *testing.T) {
	cases := patchCases()
	if len(cases) < 300 {
		t.Errorf("only %d cases", len(cases))
	}
	seen := map[string]bool{}
	for _, c := range cases {
		if seen[c.old+"\x00"+c.hunks] {
			t.Errorf("%s: the same as another", c.name)
		}
		seen[c.old+"\x00"+c.hunks] = true
		m := newMemory(map[string]string{"f": c.old, "g": "g\n"})
		m.files["f"] = Content{Data: []byte(c.old), Mode: 0o754}
		before := maps.Clone(m.files)
		body := "*** Update File: f\n" + c.hunks
		// With a section that does not fit nothing happens at all.
		if _, err := run(m, "*** Begin Patch\n"+body+"*** Update File: g\n-not there\n+x\n*** End Patch\n"); err == nil || !cmp.Equal(before, m.files) {
			t.Errorf("%s: not all or nothing: %v", c.name, err)
		}
		if _, err := run(m, "*** Begin Patch\n"+body+"*** End Patch\n"); err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, c.hunks)
			continue
		}
		if diff := cmp.Diff(c.want, string(m.files["f"].Data)); diff != "" {
			t.Errorf("%s: %s\n%s", c.name, diff, c.hunks)
		}
		if m.files["f"].Mode != 0o754 {
			t.Errorf("%s: mode %v", c.name, m.files["f"].Mode)
		}
	}
}

// The same edits as git's diffs, and what git makes of the files. One run of git
// does all it can and says by a file beside it what it cannot.
func TestMadeCasesAsGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cases := slices.DeleteFunc(patchCases(), func(c patchCase) bool { return c.diff == "" })
	dir := t.TempDir()
	name := func(i int) string { return filepath.Join(dir, fmt.Sprintf("f%d", i)) }
	var all bytes.Buffer
	for i, c := range cases {
		if err := os.WriteFile(name(i), []byte(c.old), 0o644); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "--- a/f%d\n+++ b/f%d\n%s", i, i, c.diff)
	}
	if err := os.WriteFile(filepath.Join(dir, "p"), all.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	_, _ = git(t, dir, "apply", "--reject", "--whitespace=nowarn", "p") // its status says whether anything was rejected
	compared := 0
	for i, c := range cases {
		if _, err := os.Stat(name(i) + ".rej"); err == nil {
			if strings.HasSuffix(c.name, "exact") {
				t.Errorf("%s: git cannot even do this", c.name)
			}
			continue
		}
		got, err := os.ReadFile(name(i))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(got), c.want); diff != "" {
			t.Errorf("%s: git makes of it (-)\n%s", c.name, diff)
		}
		compared++
	}
	t.Logf("%d of %d compared with git", compared, len(cases))
	if compared < 150 {
		t.Errorf("only %d cases were compared", compared)
	}
}

// Whole trees: what is added, removed, moved and changed, with modes, by us and by
// git.
func TestTreesAsGit(t *testing.T) {
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	tree := map[string]Content{
		"a": {[]byte("a1\na2\na3\n"), 0o644}, "sub/b": {[]byte("b1\r\nb2\r\n"), 0o755}, "no newline": {[]byte("n"), 0o644},
		"empty": {nil, 0o644}, "x.sh": {[]byte("#!/bin/sh\nexit 0\n"), 0o755},
	}
	for _, tt := range []struct{ name, ours, git string }{
		{"add", "*** Add File: n\n+x\n+\n+y\n", "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,3 @@\n+x\n+\n+y\n"},
		{"add in a new folder", "*** Add File: d/e/n\n+x\n", "diff --git a/d/e/n b/d/e/n\nnew file mode 100644\n--- /dev/null\n+++ b/d/e/n\n@@ -0,0 +1 @@\n+x\n"},
		{"add empty", "*** Add File: n\n", "diff --git a/n b/n\nnew file mode 100644\n"},
		{"add without final newline", "*** Add File: n\n+x\n\\ No newline at end of file\n", "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"},
		{"delete", "*** Delete File: a\n", "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a1\n-a2\n-a3\n"},
		{"delete what ends without newline", "*** Delete File: no newline\n", "diff --git a/no newline b/no newline\ndeleted file mode 100644\n--- a/no newline\t\n+++ /dev/null\n@@ -1 +0,0 @@\n-n\n\\ No newline at end of file\n"},
		{"delete empty", "*** Delete File: empty\n", "diff --git a/empty b/empty\ndeleted file mode 100644\n"},
		{"move", "*** Update File: x.sh\n*** Move to: bin/x\n", "diff --git a/x.sh b/bin/x\nsimilarity index 100%\nrename from x.sh\nrename to bin/x\n"},
		{"move and change", "*** Update File: sub/b\n*** Move to: b\n-b2\n+B2\n", "diff --git a/sub/b b/b\nsimilarity index 50%\nrename from sub/b\nrename to b\n--- a/sub/b\n+++ b/b\n@@ -1,2 +1,2 @@\n b1\r\n-b2\r\n+B2\r\n"},
		{"change keeps the mode", "*** Update File: x.sh\n-exit 0\n+exit 1\n", "--- a/x.sh\n+++ b/x.sh\n@@ -1,2 +1,2 @@\n #!/bin/sh\n-exit 0\n+exit 1\n"},
		{"into an empty file", "*** Update File: empty\n+x\n", "--- a/empty\n+++ b/empty\n@@ -0,0 +1 @@\n+x\n"},
		{"several at once", "*** Update File: a\n-a2\n+A2\n*** Add File: n\n+n\n*** Delete File: empty\n*** Update File: x.sh\n*** Move to: y.sh\n",
			"--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n a1\n-a2\n+A2\n a3\ndiff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\ndiff --git a/empty b/empty\ndeleted file mode 100644\ndiff --git a/x.sh b/y.sh\nsimilarity index 100%\nrename from x.sh\nrename to y.sh\n"},
	} {
		dir := t.TempDir()
		for name, c := range tree {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, c.Data, c.Mode); err != nil {
				t.Fatal(err)
			}
		}
		diff := filepath.Join(t.TempDir(), "p")
		if err := os.WriteFile(diff, []byte(tt.git), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := git(t, dir, "apply", diff); err != nil {
			t.Errorf("%s: git apply: %v", tt.name, err)
			continue
		}
		m := newMemory(nil)
		m.files = maps.Clone(tree)
		if _, err := run(m, "*** Begin Patch\n"+tt.ours+"*** End Patch\n"); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got := map[string]string{}
		for name, c := range m.files {
			got[name] = fmt.Sprintf("%v %q", max(c.Mode, 0o644), c.Data) // 0 is the tree's default
		}
		if diff := cmp.Diff(filesOf(t, dir), got); diff != "" {
			t.Errorf("%s: git makes of it (-)\n%s", tt.name, diff)
		}
	}
}

// filesOf are the files of a folder, with their modes.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		out[rel] = fmt.Sprintf("%v %q", info.Mode(), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
