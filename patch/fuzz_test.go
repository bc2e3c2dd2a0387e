package patch

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// checkPatch holds any text to the promises: no panic, nothing outside what the
// patch names is touched, and a refused or failed patch changes nothing.
func checkPatch(t *testing.T, text, data string) {
	tree := map[string]string{"f": data, "other": "other\n", "a": "a1\na2\n"}
	p, err := Parse(text)
	if err != nil {
		if _, ok := err.(*Error); !ok {
			t.Fatalf("Parse returned %T", err)
		}
		return
	}
	if len(p.Files) == 0 {
		t.Fatal("a patch of no file was accepted")
	}
	for _, failing := range append([]string{""}, p.Paths()...) {
		m := newMemory(tree)
		m.fail[failing] = true
		changes, err := Apply(p, m)
		if len(m.touched) > 0 {
			t.Fatal("Apply touched the tree")
		}
		if err == nil {
			err = Commit(m, changes)
		}
		for name := range m.touched {
			if !slices.Contains(p.Paths(), name) {
				t.Fatalf("%q was touched; the patch names %q", name, p.Paths())
			}
		}
		if err != nil && !maps.Equal(tree, m.texts()) {
			t.Fatalf("refused with %v, and the tree is %q", err, m.texts())
		}
		for _, c := range changes {
			if err == nil && (c.Old == nil) == (c.New == nil) && c.Old == nil {
				t.Fatalf("a change of nothing: %+v", c)
			}
		}
	}
}

func fuzzSeeds() [][2]string {
	var out [][2]string
	for _, tt := range updates {
		out = append(out, [2]string{"*** Begin Patch\n*** Update File: f\n" + tt.hunks + "*** End Patch\n", tt.old})
	}
	for _, tt := range sections {
		out = append(out, [2]string{"*** Begin Patch\n" + tt.patch + "*** End Patch", f123})
	}
	return append(out,
		[2]string{fourFiles, "a\n"},
		[2]string{"*** Begin Patch\n*** Update File: f\n@@ -0,0 +0,0 @@\n+x\n@@ -999999999 +1 @@\n-one\n*** End of File\n*** End Patch", f123},
		[2]string{"*** Begin Patch\n*** Update File: f\n\\ x\n\n\n*** End Patch", ""},
		[2]string{"*** Begin Patch\n*** Update File: f\n\n\n+\n\n*** End Patch", "\n\n\n"})
}

func FuzzParseApply(f *testing.F) {
	for _, s := range fuzzSeeds() {
		f.Add(s[0], s[1])
	}
	f.Fuzz(checkPatch)
}

// The seeds, and each cut off or with a line doubled, at every line.
func TestMangledPatches(t *testing.T) {
	for _, s := range fuzzSeeds() {
		if len(s[0]) > 4000 {
			continue
		}
		lines := strings.SplitAfter(s[0], "\n")
		for i := range lines {
			checkPatch(t, strings.Join(slices.Delete(slices.Clone(lines), i, i+1), ""), s[1])
			checkPatch(t, strings.Join(slices.Insert(slices.Clone(lines), i, lines[i]), ""), s[1])
		}
	}
}

// Many equal lines and many hunks end with words, not with a hang.
func TestEqualLinesAreBounded(t *testing.T) {
	file := strings.Repeat("x\n", 100_000)
	for _, hunk := range []string{"@@\n x\n-x\n", "@@ x\n@@ x\n-x\n", "@@ no\n-x\n", "@@ x\n+y\n"} {
		text := "*** Begin Patch\n*** Update File: f\n" + strings.Repeat(hunk, 5_000) + "*** End Patch\n"
		p, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Apply(p, newMemory(map[string]string{"f": file})); err == nil {
			t.Errorf("%q was placed among equal lines", hunk)
		}
	}
	// One long hunk that almost fits everywhere.
	text := "*** Begin Patch\n*** Update File: f\n" + strings.Repeat(" x\n", 50_000) + "-x\n+z\n*** End Patch\n"
	p, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Apply(p, newMemory(map[string]string{"f": strings.Repeat(strings.Repeat("x\n", 49_999)+"y\n", 8)})); err == nil {
		t.Error("accepted")
	}
}
