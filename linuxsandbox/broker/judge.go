//go:build linux

package broker

import (
	"path/filepath"
	"strings"

	"codeagent/internal/git"
	"codeagent/internal/git/dotgit"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
	"codeagent/sandbox/protect"
	"codeagent/sandbox/resolved"

	"golang.org/x/sys/unix"
)

// Threat: git runs programs that a git directory names, and any folder may contain a git
// directory. The policy lists the git directories of its write roots. The judge recognises
// any other one when something in it is about to change. The session may write a git
// directory that it made itself, and a .git file or link that it made. So git init, clone,
// worktree add and submodule add work. The same holds for the repositories of other tools.

// judge decides whether the policy allows a change of a file that was found.
type judge struct {
	// policy is the command's, with the grants since its start.
	policy     resolved.Policy
	protection Protection
	// roots are the granted paths.
	roots grantedRoots
	// reach is what Landlock lets the command write without the broker.
	reach   []string
	session *Session
	walk    *pathwalk.Walker
	repos   repositories
	looks   looks
	history history
	log     judgeLog
	// mayLose: a person allowed the command to make changes that undo cannot restore.
	mayLose bool
}

// judgeLog is the log as the judge needs it: what it refuses, and what it made good.
type judgeLog interface {
	recorder
	Supersede(target string)
}

// refusesPath returns the denial of any change of the content at path, or nil.
func (j *judge) refusesPath(n *notify.Notification, path string) *sandbox.Denial {
	d := j.refusesPlace(n, path, j.repos.closes)
	of, _ := protect.LockOf(path)
	if (d == nil || d.Kind == sandbox.KindProtected) && git.IsSettings(filepath.Base(of)) && !j.protection.isTemporary(of) &&
		(d != nil || j.repos.granted(of)) && j.repos.closed(n, filepath.Dir(of)) {
		return &sandbox.Denial{Kind: sandbox.KindProtected, Target: of, Why: onlyRenamed}
	}
	if d == nil && j.repos.isState(n, path) {
		return &sandbox.Denial{Kind: sandbox.KindProtected, Target: path, Why: "codeagent installs its own copy of what git continues"}
	}
	return d
}

// refusesPlace returns the denial of a change at path, or nil. closes says whether it is closed if
// a folder above it is a git directory.
func (j *judge) refusesPlace(n *notify.Notification, path string, closes func(n *notify.Notification, dir, path string) bool) *sandbox.Denial {
	judged := j.protection.policy.JudgeWrite(path)
	if judged.Kind == sandbox.KindProtected {
		if dir := repositoryOf(path); j.session.own.at(n, j.walk, dir) && !j.repos.belowForeign(n, dir) {
			judged = j.protection.policy.JudgeInOwn(path)
		} else if j.history.ownTree(n, path) {
			judged = j.protection.policy.JudgeTracked(path)
		}
	}
	return j.refusesJudged(n, path, judged, closes)
}

// refusesJudged is refusesPlace where the policy judged the path so.
func (j *judge) refusesJudged(n *notify.Notification, path string, judged sandbox.Judgement, closes func(n *notify.Notification, dir, path string) bool) *sandbox.Denial {
	root, d := j.protection.answer(path, judged)
	if d != nil {
		return d
	}
	if !j.roots.stands(root) {
		return &sandbox.Denial{Kind: sandbox.KindWrite, Target: path}
	}
	if j.protection.isTemporary(path) {
		return nil
	}
	for _, dir := range gitFolders(root, path) {
		entry := path
		if filepath.Dir(path) == dir {
			entry, _ = protect.LockOf(path) // a lock is judged like what it locks
		}
		if closes(n, dir, path) {
			return &sandbox.Denial{Kind: sandbox.KindProtected, Target: entry}
		}
	}
	return nil
}

// refusesFile returns the denial of a change of the content of an existing file, or nil.
func (j *judge) refusesFile(n *notify.Notification, path string, st *unix.Stat_t) *sandbox.Denial {
	if d := j.refusesPath(n, path); d != nil {
		return d
	}
	return j.refusesRest(n, path, st)
}

