package conversation

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"syscall"

	"codeagent/approvals/content"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/hostfile"
	"codeagent/sandbox"
)

// contents gives the gate the hashes of files and what the session changed.
type contents struct{ ws *workspace.Workspace }

var _ content.Source = contents{}

// maxDigest limits the files that are hashed, in bytes. Programs of 100 MB and more are common.
const maxDigest = 512 << 20

// Digest hashes a regular file.
func (contents) Digest(path string) (string, error) {
	f, err := hostfile.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxDigest+1))
	if err == nil && n > maxDigest {
		err = &hostfile.TooLargeError{}
	}
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Mark returns false if changes are not seen.
func (c contents) Mark() (int64, bool) {
	ws := c.ws
	mark := ws.Trees.Mark()
	return mark, ws.Runner.Observes(ws.Policy)
}

// Changed lists what the session changed after mark.
func (c contents) Changed(mark int64) (changes []content.Change, all bool) {
	list, all := c.ws.Trees.Since(mark)
	for _, one := range list {
		changes = append(changes, content.Change(one))
	}
	return changes, all
}

// Identity identifies the entry at a path.
func (contents) Identity(path string) (content.Identity, error) {
	info, err := hostfile.Lstat(path)
	if err != nil {
		return content.Identity{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return content.Identity{}, errors.ErrUnsupported
	}
	return content.Identity{Device: uint64(st.Dev), Inode: st.Ino, Type: info.Mode().Type()}, nil
}

// Writers lists the running commands and servers that may change what commands
// outside read. Temporary files of commands are in a folder of their own, and so is
// what a server keeps for itself: no command reads it.
func (c contents) Writers() (out []content.Writer) {
	ground, paths := c.ws.Ground(), c.ws.Paths
	for _, w := range c.ws.Trees.Writers(func(path string) bool {
		return ground.Covers(path) && !sandbox.Covers(paths.Temp, path) && !sandbox.Covers(paths.Servers, path)
	}) {
		out = append(out, content.Writer{Name: w.By, Holds: w.Holds})
	}
	return out
}
