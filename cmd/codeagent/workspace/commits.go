package workspace

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
	"time"

	"codeagent/hostfile"
	"codeagent/internal/git"
)

// Threat: a command commits a hostile .envrc, and the session ends. To the next session that commit would be one of
// the person's branch, so its commands could check the file out unasked. So which commits vouch is written down
// before any command runs, and later sessions take it from there, whatever HEAD is then. A session removes
// what it wrote if nothing came into the store meanwhile: without a new object there is no new commit. A
// killed session removes nothing.

// mostTips bounds a record, in bytes.
const mostTips = 1 << 20

// record is that of a session for a repository. All records of a repository say the same.
type record struct {
	path, kept string
	tips       []byte
	common     string
	began      time.Time // when the store last changed before
}

// recordsOf returns what begins the names of the records of the git directory common.
func recordsOf(common string) string {
	sum := sha256.Sum256([]byte(common))
	return hex.EncodeToString(sum[:]) + "-"
}

// records lists those of common in the folder dir.
func records(dir, common string) (paths []string, err error) {
	entries, err := hostfile.ReadDir(dir, -1)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), recordsOf(common)) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, err
}

// vouch returns the commits that vouch in the repository common, whose branches have tips, and records them in
// the folder dir. Without a record no commit does.
func vouch(ctx context.Context, dir, common string, tips []string) (vouching []string, r record) {
	before, err := records(dir, common) // after tips: who began meanwhile is listed
	text := []byte(strings.Join(tips, "\n"))
	if err == nil && len(before) > 0 {
		text, err = hostfile.Read(ctx, before[0], mostTips)
	}
	r = record{kept: filepath.Join(dir, recordsOf(common)+"kept"), path: filepath.Join(dir, recordsOf(common)+rand.Text()), tips: text, common: common}
	r.began, _ = storeChanged(common)
	if err != nil || hostfile.Write(r.path, text, 0o600) != nil {
		return nil, r
	}
	return strings.Fields(string(text)), r
}

// settle ends r with its session.
func (r record) settle() error {
	if now, err := storeChanged(r.common); err != nil || !now.Equal(r.began) {
		if err := hostfile.Write(r.kept, r.tips, 0o600); err != nil {
			return err
		}
	}
	return hostfile.Remove(r.path)
}

// storeChanged returns when an object last came into the store of common or left it, or a pack changed. git makes
// an object as a new file in a folder of the store.
func storeChanged(common string) (last time.Time, err error) {
	store := filepath.Join(common, git.Objects)
	for _, dir := range []string{store, filepath.Join(store, "pack")} {
		when, err := hostfile.OS{}.LastChange(dir)
		if err != nil {
			return last, err
		}
		if when.After(last) {
			last = when
		}
	}
	return last, nil
}
