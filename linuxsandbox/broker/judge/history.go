//go:build linux

package judge

import (
	"bytes"
	"path/filepath"
	"strings"

	"codeagent/internal/git"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// history is what the person's own commits contain, as far as it was asked for.
type history struct {
	versions func(top, name string) sandbox.Versions // nil: nothing is known
	known    map[place]sandbox.Versions
	// due is what must be asked before the call is handled again.
	due []place
}

// place is a path in a work tree.
type place struct{ top, name string }

// maxPlaces bounds what is asked for one command. The rest counts as unknown to the history.
const maxPlaces = 1024

// AskHistory asks what is due, with no lock held, and returns whether there was anything. The answer may start
// git, which must not begin with the rights of this thread.
func (j *Judge) AskHistory() bool {
	if len(j.history.due) == 0 {
		return false
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, p := range j.history.due {
			j.history.known[p] = j.history.versions(p.top, p.name)
		}
	}()
	<-done
	j.history.due = j.history.due[:0]
	return true
}

// onlyNamed reports whether nothing protects the entry at s but a name that repositories track.
func (j *Judge) onlyNamed(n *notify.Notification, s pathwalk.Spot) bool {
	path := s.Full()
	return !git.IsMark(s.Last) && j.protection.policy.JudgeWrite(path).Kind == sandbox.KindProtected &&
		j.refusesJudged(n, path, j.protection.policy.JudgeTracked(path), j.closes) == nil
}

// ChecksOut reports whether nothing protects the entry at s but such a name, in a work tree, while the session
// holds the lock of an index.
func (j *Judge) ChecksOut(n *notify.Notification, s pathwalk.Spot) bool {
	if !j.files.own.locking() || !j.onlyNamed(n, s) {
		return false
	}
	top, _ := j.workTree(n, s.Path)
	return top != ""
}

// Before returns what the entry at s was before the session, if only its name protects it. Until that is
// known the call must be handled again.
func (j *Judge) Before(n *notify.Notification, s pathwalk.Spot) (v sandbox.Versions, known bool) {
	if j.history.versions == nil || !j.onlyNamed(n, s) {
		return v, true
	}
	top, of := j.workTree(n, s.Path)
	p := place{of, strings.TrimPrefix(s.Full(), top+"/")}
	if v, known = j.history.known[p]; known || p.top == "" || len(j.history.known) == maxPlaces {
		return v, true
	}
	if j.history.known == nil {
		j.history.known = map[place]sandbox.Versions{}
	}
	j.history.due = append(j.history.due, p)
	return v, false
}

// workTree returns the top of the work tree around dir, and the one whose history it has: itself or, where the
// session made it, the one around it that somebody else made. What a .git file says, or a clone, counts nothing.
func (j *Judge) workTree(n *notify.Notification, dir string) (top, of string) {
	for at := dir; ; at = filepath.Dir(at) {
		found, is := git.Top(at, func(entry string) error {
			_, err := j.walk.Lstat(n, entry)
			return err
		})
		if at = found; !is {
			return top, ""
		}
		if top == "" {
			top = at
		}
		if !j.files.own.at(n, j.walk, filepath.Join(at, git.Entry)) {
			return top, at
		}
		if at == "/" {
			return top, ""
		}
	}
}

// ownTree reports whether path is in a work tree that the session made, folder and repository, and that is in
// no other one. What editors and shells run there is the session's.
func (j *Judge) ownTree(n *notify.Notification, path string) bool {
	top, of := j.workTree(n, filepath.Dir(path))
	st, err := j.walk.Lstat(n, top)
	return top != "" && of == "" && err == nil && j.files.own.madeTree(&st, top) && !j.belowForeign(n, top)
}

// MaxSettings and MaxIndex bound what a command may give a closed git directory, in bytes.
const MaxSettings, MaxIndex = 1 << 20, 256 << 20

// Restores reports whether the command could make the entry at s again as it is, or the session brought it. What
// the command then removes, it may put back under this path.
func (j *Judge) Restores(n *notify.Notification, s pathwalk.Spot, st *unix.Stat_t) (restores, known bool) {
	own := &j.files.own
	brought := own.hasBrought(st) && j.onlyNamed(n, s)
	before, known := j.Before(n, s)
	switch {
	case !brought && (!known || kernel.IsFolder(st)):
		return before.Folder, known // only an empty folder can be removed
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return brought, true
	}
	text, err := kernel.ReadOnce(s.Dir, s.Last, st, MaxSettings)
	if restores = brought || err == nil && len(Modes(before, text)) > 0; restores && err == nil {
		own.leave(s.Full(), text)
	}
	return restores, true
}

// Modes returns the modes with which v has text, also with the line ends of core.autocrlf: they add no word to it.
func Modes(v sandbox.Versions, text []byte) (all []uint32) {
	lf := bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	if !bytes.Equal(bytes.ReplaceAll(lf, []byte("\n"), []byte("\r\n")), text) {
		lf = text
	}
	for b := range v.Blobs {
		if git.IsObject(b.ID, "blob", text) || git.IsObject(b.ID, "blob", lf) {
			mode := uint32(0o644)
			if b.Executable {
				mode = 0o755
			}
			all = append(all, mode)
		}
	}
	return all
}
