package conversation

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"syscall"

	"codeagent/approvals/content"
	"codeagent/hostfile"
	"codeagent/internal/short"
)

// contents gives the gate the hashes of files and what the session changed.
type contents struct{ ses *Session }

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

// Mark returns false if changes are not reported or not recorded.
func (c contents) Mark() (int64, bool) {
	if c.ses.Undo == nil || !c.ses.Workspace.Runner.Observes(c.ses.Workspace.Policy) {
		return 0, false
	}
	return c.ses.Undo.Mark(), true
}

// Changed lists what the session changed after mark.
func (c contents) Changed(mark int64) (changes []content.Change, all bool) {
	if c.ses.Undo == nil {
		return nil, false
	}
	paths, all := c.ses.Undo.Since(mark)
	for _, p := range paths {
		changes = append(changes, content.Change{Path: p})
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

// Writers lists the running background commands.
func (c contents) Writers() (out []content.Writer) {
	if c.ses.Jobs == nil {
		return nil
	}
	for _, job := range c.ses.Jobs.List() {
		if job.Running {
			out = append(out, content.Writer{Name: fmt.Sprintf("job %d (%s)", job.ID, short.Cut(job.Text, 60))})
		}
	}
	return out
}
