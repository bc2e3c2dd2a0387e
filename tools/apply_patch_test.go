package tools

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"
	"codeagent/sandbox/protect/protecttest"
)

func TestApplyPatch(t *testing.T) {
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	p := newPlace(t, map[string]string{"a.txt": "one\ntwo\nthree\n", "b.txt": "b\n", "c.sh": "#!/bin/sh\n"})
	if err := os.Chmod(filepath.Join(p.ws, "c.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := p.ok("apply_patch", args{"patch": `*** Begin Patch
*** Update File: a.txt
@@
 one
-two
+2
*** Delete File: ./b.txt
*** Add File: new/deep/n.txt
+n
*** Update File: ` + p.ws + `/c.sh
*** Move to: bin/c.sh
+exit 0
*** End Patch`})
	want := map[string]string{".keep": "", "a.txt": "one\n2\nthree\n", "new/deep/n.txt": "n\n", "bin/c.sh": "#!/bin/sh\nexit 0\n"}
	if diff := cmp.Diff(want, p.tree(p.ws)); diff != "" {
		t.Error(diff)
	}
	if fi, err := os.Stat(filepath.Join(p.ws, "bin/c.sh")); err != nil || fi.Mode().Perm() != 0o755 {
		t.Errorf("mode of a moved file: %v, %v", fi.Mode(), err)
	}
	text := func(s string) *string { return &s }
	changes := []event.FileChange{
		{Path: "a.txt", Kind: "update", Added: 1, Removed: 1, Diff: "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", Before: text("one\ntwo\nthree\n"), After: text("one\n2\nthree\n")},
		{Path: "b.txt", Kind: "delete", Removed: 1, Diff: "--- a/b.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-b\n", Before: text("b\n")},
		{Path: "new/deep/n.txt", Kind: "add", Added: 1, Diff: "--- /dev/null\n+++ b/new/deep/n.txt\n@@ -0,0 +1,1 @@\n+n\n", After: text("n\n")},
		{Path: "bin/c.sh", Kind: "move", From: "c.sh", Added: 1, Diff: "--- a/c.sh\n+++ b/bin/c.sh\n@@ -1,1 +1,2 @@\n #!/bin/sh\n+exit 0\n", Before: text("#!/bin/sh\n"), After: text("#!/bin/sh\nexit 0\n")},
	}
	if diff := cmp.Diff(changes, r.Changes); diff != "" {
		t.Error(diff)
	}
	if want := "Done:\nupdate a.txt (+1 -1)\ndelete b.txt (+0 -1)\nadd new/deep/n.txt (+1 -0)\nmove c.sh -> bin/c.sh (+1 -0)"; r.Text != want {
		t.Errorf("%q", r.Text)
	}
	if r.Message != "4 files changed, +3 -2" || r.Outcome != word.OK {
		t.Errorf("%+v", r)
	}
}

func TestApplyPatchAction(t *testing.T) {
	p := newPlace(t, nil)
	_, err := p.plan("apply_patch", args{"patch": "*** Begin Patch\n*** Add File: x/../a\n+1\n*** Add File: b\n*** Add File: c\n*** Add File: d\n*** End Patch", "justification": "j"})
	if err == nil {
		t.Fatal("\"..\" below what does not exist was resolved")
	}
	contains(t, "error", err.Error(), `apply_patch: patch line 2: the path cannot be resolved`)
	a := addOf("a", "1")["patch"].(string)
	c, err := p.plan("apply_patch", args{"patch": a, "justification": " j "})
	if err != nil {
		t.Fatal(err)
	}
	want := approvals.Action{CallID: "c1", Tool: "apply_patch", Kind: word.KindEdit, Title: "edit a", Command: a, Folder: p.ws,
		Paths: []string{filepath.Join(p.ws, "a")}, Wish: approvals.Wish{Justification: "j"}}
	if diff := cmp.Diff(want, c.Action()); diff != "" {
		t.Error(diff)
	}
	for _, tt := range []struct {
		args any
		want string
	}{
		{args{}, `"patch" is missing`},
		{args{"patch": "hello"}, `patch line 1: the first line must be "*** Begin Patch"`},
		{args{"patch": "*** Begin Patch\n*** Add File: ~/x\n+1\n*** End Patch"}, "begins with ~"},
		{args{"patch": "*** Begin Patch\n*** Add File: .keep/x\n+1\n*** End Patch"}, "not a directory"},
		{args{"input": a}, `there is no argument "input"`},
	} {
		if _, err := p.plan("apply_patch", tt.args); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v", tt.args, err)
		}
	}
}

// An edit through a link inside the workspace changes the file; a link itself is
// neither deleted nor moved.
func TestApplyPatchLinksInside(t *testing.T) {
	p := newPlace(t, map[string]string{"sub/f": "f\n"})
	p.link("sub/f", "l")
	p.link("sub", "dir")
	p.ok("apply_patch", updateOf("l", "-f\n+g\n"))
	p.ok("apply_patch", updateOf("dir/f", "-g\n+h\n"))
	if p.read("sub/f") != "h\n" {
		t.Errorf("%q", p.read("sub/f"))
	}
	for _, text := range []string{"*** Delete File: l\n", "*** Update File: l\n*** Move to: n\n", "*** Update File: l\n*** Move to: n\n-h\n+i\n"} {
		if _, err := p.plan("apply_patch", args{"patch": "*** Begin Patch\n" + text + "*** End Patch"}); err == nil || !strings.Contains(err.Error(), "patch line 2, l: this is a symbolic link") {
			t.Errorf("%s: %v", text, err)
		}
	}
	p.ok("apply_patch", args{"patch": "*** Begin Patch\n*** Delete File: dir/f\n*** End Patch"})
	if diff := cmp.Diff(map[string]string{".keep": "", "l": "-> sub/f", "dir": "-> sub"}, p.tree(p.ws)); diff != "" {
		t.Error(diff)
	}
}

// A patch that does not apply, or fails in the middle, leaves every file unchanged.
func TestApplyPatchAllOrNothing(t *testing.T) {
	files := map[string]string{"a.txt": "a\n", "b.txt": "b\n", "d/f": "f\n"}
	for _, tt := range []struct{ name, patch, want string }{
		{"second file does not fit", "*** Update File: a.txt\n-a\n+A\n*** Update File: b.txt\n-zzz\n", "the patch was not applied, no file was changed: patch line 6, "},
		{"no such file", "*** Update File: a.txt\n-a\n+A\n*** Update File: nope\n-zzz\n", "there is no such file"},
		{"a folder in the way", "*** Update File: a.txt\n-a\n+A\n*** Add File: d\n+x\n", "is a folder"},
		{"fails while writing", "*** Update File: a.txt\n-a\n+A\n*** Add File: n\n+x\n*** Add File: n/below\n+x\n", "what had been changed was put back"},
		{"a folder deleted", "*** Delete File: d\n", "is a folder"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t, files)
			before := p.tree(p.ws)
			r, err := p.do("apply_patch", args{"patch": "*** Begin Patch\n" + tt.patch + "*** End Patch"})
			if err != nil {
				t.Fatal(err)
			}
			if !r.Failed || r.Outcome != word.Failed || r.Changes != nil {
				t.Errorf("%+v", r)
			}
			contains(t, "text", r.Text, tt.want)
			if diff := cmp.Diff(before, p.tree(p.ws)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A failed patch leaves no folder that it made, not even an empty one.
func TestApplyPatchLeavesNoFolders(t *testing.T) {
	p := newPlace(t, map[string]string{"d/f": "f\n"})
	r, err := p.do("apply_patch", args{"patch": "*** Begin Patch\n*** Add File: new/deep/n\n+x\n*** Add File: d/more/m\n+x\n*** Add File: new/deep/n/below\n+x\n*** End Patch"})
	if err != nil || !r.Failed {
		t.Fatalf("%+v, %v", r, err)
	}
	contains(t, "text", r.Text, "what had been changed was put back")
	for _, name := range []string{"new", "d/more"} {
		if _, err := os.Lstat(filepath.Join(p.ws, name)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	p.ok("apply_patch", args{"patch": "*** Begin Patch\n*** Add File: new/deep/n\n+x\n*** End Patch"})
}

// A file outside the write roots, or a protected file, becomes a question before anything is
// read, and stays unchanged if the answer is no.
func TestApplyPatchOutsideAsks(t *testing.T) {
	p := newPlace(t, map[string]string{protecttest.In("{editor}"): "{}\n"})
	p.link(p.out, "linkdir")
	p.link(filepath.Join(p.out, "secret"), "linkfile")
	p.link(filepath.Join(p.out, "not-yet"), "dangling")
	before := p.tree(filepath.Dir(p.ws))
	for name, patch := range map[string]args{
		"absolute":                 updateOf(p.out+"/secret", "-secret\n+x\n"),
		"dots":                     updateOf("../out/secret", "-secret\n+x\n"),
		"link in the middle":       updateOf("linkdir/secret", "-secret\n+x\n"),
		"link at the end":          updateOf("linkfile", "-secret\n+x\n"),
		"link to nothing yet":      addOf("dangling", "x"),
		"new file through a link":  addOf("linkdir/new", "x"),
		"/proc":                    updateOf("/proc/self/root"+p.out+"/secret", "-secret\n+x\n"),
		"a name that begins alike": addOf(p.ws+"x/f", "x"),
		"protected name":           updateOf(protecttest.In("{editor}"), "-{}\n+x\n"),
		"protected name, new":      addOf(protecttest.In("{agent}/config.toml"), "x"),
		"move outside":             {"patch": "*** Begin Patch\n*** Update File: .keep\n*** Move to: linkdir/keep\n*** End Patch"},
	} {
		p.asked = nil
		r, err := p.do("apply_patch", patch)
		if err == nil {
			t.Errorf("%s: not refused: %+v", name, r)
		}
		if len(p.asked) != 1 && !strings.Contains(err.Error(), "codeagent") && name != "/proc" {
			t.Errorf("%s: no question, and %v", name, err)
		}
		if diff := cmp.Diff(before, p.tree(filepath.Dir(p.ws))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	p.answer = approvals.Answer{Decision: approvals.Once}
	if r := p.ok("apply_patch", updateOf("linkfile", "-secret\n+granted\n")); p.read(p.out+"/secret") != "granted\n" {
		t.Errorf("a granted edit was not made: %+v", r)
	}
}

// The tool itself refuses too, whatever the gate allowed, and names the file, the rule and
// what to do.
func TestApplyPatchChecksThePolicyItself(t *testing.T) {
	p, row := newPlace(t, nil), protect.Of(protecttest.In("{shell}"))
	p.stage.Exec = p.runner()
	tool := &applyPatchTool{paths{files: p.options.Files, workspace: p.ws}}
	c, err := tool.plan(applyPatchArguments{Patch: "*** Begin Patch\n*** Add File: " + p.out + "/x\n+x\n*** Add File: " + row.Name + "\n+x\n*** End Patch"})
	if err != nil {
		t.Fatal(err)
	}
	for _, asking := range []bool{true, false} {
		p.stage.Asking = asking
		r, err := c.run(context.Background(), p.policy, p.stage)
		if err != nil || r.Outcome != word.Refused || !r.Failed {
			t.Fatalf("%+v, %v", r, err)
		}
		contains(t, "text", r.Text, p.out+"/x: it lies outside every write root", p.ws+"/"+row.Name+": it is protected ("+row.Reason+")")
		if got := strings.Contains(r.Text, "justification"); got != asking {
			t.Errorf("asking %v: %s", asking, r.Text)
		}
		want := []sandbox.Denial{
			{Kind: sandbox.KindWrite, Operation: "write", Target: p.out + "/x", Program: "apply_patch", Evidence: sandbox.EvidenceBackend, Count: 1},
			{Kind: sandbox.KindProtected, Operation: "write", Target: p.ws + "/" + row.Name, Program: "apply_patch", Evidence: sandbox.EvidenceBackend, Count: 1},
		}
		if diff := cmp.Diff(want, r.Verdict.Denials); diff != "" {
			t.Error(diff)
		}
	}
	for _, path := range []string{p.out + "/x", row.Name} {
		if got := p.read(path); got != "(absent)" {
			t.Errorf("%s was written: %q", path, got)
		}
	}
}

// A link that takes a folder's place after the patch was planned and permitted
// does not lead the write out.
func TestApplyPatchSwappedAfterPlan(t *testing.T) {
	p := newPlace(t, map[string]string{"d/secret": "secret\n"})
	p.stage.Exec = p.runner()
	for _, patch := range []args{updateOf("d/secret", "-secret\n+x\n"), addOf("d/new", "x"), {"patch": "*** Begin Patch\n*** Delete File: d/secret\n*** End Patch"}} {
		c, err := p.plan("apply_patch", patch)
		if err != nil {
			t.Fatal(err)
		}
		permit, err := p.permit(c.Action())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(p.ws, "d"), filepath.Join(p.ws, "d2")); err != nil {
			t.Fatal(err)
		}
		p.link(p.out, "d")
		r, err := c.Run(context.Background(), permit, p.stage)
		if err != nil || !r.Failed {
			t.Errorf("%+v, %v", r, err)
		}
		if diff := cmp.Diff(map[string]string{"secret": "secret\n"}, p.tree(p.out)); diff != "" {
			t.Error(diff)
		}
		p.remove("d")
		if err := os.Rename(filepath.Join(p.ws, "d2"), filepath.Join(p.ws, "d")); err != nil {
			t.Fatal(err)
		}
	}
}

// The diffs shown are valid: git makes the same files from them.
func TestDiffsApplyWithGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	files := map[string]string{"a": "a\nb", "b": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "c": "", "d": "gone\n", "e": "e\r\nf\r\n", "f": "1\n2\n3\n"}
	p, q := newPlace(t, files), newPlace(t, files)
	r := p.ok("apply_patch", args{"patch": `*** Begin Patch
*** Update File: a
-b
+c
*** Update File: b
-1
-2
+one
@@
-9
+nine
+ten
*** Update File: c
+new
*** Delete File: d
*** Update File: e
-f
+F
*** Update File: f
-1
-2
-3
*** Add File: n/m
+x
*** End Patch`})
	for _, c := range r.Changes {
		cmd := exec.Command("git", "apply", "-")
		cmd.Dir, cmd.Stdin = q.ws, strings.NewReader(c.Diff)
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(q.ws))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s\n%s", c.Path, err, out, c.Diff)
		}
	}
	want := p.tree(p.ws)
	if want["f"] == "" { // git removes an emptied file unless the header says that it stays
		delete(want, "f")
	}
	got := q.tree(q.ws)
	if got["f"] == "" {
		delete(got, "f")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDiffIsBounded(t *testing.T) {
	p := newPlace(t, map[string]string{"bin": "a\x00b\n"})
	var b strings.Builder
	for range 40_000 {
		b.WriteString("+a line of a large new file\n")
	}
	r := p.ok("apply_patch", args{"patch": "*** Begin Patch\n*** Add File: big\n" + b.String() + "*** Delete File: bin\n*** End Patch"})
	big, bin := r.Changes[0], r.Changes[1]
	if len(big.Diff) > maxDiff+200 || big.Added != 40_000 || !strings.HasSuffix(big.Diff, "(the rest of the diff is not shown)\n") {
		t.Errorf("%d bytes, +%d, ends %q", len(big.Diff), big.Added, tail(big.Diff))
	}
	if bin.Diff != "(binary or very large: not shown)\n" {
		t.Errorf("%q", bin.Diff)
	}
}

// TestEncodings: an edit reports its lines whatever the encoding of the file, with the bytes that it has
// afterwards; a file in UTF-16 is named as such.
func TestEncodings(t *testing.T) {
	wide := "\xff\xfeo\x00n\x00e\x00\n\x00t\x00w\x00o\x00\n\x00"
	for _, row := range []struct{ name, old, patch, counts, diff, note string }{
		{"latin-1", "caf\xe9\none\n", "Update File: f\n@@\n-one\n+two", "(+1 -1)", " café\n-one\n+two\n", "the file is not UTF-8"},
		{"latin-1, a line of UTF-8", "caf\xe9\none\n", "Update File: f\n@@\n-one\n+é", "(+1 -1)", "-one\n+Ã©\n", "the added lines are written as UTF-8"},
		{"windows-1252, deleted", "\x80 10\n", "Delete File: f", "(+0 -1)", "-€ 10\n", ""},
		{"koi8-r, replaced", "\xf0\xd2\xc9\n", "Delete File: f\n*** Add File: f\n+При", "(+1 -1)", "+При\n", ""},
		{"UTF-8 with a mark", "\xef\xbb\xbfone\ntwo\n", "Update File: f\n@@\n-one\n+1", "(+1 -1)", "+\ufeff1\n two\n", ""},
		{"CR LF", "one\r\ntwo\r\n", "Update File: f\n@@\n-one\n+1", "(+1 -1)", "-one\r\n+1\r\n two\r\n", ""},
		{"UTF-16, deleted", wide, "Delete File: f", "(+0 -2)", "-one\n-two\n", ""},
		{"UTF-16, big end first", "\xfe\xff\x00o\x00n\x00e\x00\n", "Delete File: f", "(+0 -1)", "-one\n", ""},
	} {
		p := newPlace(t, map[string]string{"f": row.old})
		r := p.ok("apply_patch", args{"patch": "*** Begin Patch\n*** " + row.patch + "\n*** End Patch"})
		if !strings.Contains(r.Text, row.counts) || !strings.Contains(r.Changes[0].Diff, row.diff) || !strings.Contains(r.Text, row.note) || row.note == "" && strings.Contains(r.Text, "note") {
			t.Errorf("%s: %q\n%q", row.name, r.Text, r.Changes[0].Diff)
		}
	}
	p := newPlace(t, map[string]string{"f": wide})
	if r, _ := p.do("apply_patch", args{"patch": "*** Begin Patch\n*** Update File: f\n@@\n-one\n+1\n*** End Patch"}); !strings.Contains(r.Text, "the file is UTF-16") || p.tree(p.ws)["f"] != wide {
		t.Errorf("%q", r.Text)
	}
	if r := p.ok("read_file", args{"path": "f"}); !strings.Contains(r.Text, "is UTF-16") {
		t.Errorf("%q", r.Text)
	}
}

// TestNamesInEitherForm: a name in one Unicode form finds the entry in the other, and a new one stays
// as it was written.
func TestNamesInEitherForm(t *testing.T) {
	const composed, decomposed = "caf\u00e9", "cafe\u0301"
	p := newPlace(t, map[string]string{composed + "/a": "a\n", decomposed + "2/a": "b\n", "x/" + decomposed + ".txt": "c\n"})
	for name, want := range map[string]string{
		composed + "/a":                  "\ta",
		decomposed + "/a":                "\ta",
		composed + "2/a":                 "\tb",
		"x/" + composed + ".txt":         "\tc",
		"./x/../x/" + composed + ".txt":  "\tc",
		p.ws + "/x/" + composed + ".txt": "\tc",
	} {
		if r := p.ok("read_file", args{"path": name}); !strings.Contains(r.Text, want) {
			t.Errorf("%q: %q", name, r.Text)
		}
	}
	p.ok("apply_patch", args{"patch": "*** Begin Patch\n*** Update File: x/" + composed + ".txt\n-c\n+d\n*** Add File: x/" + composed + "\n+new\n*** End Patch"})
	for name, want := range map[string]string{"x/" + decomposed + ".txt": "d\n", "x/" + composed: "new\n"} {
		if data, err := os.ReadFile(p.ws + "/" + name); err != nil || string(data) != want {
			t.Errorf("%q: %q, %v", name, data, err)
		}
	}
}
