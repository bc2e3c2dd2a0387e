package git

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git's format
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
)

// Threat: commands write the store of a repository that they commit to, and git does not compare what it
// reads from there with the name under which it lies. So whoever relies on an object asks IsObject.

// IsObject reports whether id is the name of an object of this kind (blob, tree, commit) and content.
func IsObject(id, kind string, content []byte) bool {
	object := append(fmt.Appendf(nil, "%s %d\x00", kind, len(content)), content...)
	if len(id) == 2*sha256.Size {
		sum := sha256.Sum256(object)
		return id == hex.EncodeToString(sum[:])
	}
	sum := sha1.Sum(object) //nolint:gosec // git's format
	return id == hex.EncodeToString(sum[:])
}

// Lineage returns the tree of the commit id and the commits before it; ok is false if commit is not its content.
func Lineage(id string, commit []byte) (tree string, parents []string, ok bool) {
	for line := range strings.Lines(string(commit)) {
		key, of, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if key == "parent" {
			parents = append(parents, of)
		} else if key != "tree" {
			break
		} else {
			tree = of
		}
	}
	return tree, parents, IsObject(id, "commit", commit)
}

// Child returns the name and mode of the object that a tree of the name id calls name: of a folder or a regular
// file, and "" of a link or a submodule.
func Child(id string, tree []byte, name string) (child string, mode fs.FileMode) {
	for size := len(id) / 2; len(tree) > 0; {
		kind, rest, ok := bytes.Cut(tree, []byte(" "))
		called, rest, is := bytes.Cut(rest, []byte{0})
		if !ok || !is || len(rest) < size {
			return "", 0
		}
		if tree = rest[size:]; string(called) != name {
			continue
		}
		perm, regular := strings.CutPrefix(string(kind), "100")
		switch {
		case regular && perm == "755":
			mode = 0o755
		case regular:
			mode = 0o644
		case string(kind) == "40000":
			mode = fs.ModeDir
		}
		if mode != 0 {
			child = hex.EncodeToString(rest[:size])
		}
		return child, mode
	}
	return "", 0
}

// RefIn returns the commit of the ref name, in the text of its own file or of Packed.
func RefIn(text, name string) (id string) {
	for line := range strings.Lines(text) {
		at, called, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if _, err := hex.DecodeString(at); err == nil && (len(at) == 2*sha1.Size || len(at) == 2*sha256.Size) && (called == name || called == "") {
			id = at
		}
	}
	return id
}
