package patch

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fourFiles = `*** Begin Patch
*** Update File: a
-a
+A
*** Add File: n
+n
*** Update File: m
*** Move to: moved
*** Delete File: d
*** End Patch`

// Whichever step fails, the tree is as it was.
func TestCommitRollsBack(t *testing.T) {
	tree := map[string]string{"a": "a\n", "m": "m\n", "d": "d\n"}
	for _, failing := range []string{"a", "n", "moved", "m", "d"} {
		m := newMemory(tree)
		m.fail[failing] = true
		_, err := run(m, fourFiles)
		if err == nil || !strings.Contains(err.Error(), failing+": no space") {
			t.Errorf("%s: error %v", failing, err)
		}
		if diff := cmp.Diff(tree, m.texts()); diff != "" {
			t.Errorf("%s fails: %s", failing, diff)
		}
	}
}

// What was made for new files goes with them; a folder in which somebody else made
// something meanwhile stays.
func TestCommitRollsBackFolders(t *testing.T) {
	const text = "*** Begin Patch\n*** Add File: new/deep/n\n+n\n*** Add File: new/deep/er/o\n+o\n*** Add File: new/p\n+p\n*** End Patch"
	for _, failing := range []string{"new", "new/deep", "new/deep/n", "new/deep/er", "new/deep/er/o", "new/p"} {
		m := newMemory(nil)
		m.fail[failing] = true
		if _, err := run(m, text); err == nil || !strings.Contains(err.Error(), failing+": no space") {
			t.Errorf("%s: error %v", failing, err)
		}
		if len(m.files)+len(m.folders) > 0 {
			t.Errorf("%s fails: %v and %v are left", failing, m.files, m.folders)
		}
	}
	m := newMemory(map[string]string{"new/theirs": "x"})
	m.fail["new/p"] = true
	if _, err := run(m, text); err == nil || len(m.folders) != 1 || !m.folders["new"] {
		t.Errorf("%v, folders %v", err, m.folders)
	}
}

// broken fails every change of a path after its first.
type broken struct {
	*memory
	path string
	once bool
}

func (b *broken) Write(path string, c Content, old *Content) error {
	if path == b.path {
		if b.once {
			return errors.New("read-only file system")
		}
		b.once = true
	}
	return b.memory.Write(path, c, old)
}

func TestCommitSaysWhatStaysChanged(t *testing.T) {
	m := newMemory(map[string]string{"a": "a\n", "m": "m\n", "d": "d\n"})
	m.fail["d"] = true
	p, err := Parse(fourFiles)
	if err != nil {
		t.Fatal(err)
	}
	changes, err := Apply(p, m)
	if err != nil {
		t.Fatal(err)
	}
	var rerr *RollbackError
	if err := Commit(&broken{memory: m, path: "a"}, changes); !errors.As(err, &rerr) {
		t.Fatalf("error %v", err)
	}
	if diff := cmp.Diff([]string{"a (read-only file system)"}, rerr.Left); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"a": "A\n", "m": "m\n", "d": "d\n"}, m.texts()); diff != "" {
		t.Error(diff)
	}
}

// A file that another program changed after it was read is not overwritten.
func TestCommitRefusesChangedFile(t *testing.T) {
	m := newMemory(map[string]string{"a": "a\n", "m": "m\n", "d": "d\n"})
	p, err := Parse(fourFiles)
	if err != nil {
		t.Fatal(err)
	}
	changes, err := Apply(p, m)
	if err != nil {
		t.Fatal(err)
	}
	m.files["m"] = Content{Data: []byte("someone else's\n"), Mode: 0o644}
	if err := Commit(m, changes); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Fatalf("error %v", err)
	}
	if diff := cmp.Diff(map[string]string{"a": "a\n", "m": "someone else's\n", "d": "d\n"}, m.texts()); diff != "" {
		t.Error(diff)
	}
}