// refusesRest returns the denial of a change of an existing file that leaves its content, or nil:
// the session may remove what it made, and change its metadata.
func (j *judge) refusesRest(n *notify.Notification, path string, st *unix.Stat_t) *sandbox.Denial {
	if locks(path) && j.session.own.locked(st) {
		return nil
	}
	if d := j.refusesPlace(n, path, j.repos.foreign); d != nil {
		return d
	}
	if dir, _ := git.Locks(path); dir != "" && !j.protection.isTemporary(path) && j.repos.closed(n, dir) {
		return &sandbox.Denial{Kind: sandbox.KindProtected, Target: path, Note: "git outside the sandbox holds this lock, or left it"}
	}
	// A removed name of an open file is judged as if it still existed.
	if gone, ok := strings.CutSuffix(path, " (deleted)"); ok {
		if d := j.refusesPath(n, gone); d != nil {
			return d
		}
	}
	if !git.IsEntry(filepath.Base(path)) || kernel.IsFolder(st) || j.session.own.has(st) || j.protection.isTemporary(path) || j.repos.granted(path) {
		return nil
	}
	return &sandbox.Denial{Kind: sandbox.KindProtected, Target: path}
}

// refusesEntry returns the denial of removing, replacing or moving the entry at s, or nil.
// stays: another entry takes its place.
func (j *judge) refusesEntry(n *notify.Notification, s pathwalk.Spot, st *unix.Stat_t, stays bool) *sandbox.Denial {
	path := s.Full()
	refuses := j.refusesRest
	if stays {
		refuses = j.refusesFile
	}
	if d := refuses(n, path, st); d != nil {
		return d
	}
	isDir := st.Mode&unix.S_IFMT == unix.S_IFDIR
	switch {
	case j.protection.isTemporary(path):
		return nil
	case isDir && git.IsEntry(s.Last) && !j.session.own.has(st):
	case !stays && git.IsMark(s.Last) && j.repos.foreignGit(n, s.Path):
		// A git directory without its marks would lose its protection.
	default:
		return nil
	}
	return &sandbox.Denial{Kind: sandbox.KindProtected, Target: path}
}

// foreignGit reports whether dir is a git directory that the session did not make. It is true
// where dir cannot be examined.
func (r *repositories) foreignGit(n *notify.Notification, dir string) bool {
	is, own := r.git(n, dir)
	return is && !own
}

// git reports whether dir is a git directory, and whether the session made it.
func (r *repositories) git(n *notify.Notification, dir string) (is, own bool) {
	fd, err := r.walk.Open(n, pathwalk.Name{Dir: unix.AT_FDCWD, Path: dir, NoFollow: true})
	if err == unix.ENOENT || err == unix.ENOTDIR {
		return false, false
	}
	if err != nil {
		return true, false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return true, false
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return false, false
	}
	if r.files.own.has(&st) {
		return true, true
	}
	if git.IsEntry(filepath.Base(dir)) || git.Marked(entriesOf(fd)) {
		_, own = r.positioned(n, dir)
		return true, own
	}
	return r.positioned(n, dir)
}

// inForeignGit reports whether path is in a git directory that the session did not make. Git
// follows links there. With a link as its reflog, the user's next commit outside the sandbox would
// append to any file, and a branch name can contain shell commands. The folder modules contains
// further repositories, including new ones.
func (r *repositories) inForeignGit(n *notify.Notification, path string) bool {
	root, d := r.protection.judge(path)
	if d != nil || r.protection.isTemporary(path) {
		return false
	}
	ofGit := r.policy.OfGit(root)
	if root == path {
		return ofGit // git writes packed-refs through a link, too
	}
	below := filepath.Base(path)
	for dir := filepath.Dir(path); sandbox.Covers(root, dir) && dir != "/"; dir = filepath.Dir(dir) {
		if is, own := r.git(n, dir); is {
			return !own && !strings.HasPrefix(below, git.Modules+"/")
		}
		below = filepath.Base(dir) + "/" + below
	}
	return ofGit
}

// entriesOf returns a function that reports whether the open folder has an entry, in whatever spelling its
// file system takes for that name.
func entriesOf(dir int) func(name string) bool {
	return func(name string) bool {
		var st unix.Stat_t
		return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
	}
}

