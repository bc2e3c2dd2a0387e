package git

import (
	"slices"
	"strings"
	"testing"
)

// The names are those of git hash-object, for both sizes.
const (
	helloID   = "ce013625030ba8dba906f756967f9e9ca394464a"
	hello256  = "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4"
	emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
)

func TestObjects(t *testing.T) {
	hello := []byte("hello\n")
	if !IsObject(helloID, "blob", hello) || !IsObject(hello256, "blob", hello) || IsObject(helloID, "tree", hello) || IsObject(helloID, "blob", hello[1:]) || IsObject(helloID[:39], "blob", hello) || IsObject("", "blob", nil) || !IsObject(emptyTree, "tree", nil) {
		t.Error("wrong about what has which name")
	}
	raw := strings.Repeat("\x12", 20)
	tree := []byte("100644 a\x00" + raw + "40000 d\x00" + raw + "120000 l\x00" + raw + "160000 m\x00" + raw + "100755 x\x00" + raw)
	for name, want := range map[string]string{"a": "file", "d": "folder", "l": "", "m": "", "x": "file", "": "", "absent": ""} {
		child, mode := Child(helloID, tree, name)
		if got := map[bool]string{true: "folder", false: "file"}[mode.IsDir()]; child == "" != (want == "") || child != "" && got != want || child != "" && child != strings.Repeat("12", 20) {
			t.Errorf("%q: %q %v", name, child, mode)
		}
	}
	if child, _ := Child(helloID, tree[:len(tree)-1], "x"); child != "" {
		t.Errorf("half a name: %q", child)
	}
	text := []byte("tree 1\nparent 2\nparent 3\nauthor x\n\ntree 4\nparent 5\n")
	if tree, parents, ok := Lineage(helloID, text); tree != "1" || !slices.Equal(parents, []string{"2", "3"}) || ok {
		t.Errorf("%q %q %v", tree, parents, ok)
	}
}

func TestRefIn(t *testing.T) {
	packed := "# pack-refs with: peeled\n" + helloID + " refs/heads/a\n^" + emptyTree + "\n" + hello256 + " refs/heads/b\n"
	for name, want := range map[string]string{"refs/heads/a": helloID, "refs/heads/b": hello256, "refs/heads": "", "": ""} {
		if got := RefIn(packed, name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
	if RefIn(helloID, "HEAD") != helloID || RefIn(helloID+"\n", "HEAD") != helloID || RefIn("--all\n", "HEAD") != "" || RefIn("ref: x\n", "HEAD") != "" {
		t.Error("wrong about the text of one ref")
	}
}
