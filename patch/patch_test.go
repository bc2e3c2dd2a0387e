package patch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// memory is a Tree in memory. fail names a path whose next change fails.
type memory struct {
	files   map[string]Content
	fail    map[string]bool
	touched map[string]bool
	folders map[string]bool // that were made
}

func newMemory(files map[string]string) *memory {
	m := &memory{files: map[string]Content{}, fail: map[string]bool{}, touched: map[string]bool{}, folders: map[string]bool{}}
	for name, data := range files {
		m.files[name] = Content{Data: []byte(data), Mode: 0o644}
	}
	return m
}

func (m *memory) Read(path string) (Content, error) {
	c, ok := m.files[path]
	if !ok {
		return Content{}, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return c, nil
}

func (m *memory) expect(path string, old *Content) error {
	m.touched[path] = true
	if m.fail[path] {
		return fmt.Errorf("%s: no space", path)
	}
	c, ok := m.files[path]
	if ok != (old != nil) || ok && !bytes.Equal(c.Data, old.Data) {
		return fmt.Errorf("%s: changed meanwhile", path)
	}
	return nil
}

func (m *memory) MakeFolders(file string) (made []string, err error) {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if !m.folders[dir] {
			made = append([]string{dir}, made...)
		}
	}
	for i, dir := range made {
		if m.fail[dir] {
			return made[:i], fmt.Errorf("%s: no space", dir)
		}
		m.folders[dir] = true
	}
	return made, nil
}

func (m *memory) RemoveFolder(dir string) error {
	for name := range m.files {
		if strings.HasPrefix(name, dir+"/") {
			return nil
		}
	}
	delete(m.folders, dir)
	return nil
}

func (m *memory) Write(path string, c Content, old *Content) error {
	if err := m.expect(path, old); err != nil {
		return err
	}
	m.files[path] = c
	return nil
}

func (m *memory) Remove(path string, old Content) error {
	if err := m.expect(path, &old); err != nil {
		return err
	}
	delete(m.files, path)
	return nil
}

func (m *memory) texts() map[string]string {
	out := map[string]string{}
	for name, c := range m.files {
		out[name] = string(c.Data)
	}
	return out
}

// run parses, applies and commits.
func run(m *memory, text string) ([]Change, error) {
	p, err := Parse(text)
	if err != nil {
		return nil, err
	}
	changes, err := Apply(p, m)
	if err != nil {
		return nil, err
	}
	return changes, Commit(m, changes)
}

const f123 = "one\ntwo\nthree\nfour\nfive\n"

