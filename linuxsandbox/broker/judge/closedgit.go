//go:build linux

package judge

import (
	"path/filepath"
	"strings"

	"codeagent/internal/git"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"

	"golang.org/x/sys/unix"
)

// Threat: the owner's git, started at the top of a work tree, enters the repositories below it. So
// a git directory that the session made below somebody else's work tree is closed from its first
// moment: no hook can be made in it, and its settings name no program. Git replaces its settings by
// a rename. The broker performs that with a copy of what it has judged, so that a descriptor, link
// or mapping from before reaches only the abandoned file.

// closes reports whether path may not be changed if dir, a folder above it, is a git directory.
func (j *Judge) closes(n *notify.Notification, dir, path string) bool {
	below := strings.TrimPrefix(path, dir+"/")
	if git.IsIndex(below) {
		return j.closed(n, dir)
	}
	is, own := j.git(n, dir)
	return is && (!own || git.Runs(below) && j.belowForeign(n, dir))
}

// foreign reports whether dir is a git directory that the session did not make, and path is not the index in it.
func (j *Judge) foreign(n *notify.Notification, dir, path string) bool {
	return j.foreignGit(n, dir) && !git.IsIndex(strings.TrimPrefix(path, dir+"/"))
}

// closed reports whether dir is a git directory that the owner's git may enter.
func (j *Judge) closed(n *notify.Notification, dir string) bool {
	is, own := j.git(n, dir)
	return is && (!own || j.belowForeign(n, dir))
}

// Threat: the owner's git writes the files that an index names, and takes the paths in it as they are. So
// the broker installs a copy that it has read, as of settings. Nor may a command change a
// lock that the owner's git has made: that becomes the index, or the settings, by a rename of the owner's.
// A lock that the command makes itself is no danger, since its rename is judged. Without it git would give
// up what needs the settings only by the way, such as the checkout of a branch that follows another.

// locks reports whether path is a lock whose rename is judged by its content.
func locks(path string) bool {
	dir, settings := git.Locks(path)
	return dir != "" || settings
}

// ItsLock reports whether d says only that s is the lock of settings, which the command may make.
func ItsLock(s pathwalk.Spot, d *sandbox.Denial) bool {
	file, _ := protect.LockOf(s.Full())
	return d.Kind == sandbox.KindProtected && locks(s.Full()) && d.Target == file
}

// writesCommon reports whether the new entry at s is the commondir of a worktree in a closed git directory.
// It cannot be changed later.
func (j *Judge) writesCommon(n *notify.Notification, s pathwalk.Spot) bool {
	if _, position := git.Position(s.Path); s.Last != git.Commondir || position != git.Worktrees || j.protection.isTemporary(s.Path) {
		return false
	}
	is, own := j.positioned(n, s.Path)
	return is && own && j.belowForeign(n, s.Path)
}

// RefusesNew is refusesPath for a regular file that the broker makes.
func (j *Judge) RefusesNew(n *notify.Notification, s pathwalk.Spot) *sandbox.Denial {
	if j.writesCommon(n, s) || j.IsState(n, s.Full()) {
		return j.refusesPlace(n, s.Full(), j.foreign)
	}
	if d := j.RefusesPath(n, s.Full()); d != nil {
		return d
	}
	return j.RefusesMark(n, s)
}

// LinksAway reports whether a link with this text at path could bring content into a git directory that
// is closed, or under names that are protected.
func (j *Judge) LinksAway(n *notify.Notification, path, text string) bool {
	if j.protection.leads(path) || j.inForeignGit(n, path) || j.protection.freedom(path) == 0 && protect.Enters(path, text) && !j.Granted(path) {
		return true
	}
	if j.protection.isTemporary(path) {
		return false
	}
	is, own := j.positioned(n, path)
	if own {
		// git init tries whether links work, in the folder that it makes a git directory of.
		if _, err := j.walk.Lstat(n, filepath.Join(filepath.Dir(path), git.Head)); err == nil {
			return false
		}
	}
	return (is || git.IsEntry(filepath.Base(path))) && (is && !own || j.belowForeign(n, path))
}

