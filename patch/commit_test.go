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