// updates are patches of the one file "f".
var updates = []struct {
	name, old, hunks string
	want             string // the new file
	err              string // or a part of the error
}{
	{"replace", f123, " one\n-two\n+2\n three\n", "one\n2\nthree\nfour\nfive\n", ""},
	{"no @@ at first", f123, "-two\n+2\n", "one\n2\nthree\nfour\nfive\n", ""},
	{"two hunks", f123, "@@\n-two\n+2\n@@\n-four\n+4\n", "one\n2\nthree\n4\nfive\n", ""},
	{"hunks share context", f123, "@@\n one\n-two\n+2\n three\n@@\n three\n-four\n+4\n", "one\n2\nthree\n4\nfive\n", ""},
	{"hunks in the wrong order", f123, "@@\n-four\n+4\n@@\n-two\n+2\n", "one\n2\nthree\n4\nfive\n", ""},
	{"same line removed twice", f123, "@@\n-two\n+2\n@@\n-two\n+22\n", "", "not found"},
	{"only removal", f123, " one\n-two\n", "one\nthree\nfour\nfive\n", ""},
	{"everything removed", "a\nb\n", "-a\n-b\n", "", ""},
	{"added first", f123, "+zero\n one\n", "zero\n" + f123, ""},
	{"added last", f123, " five\n+six\n", f123 + "six\n", ""},
	{"added without context goes to the end", f123, "+six\n", f123 + "six\n", ""},
	{"added below an anchor", f123, "@@ two\n+2.5\n", "one\ntwo\n2.5\nthree\nfour\nfive\n", ""},
	{"added below an ambiguous anchor", "a\nb\na\n", "@@ a\n+x\n", "", "lines 1 and 3"},
	{"added below a missing anchor", f123, "@@ nope\n+x\n", "", `"nope" of the "@@" is not in the file`},
	{"added at the end of file", f123, "@@ one\n+six\n*** End of File\n", f123 + "six\n", ""},
	{"empty line between added ones", f123, "+six\n\n+seven\n", f123 + "six\n\nseven\n", ""},
	{"into an empty file", "", "+a\n", "a\n", ""},
	{"ambiguous", "a\nx\na\nx\n", "-x\n+y\n", "", "lines 2 and 4"},
	{"ambiguous, many", strings.Repeat("x\n", 9), "-x\n+y\n", "", "lines 1, 2, 3, 4, 5 and 4 more"},
	{"context tells apart", "a\nx\nb\nx\n", " b\n-x\n+y\n", "a\nx\nb\ny\n", ""},
	{"anchor tells apart", "a\nx\nb\nx\n", "@@ b\n-x\n+y\n", "a\nx\nb\ny\n", ""},
	{"anchor takes the first below it", "a\nx\nb\nx\nx\n", "@@ b\n-x\n+y\n", "a\nx\nb\ny\nx\n", ""},
	{"anchor is itself the first line", "a\nx\nb\nx\n", "@@ b\n b\n-x\n+y\n", "a\nx\nb\ny\n", ""},
	{"anchor by its beginning", "func a(i int) {\n\tx\n}\nfunc b(i int) {\n\tx\n}\n", "@@ func b\n-\tx\n+\ty\n", "func a(i int) {\n\tx\n}\nfunc b(i int) {\n\ty\n}\n", ""},
	{"anchor by a part", "x\n  def f(self):\nx\n", "@@ f(self)\n-x\n+y\n", "x\n  def f(self):\ny\n", ""},
	{"anchor with other indentation", "x\n    class B:\nx\n", "@@ class B:\n-x\n+y\n", "x\n    class B:\ny\n", ""},
	{"two anchors", "A\nf\nx\nB\nf\nx\n", "@@ B\n@@ f\n-x\n+y\n", "A\nf\nx\nB\nf\ny\n", ""},
	{"anchor twice, each with the lines", "f\nx\nf\nx\n", "@@ f\n-x\n+y\n", "", "several lines like"},
	{"anchor twice, one with the lines", "f\nz\nx\ng\nx\nf\n", "@@ f\n-x\n+y\n", "f\nz\ny\ng\nx\nf\n", ""},
	{"anchor missing, lines unique", f123, "@@ func gone()\n-two\n+2\n", "one\n2\nthree\nfour\nfive\n", ""},
	{"anchor missing, lines not unique", "x\nx\n", "@@ gone\n-x\n+y\n", "", "is not in the file"},
	{"anchor below every place", "x\nx\nb\n", "@@ b\n-x\n+y\n", "", "none of them below"},
	{"anchor below the one place", "x\ny\nb\nz\n", "@@ b\n-x\n+X\n", "", "none of them below"},
	{"anchor leads past an exact place to a tolerant one", "A\n x\nB\n  x\n", "@@ B\n- x\n+ y\n", "A\n x\nB\n  y\n", ""},
	{"anchor in the middle of the lines", "d\nf\nx\nd\ng\nx\n", "@@ g\n d\n g\n-x\n+y\n", "d\nf\nx\nd\ng\ny\n", ""},
	{"anchor above and in the lines", "d\nx\nd\nx\n", "@@ x\n d\n-x\n+y\n", "d\nx\nd\ny\n", ""},
	{"git hunk", f123, "@@ -1,3 +1,3 @@ func\n one\n-two\n+2\n three\n", "one\n2\nthree\nfour\nfive\n", ""},
	{"git hunk, number tells apart", "x\nx\nx\n", "@@ -2 +2 @@\n-x\n+y\n", "x\ny\nx\n", ""},
	{"git hunk, shifted", "new\nnew\n" + f123, "@@ -2 +2 @@\n-two\n+2\n", "new\nnew\none\n2\nthree\nfour\nfive\n", ""},
	{"git hunk, shift of the first helps the second", "new\nnew\na\nx\nx\nx\n", "@@ -1 +1 @@\n-a\n+A\n@@ -3 +3 @@\n-x\n+y\n", "new\nnew\nA\nx\ny\nx\n", ""},
	{"git hunk, insertion", f123, "@@ -2,0 +3 @@\n+2.5\n", "one\ntwo\n2.5\nthree\nfour\nfive\n", ""},
	{"git hunk, insertion at the start", f123, "@@ -0,0 +1 @@\n+zero\n", "zero\n" + f123, ""},
	{"git hunk, insertion far below the end", f123, "@@ -900,0 +900 @@\n+six\n", f123 + "six\n", ""},
	{"end of file tells apart", "x\na\nx\n", "-x\n+y\n*** End of File\n", "x\na\ny\n", ""},
	{"end of file, lines elsewhere and unique", f123, "-two\n+2\n*** End of File\n", "one\n2\nthree\nfour\nfive\n", ""},
	{"after end of file a second hunk", f123, "@@\n-five\n+5\n*** End of File\n@@\n-one\n+1\n", "1\ntwo\nthree\nfour\n5\n", ""},
	{"white space at the line end", "one  \ntwo\t\n", " one\n-two\n+2\n", "one  \n2\n", ""},
	{"indentation adapted", "if x:\n\tfor y:\n\t\tz()\n", " if x:\n     for y:\n-        z()\n+        w()\n", "if x:\n\tfor y:\n\t\tw()\n", ""},
	{"indentation missing altogether", "class A:\n    def f():\n        pass\n", " def f():\n-    pass\n+    return 1\n", "class A:\n    def f():\n        return 1\n", ""},
	{"indentation deeper than any that is known", "if x:\n\tfor y:\n\t\tz()\n", " if x:\n     for y:\n-        z()\n+        if w:\n+            z()\n", "if x:\n\tfor y:\n\t\tif w:\n\t\t\tz()\n", ""},
	{"indentation deeper, missing altogether", "class A:\n    def f():\n        pass\n", " def f():\n-    pass\n+    if x:\n+        y()\n", "class A:\n    def f():\n        if x:\n            y()\n", ""},
	{"indentation deeper by nothing known is kept", "\tfor y:\n\t\tz()\n", "     for y:\n-        z()\n+        z()\n+          w()\n", "\tfor y:\n\t\tz()\n          w()\n", ""},
	{"inner white space", "a  =  1\n", "-a = 1\n+a = 2\n", "a = 2\n", ""},
	{"exact wins over tolerant", "a \na\n", "-a\n+b\n", "a \nb\n", ""},
	{"tolerant and ambiguous", "\ta\n\ta\n", "-a\n+b\n", "", "lines 1 and 2"},
	{"typographic characters", "it\u2019s \u201cx\u201d \u2013 y\n", "-it's \"x\" - y\n+ok\n", "ok\n", ""},
	{"composed in the file, decomposed in the patch", "caf\u00e9\nx\n", " cafe\u0301\n-x\n+y\n", "caf\u00e9\ny\n", ""},
	{"decomposed in the file, composed in the patch", "cafe\u0301\nx\n", "-caf\u00e9\n+tea\n x\n", "tea\nx\n", ""},
	{"Hangul in letters", "\u1112\u1161\u11ab\nx\n", " \ud55c\n-x\n+y\n", "\u1112\u1161\u11ab\ny\n", ""},
	{"marks in another order", "a\u0323\u0307\nx\n", " a\u0307\u0323\n-x\n+y\n", "a\u0323\u0307\ny\n", ""},
	{"a character without a shape", "key\u200b = 1\n", "-key = 1\n+key = 2\n", "key = 2\n", ""},
	{"a letter of another alphabet", "val\u0456d = true\n", "-valid = true\n+valid = false\n", "", "'\u0456' (U+0456) in the file and 'i' (U+0069) in the patch"},
	{"a letter of another alphabet, below", "a\nval\u0456d = true\n", " a\n-valid = true\n+valid = false\n", "", "after 3 characters there is '\u0456' (U+0456)"},
	{"another digit", "n = \u0661\u0662\n", "-n = 12\n+n = 13\n", "", "is not in the file"},
	{"an end that is missing", "the quick brown fox;\n", "-the quick brown fox\n+x\n", "", "there is ';' (U+003B) in the file and nothing in the patch"},
	{"empty context line without its space", "a\n\nb\n", " a\n\n-b\n+c\n", "a\n\nc\n", ""},
	{"stray empty line at the hunk's end", f123, "-two\n+2\n three\n\n", "one\n2\nthree\nfour\nfive\n", ""},
	{"empty line at the hunk's end that is real", "a\n\nb\na\nc\n", "-a\n+x\n\n@@\n-c\n+d\n", "x\n\nb\na\nd\n", ""},
	{"not found names the line", f123, " one\n-two!\n+2\n", "", `line 2 is "two" where the patch has "two!"`},
	{"not found at all", f123, "-zzz\n+2\n", "", `the line "zzz" is not in the file`},
	{"file ends too early", f123, " five\n six\n-seven\n", "", "the file ends where the patch has \"six\""},
	{"only the empty lines above differ", "a\nb\nx\n", "-\n b\n-x\n+y\n", "", "only the empty lines above line 2 differ"},
	{"error names the patch line", f123, "@@\n-two\n+2\n@@\n-zzz\n", "", "patch line 6, f:"},
	{"nothing changes", f123, "-two\n+two\n", "", "changes nothing"},
	{"crlf kept", "a\r\nb\r\nc\r\n", " a\n-b\n+B\n+BB\n", "a\r\nB\r\nBB\r\nc\r\n", ""},
	{"crlf in the hunk too", "a\r\nb\r\n", " a\r\n-b\r\n+B\r\n", "a\r\nB\r\n", ""},
	{"mixed endings kept", "a\r\nb\nc\r\nd\n", "-b\n+B\n c\n", "a\r\nB\nc\r\nd\n", ""},
	{"crlf, new last line", "a\r\nb", " b\n+c\n", "a\r\nb\r\nc", ""},
	{"no final newline kept", "a\nb", "-b\n+c\n", "a\nc", ""},
	{"no final newline, line added", "a\nb", " b\n+c\n", "a\nb\nc", ""},
	{"no final newline, first line changed", "a\nb", "-a\n+A\n", "A\nb", ""},
	{"no final newline, last removed", "a\nb", "-b\n", "a", ""},
	{"final newline added", "a\nb", "-b\n\\ No newline at end of file\n+b\n", "a\nb\n", ""},
	{"final newline removed", "a\nb\n", "-b\n+b\n\\ No newline at end of file\n", "a\nb", ""},
	{"byte order mark kept", "\ufeffa\nb\n", "-a\n+A\n", "\ufeffA\nb\n", ""},
	{"bytes that are not UTF-8 kept", "\xff\xfe\na\n", "-a\n+b\n", "\xff\xfe\nb\n", ""},
	{"line of stars", "*** x\na\n", " *** x\n-a\n+*** End Patch\n", "*** x\n*** End Patch\n", ""},
	{"line that looks like an anchor", "@@ x\na\n", " @@ x\n-a\n+b\n", "@@ x\nb\n", ""},
}