// refusesFolder reports whether the folder at from, moved to to, would bring an open git directory
// below somebody else's work tree, or content that was not closed to where git takes it for a
// repository.
func (j *Judge) refusesFolder(n *notify.Notification, from, to string, st *unix.Stat_t) bool {
	if j.protection.isTemporary(to) {
		return false
	}
	own := j.files.own.has(st)
	is, _ := j.positioned(n, to)
	was, _ := j.positioned(n, from)
	becomes := git.IsEntry(filepath.Base(to)) && !own
	return is && !was && !(own && j.belowForeign(n, from)) ||
		(becomes || j.files.own.covered(from)) && j.belowForeign(n, to) && (becomes || !j.belowForeign(n, from))
}

// repositoryOf returns the deepest folder above path that is called like a repository of any tool, or /.
func repositoryOf(path string) string {
	dir := filepath.Dir(path)
	for dir != "/" && !protect.IsRepository(filepath.Base(dir)) {
		dir = filepath.Dir(dir)
	}
	return dir
}

// belowForeign reports whether dir or a folder above it has a repository that the session did not make.
// It is true where that cannot be examined. In dir itself, since git takes a folder that looks like a git
// directory where the .git entry there is broken. It opens each entry, unlike git.Top: a path can mean another
// one for the caller, and only the inode says whose it is.
func (j *Judge) belowForeign(n *notify.Notification, dir string) bool {
	// A cache outlives the session, and a link in a work tree can lead there.
	if origin, _ := j.policy.Origin(dir); origin == sandbox.FromCache {
		return true
	}
	for at := ""; at != "/"; dir = filepath.Dir(dir) {
		at = dir
		for _, name := range protect.Repositories() {
			st, err := j.walk.Lstat(n, filepath.Join(at, name))
			if err == unix.ENOENT || err == unix.ENOTDIR {
				continue
			}
			if err != nil || !j.files.own.has(&st) {
				return true
			}
		}
	}
	return false
}

// positioned returns whether dir lies where a git directory keeps others, and whether the session made it
// or the folder there that contains it. These are git directories from the first moment, whatever is in them.
func (j *Judge) positioned(n *notify.Notification, dir string) (is, own bool) {
	for at := dir; at != "/"; at = filepath.Dir(at) {
		if of, are := git.Branches(at); are {
			if _, err := j.walk.Lstat(n, filepath.Join(of, git.Head)); err == nil || git.IsEntry(filepath.Base(of)) {
				return false, false
			}
		}
		of, position := git.Position(at)
		if position == "" {
			continue
		}
		if is, ofOwn := j.git(n, of); is {
			return true, ofOwn || j.files.own.at(n, j.walk, at)
		}
	}
	return false, false
}

// onlyRenamed is why no grant lets a command write the settings of a closed git directory itself. With
// a person's grant of them renameCopy takes what it reads.
const onlyRenamed = "git's settings are set by a rename, as git config does it, and codeagent installs its own copy"

// IsState reports whether the owner's git continues what it has begun as the file at path says.
func (j *Judge) IsState(n *notify.Notification, path string) bool {
	dir, file := git.State(path)
	return file && !j.protection.isTemporary(path) && j.closed(n, dir)
}

// Copies reports whether m gives the closed git directory at its end new settings, an index or a state. Then the broker
// performs it by renameCopy.
func (j *Judge) Copies(n *notify.Notification, m *Move) bool {
	settings := git.IsSettings(m.To.Last)
	if j.IsState(n, m.To.Full()) && !m.Exchange() && m.Old.Mode&unix.S_IFMT == unix.S_IFREG {
		return j.refusesPlace(n, m.To.Full(), j.foreign) == nil
	}
	if !settings && !git.IsIndex(m.To.Last) || m.Exchange() || m.Old.Mode&unix.S_IFMT != unix.S_IFREG || j.protection.isTemporary(m.To.Full()) {
		return false
	}
	_, d := j.protection.judge(m.To.Full())
	return (d == nil || d.Kind == sandbox.KindProtected && settings) && j.closed(n, m.To.Path)
}