// made records that the broker made an entry.
func (j *judge) made(s pathwalk.Spot) {
	j.session.changed(s.Full())
	open := func(flags uint64) (fd int) {
		fd, _ = kernel.Openat2(s.Dir, s.Last, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC|flags, 0)
		return fd
	}
	own := &j.session.own
	if j.repos.granted(s.Full()) {
		own.bring(s) // a person has allowed it here
	}
	_, position := git.Position(s.Full())
	_, inGit := dotgit.Cut(s.Path)
	switch {
	case j.protection.isTemporary(s.Path):
	case locks(s.Full()):
		own.lock(open(0), s.Full())
	case protect.IsRepository(s.Last):
		own.add(open(0), s.Full())
		own.holds(s.Dir, s.Path)
	case git.IsEntry(filepath.Base(s.Path)):
		// The folder is called .git, so it was a git directory before.
	case position != "" && inGit != "":
		own.add(open(unix.O_DIRECTORY), s.Full())
	case git.IsMark(s.Last) && git.Marked(entriesOf(s.Dir)):
		fd, _ := unix.FcntlInt(uintptr(s.Dir), unix.F_DUPFD_CLOEXEC, 0)
		own.add(fd, s.Path)
	}
}

type fileID struct{ dev, ino uint64 }

func idOf(st *unix.Stat_t) fileID { return fileID{st.Dev, st.Ino} }

// refusesMetadata returns the denial of a change of the open file's metadata, or nil. path is
// its path in the policy.
func (j *judge) refusesMetadata(n *notify.Notification, fd int, path string, st *unix.Stat_t) *sandbox.Denial {
	d := &sandbox.Denial{Kind: sandbox.KindMetadata, Target: path}
	if !strings.HasPrefix(path, "/") {
		d.Moot, d.MootReason = true, "the file is in no folder"
		return d
	}
	if kernel.OnProc(fd) {
		return d
	}
	if st.Nlink == 0 {
		// A file without a name is judged by its last name.
		path = strings.TrimSuffix(path, " (deleted)")
	}
	// The protection never allows more than the whole policy, and most files are brokered.
	// So this one check is usually enough.
	var refused *sandbox.Denial
	if j.protection.brokered(path) {
		j.session.mu.Lock()
		refused = j.refusesRest(n, path, st)
		j.session.mu.Unlock()
		if refused == nil {
			return nil
		}
	}
	judged := j.policy.JudgeWrite(path)
	if judged.Kind == sandbox.KindProtected {
		d.Kind = judged.Kind
	}
	if !judged.Allowed {
		return d
	}
	return refused
}

// allowsLoss reports whether a person allowed the command to make changes that undo cannot restore.
func (j *judge) allowsLoss() bool { return j.mayLose }

// ofRepository reports whether path is among the objects of a repository elsewhere.
func (j *judge) ofRepository(path string) bool {
	origin, _ := j.policy.Origin(path)
	return origin == sandbox.FromObjects
}

// observes reports whether undo keeps what is at path.
func (j *judge) observes(path string) bool {
	return j.policy.Observes(path) && !j.protection.isTemporary(path)
}

// longest returns the length that a file may get, 0 for any.
func (j *judge) longest() int64 { return j.policy.Limits.FileSize }

func (j *judge) aboveOwn(path string) bool { return j.protection.above(path) }

func (j *judge) grantedAt(path string) bool { return j.roots.opens(path) }

// shut reports whether the policy denies reading path, or changing it.
func (j *judge) shut(kind sandbox.DenialKind, path string) bool {
	if kind == sandbox.KindRead {
		return !j.policy.JudgeRead(path).Allowed
	}
	return !j.policy.JudgeWrite(path).Allowed
}

func (j *judge) judgeRead(path string) sandbox.Judgement { return j.policy.JudgeRead(path) }

// ofCommand reports whether path lies in a folder that the command has for itself.
func (j *judge) ofCommand(path string) bool { return sandbox.CoveredBy(j.protection.own, path) }

// removed records that the broker removed the entry at path.
func (j *judge) removed(path string, st *unix.Stat_t) {
	j.roots.replaced(&j.protection, path)
	j.session.own.removed(st)
}

// madeFolder records that the broker made the folder at s. brings: it comes from the history.
func (j *judge) madeFolder(s pathwalk.Spot, brings bool) {
	if brings {
		j.session.own.bring(s)
	}
	if !j.protection.isTemporary(s.Path) {
		j.session.own.folder(s)
	}
}