func TestUpdate(t *testing.T) {
	for _, tt := range updates {
		t.Run(tt.name, func(t *testing.T) {
			m := newMemory(map[string]string{"f": tt.old})
			_, err := run(m, "*** Begin Patch\n*** Update File: f\n"+tt.hunks+"*** End Patch\n")
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want one with %q; the file is now %q", err, tt.err, m.files["f"].Data)
				}
				if got := string(m.files["f"].Data); got != tt.old {
					t.Errorf("a refused patch changed the file to %q", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(m.files["f"].Data)); diff != "" {
				t.Error(diff)
			}
			if m.files["f"].Mode != 0o644 {
				t.Errorf("mode %v", m.files["f"].Mode)
			}
		})
	}
}

// sections are whole patches on a small tree.
var sections = []struct {
	name, patch string
	want        map[string]string // what differs from the tree; "-" means gone
	err         string
}{
	{"add", "*** Add File: n\n+x\n+\n+y\n", map[string]string{"n": "x\n\ny\n"}, ""},
	{"add empty", "*** Add File: n\n", map[string]string{"n": ""}, ""},
	{"add without final newline", "*** Add File: n\n+x\n\\ No newline at end of file\n", map[string]string{"n": "x"}, ""},
	{"add over a file", "*** Add File: a\n+x\n", nil, "the file already exists"},
	{"add, line without plus", "*** Add File: n\n+x\ny\n", nil, "patch line 4: every line of a new file starts with \"+\"; found \"y\""},
	{"add, blank line without plus", "*** Add File: n\n+x\n\n+y\n", nil, "patch line 4"},
	{"add, blank line before the next", "*** Add File: n\n+x\n\n*** Delete File: a\n", map[string]string{"n": "x\n", "a": "-"}, ""},
	{"delete", "*** Delete File: a\n", map[string]string{"a": "-"}, ""},
	{"delete what is not there", "*** Delete File: nope\n", nil, "no such file"},
	{"update what is not there", "*** Update File: nope\n-x\n", nil, "no such file"},
	{"replace whole", "*** Delete File: a\n*** Add File: a\n+new\n", map[string]string{"a": "new\n"}, ""},
	{"move", "*** Update File: a\n*** Move to: sub/a\n", map[string]string{"a": "-", "sub/a": "a1\na2\n"}, ""},
	{"move and change", "*** Update File: a\n*** Move to: c\n-a1\n+A1\n", map[string]string{"a": "-", "c": "A1\na2\n"}, ""},
	{"move onto a file", "*** Update File: a\n*** Move to: b\n", nil, "already exists"},
	{"move onto itself", "*** Update File: a\n*** Move to: a\n-a1\n+A\n", map[string]string{"a": "A\na2\n"}, ""},
	{"move onto a file that another section adds", "*** Add File: c\n+x\n*** Update File: a\n*** Move to: c\n", nil, "already exists"},
	{"move below a hunk", "*** Update File: a\n-a1\n*** Move to: c\n", nil, "patch line 4: *** Move to: must stand directly"},
	{"update after move", "*** Update File: a\n*** Move to: c\n*** Update File: c\n-a1\n+x\n", nil, "already names this file in line 2"},
	{"two updates of one file", "*** Update File: a\n-a1\n+x\n*** Update File: a\n-x\n+y\n", map[string]string{"a": "y\na2\n"}, ""},
	{"add twice", "*** Add File: n\n+x\n*** Add File: n\n+x\n", nil, "already names this file"},
	{"all or nothing", "*** Update File: a\n-a1\n+x\n*** Update File: b\n-zzz\n+x\n", nil, "patch line 6, b:"},
	{"three files", "*** Update File: a\n-a1\n+x\n*** Add File: n\n+n\n*** Delete File: b\n", map[string]string{"a": "x\na2\n", "n": "n\n", "b": "-"}, ""},
	{"no file", "", nil, "names no file"},
	{"unknown mark", "*** Rename File: a\n", nil, "patch line 2: want *** Add File"},
	{"text between", "hello\n", nil, `found "hello"`},
	{"update without hunk", "*** Update File: a\n", nil, "neither a hunk nor"},
	{"hunk without lines", "*** Update File: a\n@@ x\n*** Delete File: b\n", nil, "patch line 3: the hunk has no lines"},
	{"bad line in a hunk", "*** Update File: a\n a1\nxyz\n", nil, `patch line 4: the lines of a hunk start with a space (kept), "-" (removed) or "+" (added); found "xyz"`},
	{"empty path", "*** Add File:  \n+x\n", nil, "patch line 2"},
	{"path with control character", "*** Add File: a\x1bb\n+x\n", nil, "control characters"},
	{"path too long", "*** Add File: " + strings.Repeat("p", MaxPath+1) + "\n+x\n", nil, "4097 bytes"},
	{"path with spaces", "*** Add File: my file.txt \n+x\n", map[string]string{"my file.txt": "x\n"}, ""},
	{"too many files", strings.Repeat("*** Delete File: x\n", MaxFiles+1), nil, "more than 500 files"},
}

