package conversation

import (
	"crypto/sha256"
	"encoding/hex"
	"io"

	"codeagent/approvals/content"
	"codeagent/hostfile"
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
func (c contents) Changed(mark int64) ([]string, bool) {
	if c.ses.Undo == nil {
		return nil, false
	}
	return c.ses.Undo.Since(mark)
}

// Quiet reports whether no background command runs.
func (c contents) Quiet() bool { return c.ses.Jobs == nil || c.ses.Jobs.Running() == 0 }
