//go:build linux

package broker

import (
	"path/filepath"
	"strings"

	"codeagent/internal/git"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"
	"codeagent/sandbox/resolved"

	"golang.org/x/sys/unix"
)

// Threat: the owner's git, started at the top of a work tree, enters the repositories below it. So
// a git directory that the session made below somebody else's work tree is closed from its first
// moment: no hook can be made in it, and its settings name no program. Git replaces its settings by
// a rename. The broker performs that with a copy of what it has judged, so that a descriptor, link
// or mapping from before reaches only the abandoned file.

// repositories says whose a git directory is, and what of it is closed.
type repositories struct {
	files      *Files
	walk       *pathwalk.Walker
	protection *Protection
	policy     *resolved.Policy
}

// closes reports whether path may not be changed if dir, a folder above it, is a git directory.
func (r *repositories) closes(n *notify.Notification, dir, path string) bool {
	below := strings.TrimPrefix(path, dir+"/")
	if git.IsIndex(below) {
		return r.closed(n, dir)
	}
	is, own := r.git(n, dir)
	return is && (!own || git.Runs(below) && r.belowForeign(n, dir))
}

// foreign is closes without what the session may make, remove or move in its own git directories.
func (r *repositories) foreign(n *notify.Notification, dir, path string) bool {
	return r.foreignGit(n, dir) && !git.IsIndex(strings.TrimPrefix(path, dir+"/"))
}

// closed reports whether dir is a git directory that the owner's git may enter.
func (r *repositories) closed(n *notify.Notification, dir string) bool {
	is, own := r.git(n, dir)
	return is && (!own || r.belowForeign(n, dir))
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

// itsLock reports whether d says only that s is the lock of settings, which the command may make.
func itsLock(s pathwalk.Spot, d *sandbox.Denial) bool {
	file, _ := protect.LockOf(s.Full())
	return d.Kind == sandbox.KindProtected && locks(s.Full()) && d.Target == file
}

// writesCommon reports whether the new entry at s is the commondir of a worktree in a closed git directory.
// It cannot be changed later.
func (r *repositories) writesCommon(n *notify.Notification, s pathwalk.Spot) bool {
	if _, position := git.Position(s.Path); s.Last != git.Commondir || position != git.Worktrees || r.protection.isTemporary(s.Path) {
		return false
	}
	is, own := r.positioned(n, s.Path)
	return is && own && r.belowForeign(n, s.Path)
}

// refusesNew is refusesPath for a regular file that the broker makes.
func (j *judge) refusesNew(n *notify.Notification, s pathwalk.Spot) *sandbox.Denial {
	if j.repos.writesCommon(n, s) || j.repos.isState(n, s.Full()) {
		return j.refusesPlace(n, s.Full(), j.repos.foreign)
	}
	if d := j.refusesPath(n, s.Full()); d != nil {
		return d
	}
	return j.repos.refusesMark(n, s)
}

// linksAway reports whether a link with this text at path could bring content into a git directory that
// is closed, or under names that are protected.
func (r *repositories) linksAway(n *notify.Notification, path, text string) bool {
	if r.protection.leads(path) || r.inForeignGit(n, path) || r.protection.freedom(path) == 0 && protect.Enters(path, text) && !r.granted(path) {
		return true
	}
	if r.protection.isTemporary(path) {
		return false
	}
	is, own := r.positioned(n, path)
	if own {
		// git init tries whether links work, in the folder that it makes a git directory of.
		if _, err := r.walk.Lstat(n, filepath.Join(filepath.Dir(path), git.Head)); err == nil {
			return false
		}
	}
	return (is || git.IsEntry(filepath.Base(path))) && (is && !own || r.belowForeign(n, path))
}

// refusesFolder reports whether the folder at from, moved to to, would bring an open git directory
// below somebody else's work tree, or content that was not closed to where git takes it for a
// repository.
func (r *repositories) refusesFolder(n *notify.Notification, from, to string, st *unix.Stat_t) bool {
	if r.protection.isTemporary(to) {
		return false
	}
	own := r.files.own.has(st)
	is, _ := r.positioned(n, to)
	was, _ := r.positioned(n, from)
	becomes := git.IsEntry(filepath.Base(to)) && !own
	return is && !was && !(own && r.belowForeign(n, from)) ||
		(becomes || r.files.own.covered(from)) && r.belowForeign(n, to) && (becomes || !r.belowForeign(n, from))
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
func (r *repositories) belowForeign(n *notify.Notification, dir string) bool {
	// A cache outlives the session, and a link in a work tree can lead there.
	if origin, _ := r.policy.Origin(dir); origin == sandbox.FromCache {
		return true
	}
	for at := ""; at != "/"; dir = filepath.Dir(dir) {
		at = dir
		for _, name := range protect.Repositories() {
			st, err := r.walk.Lstat(n, filepath.Join(at, name))
			if err == unix.ENOENT || err == unix.ENOTDIR {
				continue
			}
			if err != nil || !r.files.own.has(&st) {
				return true
			}
		}
	}
	return false
}

// positioned returns whether dir lies where a git directory keeps others, and whether the session made it
// or the folder there that contains it. These are git directories from the first moment, whatever is in them.
func (r *repositories) positioned(n *notify.Notification, dir string) (is, own bool) {
	for at := dir; at != "/"; at = filepath.Dir(at) {
		if of, are := git.Branches(at); are {
			if _, err := r.walk.Lstat(n, filepath.Join(of, git.Head)); err == nil || git.IsEntry(filepath.Base(of)) {
				return false, false
			}
		}
		of, position := git.Position(at)
		if position == "" {
			continue
		}
		if is, ofOwn := r.git(n, of); is {
			return true, ofOwn || r.files.own.at(n, r.walk, at)
		}
	}
	return false, false
}

// onlyRenamed is why no grant lets a command write the settings of a closed git directory itself. With
// a person's grant of them renameCopy takes what it reads.
const onlyRenamed = "git's settings are set by a rename, as git config does it, and codeagent installs its own copy"

// isState reports whether the owner's git continues what it has begun as the file at path says.
func (r *repositories) isState(n *notify.Notification, path string) bool {
	dir, file := git.State(path)
	return file && !r.protection.isTemporary(path) && r.closed(n, dir)
}