func TestSections(t *testing.T) {
	tree := map[string]string{"a": "a1\na2\n", "b": "b1\n"}
	for _, tt := range sections {
		t.Run(tt.name, func(t *testing.T) {
			m := newMemory(tree)
			_, err := run(m, "*** Begin Patch\n"+tt.patch+"*** End Patch")
			want := maps.Clone(tree)
			for name, data := range tt.want {
				if want[name] = data; data == "-" {
					delete(want, name)
				}
			}
			if (tt.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if diff := cmp.Diff(want, m.texts()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFrame(t *testing.T) {
	body := "*** Add File: n\n+x\n"
	good := "*** Begin Patch\n" + body + "*** End Patch"
	for _, tt := range []struct{ name, text, err string }{
		{"plain", good, ""},
		{"blank lines around", "\n\n" + good + "\n\n", ""},
		{"spaces after the marks", strings.ReplaceAll(good, "Patch", "Patch  "), ""},
		{"here-document", "<<'EOF'\n" + good + "\nEOF\n", ""},
		{"here-document with command", "apply_patch <<EOF\n" + good + "\nEOF", ""},
		{"fence", "```diff\n" + good + "\n```\n", ""},
		{"carried with CR LF", strings.ReplaceAll(good+"\n", "\n", "\r\n"), ""},
		{"empty", " \n", "the patch is empty"},
		{"no begin", body + "*** End Patch", "patch line 1: the first line must be"},
		{"cut off", "*** Begin Patch\n" + body, "was the patch cut off?"},
		{"only begin", "*** Begin Patch", "was the patch cut off?"},
		{"unified diff", "--- a/x\n+++ b/x\n", "unified diff"},
		{"something after the end", good + "\nmore", "the last line must be"},
		{"end in the middle", "*** Begin Patch\n*** End Patch\n" + body + "*** End Patch", "patch line 2"},
		{"too long", strings.Repeat("x", MaxText+1), "split it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Parse(tt.text)
			if tt.err != "" {
				var perr *Error
				if !errors.As(err, &perr) || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := []File{{Op: Add, Path: "n", Content: []byte("x\n"), Line: p.Files[0].Line}}
			if diff := cmp.Diff(want, p.Files); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestChangesAndNotes(t *testing.T) {
	m := newMemory(map[string]string{"a": "a1 \na2\n", "b": "b\n"})
	m.files["a"] = Content{Data: m.files["a"].Data, Mode: 0o755}
	changes, err := run(m, "*** Begin Patch\n*** Update File: a\n*** Move to: c\n-a1\n+A\n*** Delete File: b\n*** Add File: d\n+d\n*** End Patch")
	if err != nil {
		t.Fatal(err)
	}
	a, b := Content{[]byte("a1 \na2\n"), 0o755}, Content{[]byte("b\n"), 0o644}
	want := []Change{
		{Kind: Move, Path: "c", From: "a", Old: &a, New: &Content{[]byte("A\na2\n"), 0o755},
			Notes: []string{"the hunk at patch line 4 fits line 1 only ignoring white space at line ends"}},
		{Kind: Delete, Path: "b", Old: &b},
		{Kind: Add, Path: "d", New: &Content{Data: []byte("d\n")}},
	}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Error(diff)
	}
}

func TestMapUnifiesSpellings(t *testing.T) {
	p, err := Parse("*** Begin Patch\n*** Add File: x/../n\n+1\n*** Add File: n\n+2\n*** End Patch")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"x/../n", "n"}, p.Paths()); diff != "" {
		t.Error(diff)
	}
	q, err := p.Map(func(string) (string, error) { return "/w/n", nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Apply(q, newMemory(nil)); err == nil || !strings.Contains(err.Error(), "already names this file") {
		t.Errorf("two spellings of one file: %v", err)
	}
	if _, err = p.Map(func(string) (string, error) { return "", errors.New("outside") }); err == nil || err.Error() != "patch line 2: outside" {
		t.Errorf("error %v", err)
	}
}
