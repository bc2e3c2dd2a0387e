//go:build linux

package judge

import (
	"path/filepath"

	"codeagent/internal/git"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"

	"golang.org/x/sys/unix"
)

// Move is a rename whose two names were walked.
type Move struct {
	From, To pathwalk.Spot
	// Old is the file at From, Over the file at To; There: it exists.
	Old, Over unix.Stat_t
	There     bool
	Flags     uint32
}

// Exchange reports whether the two files change places.
func (m *Move) Exchange() bool { return m.Flags&unix.RENAME_EXCHANGE != 0 }

// Folder reports whether a folder is renamed.
func (m *Move) Folder() bool {
	return kernel.IsFolder(&m.Old) || m.Exchange() && m.There && kernel.IsFolder(&m.Over)
}

// Moved records that the broker performed m.
func (j *Judge) Moved(m *Move) {
	from, to := m.From.Full(), m.To.Full()
	j.files.changed(from, to)
	j.roots.replaced(&j.protection, from, to)
	j.files.own.renamed(from, to, m.Exchange())
	if m.There && !m.Exchange() {
		j.files.own.removed(&m.Over)
	}
	// A folder that was renamed to .git is not a git directory that the session made, unless it
	// was one before. The same is true for other repositories.
	if !m.There && !(kernel.IsFolder(&m.Old) && protect.IsRepository(m.To.Last)) {
		j.Made(m.To)
	}
}

// Unjudged reports whether m moves a folder to a place where more names are protected: nobody has
// judged the names in it.
func (j *Judge) Unjudged(m *Move) bool {
	from, to := j.protection.freedom(m.From.Full()), j.protection.freedom(m.To.Full())
	return m.Folder() && from != to && (from > to || m.Exchange())
}

// RefusesRename returns the denial of m, or nil.
func (j *Judge) RefusesRename(n *notify.Notification, m *Move, exchange bool) *sandbox.Denial {
	if d := j.RefusesEntry(n, m.From, &m.Old, exchange); d != nil {
		return d
	}
	if m.There {
		if d := j.RefusesEntry(n, m.To, &m.Over, true); d != nil {
			return d
		}
	} else if d := j.RefusesPath(n, m.To.Full()); d != nil {
		return d
	} else if d := j.RefusesMark(n, m.To); d != nil {
		return d
	}
	if d := j.refusesArrival(n, m.From, &m.Old, m.To.Full()); d != nil || !exchange {
		return d
	}
	return j.refusesArrival(n, m.To, &m.Over, m.From.Full())
}

// refusesArrival returns the denial of giving the entry at s the name to, or nil.
func (j *Judge) refusesArrival(n *notify.Notification, s pathwalk.Spot, st *unix.Stat_t, to string) *sandbox.Denial {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		if j.refusesFolder(n, s.Full(), to, st) {
			return &sandbox.Denial{Kind: sandbox.KindProtected, Target: to}
		}
		if !j.files.own.has(st) && j.inForeignGit(n, to) && !j.inForeignGit(n, s.Full()) {
			return &sandbox.Denial{Kind: sandbox.KindProtected, Target: to} // it may contain links
		}
		if dir, _ := git.State(to); dir != "" && !j.protection.isTemporary(to) && j.closed(n, dir) {
			return &sandbox.Denial{Kind: sandbox.KindProtected, Target: to} // what it holds was not judged
		}
		return j.refusesMove(s, to)
	case unix.S_IFREG:
		if git.IsEntry(filepath.Base(to)) && !j.protection.isTemporary(to) && j.belowForeign(n, filepath.Dir(to)) {
			return &sandbox.Denial{Kind: sandbox.KindProtected, Target: to} // it may be written later
		}
	case unix.S_IFLNK:
		if text, err := s.Readlink(); err != nil || j.LinksAway(n, to, text) {
			return &sandbox.Denial{Kind: sandbox.KindProtected, Target: to}
		}
	}
	return nil
}

// RefusesLink returns the denial of giving the file t the name to, or nil.
func (j *Judge) RefusesLink(n *notify.Notification, t *pathwalk.Target, to pathwalk.Spot) *sandbox.Denial {
	if d := j.RefusesFile(n, t.Path, &t.Stat); d != nil {
		return d
	}
	if d := j.RefusesPath(n, to.Full()); d != nil {
		return d
	}
	if d := j.RefusesMark(n, to); d != nil {
		return d
	}
	return j.refusesArrival(n, t.Spot, &t.Stat, to.Full())
}

// Granted reports whether path is itself a write root.
func (j *Judge) Granted(path string) bool {
	root, _ := j.protection.judge(path)
	return root == path
}
