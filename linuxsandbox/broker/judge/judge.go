//go:build linux

// Package judge decides whether the policy allows a command's change of a file that was found. It reads files and
// folders, and knows which of them the session made. It makes no call for the command, and asks nobody: the
// handlers in the broker do. Start with Judge.RefusesPath.
package judge

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

// Judge decides whether the policy allows a change of a file that was found, and records what the broker changed.
// It has no way to widen the policy: that is the Law's.
type Judge struct {
	// policy is the command's, with the grants since its start.
	policy     resolved.Policy
	protection Protection
	// roots are the granted paths.
	roots grantedRoots
	// reach is what Landlock lets the command write without the broker.
	reach   []string
	files   *Files
	walk    *pathwalk.Walker
	looks   looks
	history history
	sees    func() bool
	seal    func(dir int) bool
	// mayLose: a person allowed the command to make changes that undo cannot restore.
	mayLose bool
}

// Options are the inputs of New.
type Options struct {
	// Policy is the command's, and Protection the part of it that the broker enforces.
	Policy     resolved.Policy
	Protection Protection
	// Reach is what Landlock lets the command write without the broker.
	Reach []string
	// Files are shared by the judges of all commands that may change the same files.
	Files *Files
	// Walk finds files for the command. It asks the judge which paths mean others.
	Walk *pathwalk.Walker
	// Sees says whether calls are examined that fail without the broker.
	Sees func() bool
	// Versions is sandbox.Command.Versions.
	Versions func(top, name string) sandbox.Versions
	// Seal reports whether a folder has no hooks and no settings that name programs. It replaces the settings by copies.
	Seal func(dir int) bool
}

// New returns the judge of a command, and the law by which it decides.
func New(o Options) (*Judge, Law) {
	j := &Judge{
		policy: o.Policy, protection: o.Protection, reach: o.Reach, files: o.Files, walk: o.Walk,
		sees: o.Sees, seal: o.Seal, history: history{versions: o.Versions},
	}
	o.Walk.Instead, o.Walk.OnHost = j.InMemory, j.onHost
	for _, path := range o.Protection.granted {
		j.roots.open(path)
	}
	return j, Law{j}
}

// RefusesPath returns the denial of any change of the content at path, or nil.
func (j *Judge) RefusesPath(n *notify.Notification, path string) *sandbox.Denial {
	d := j.refusesPlace(n, path, j.closes)
	of, _ := protect.LockOf(path)
	if (d == nil || d.Kind == sandbox.KindProtected) && git.IsSettings(filepath.Base(of)) && !j.protection.isTemporary(of) &&
		(d != nil || j.Granted(of)) && j.closed(n, filepath.Dir(of)) {
		return &sandbox.Denial{Kind: sandbox.KindProtected, Target: of, Why: onlyRenamed}
	}
	if d == nil && j.IsState(n, path) {
		return &sandbox.Denial{Kind: sandbox.KindProtected, Target: path, Why: "codeagent installs its own copy of what git continues"}
	}
	return d
}

// RefusesPlace returns the denial of making the entry at path, or nil. folder: it is an empty folder, which holds
// nothing that git runs.
func (j *Judge) RefusesPlace(n *notify.Notification, path string, folder bool) *sandbox.Denial {
	if folder {
		return j.refusesPlace(n, path, j.foreign)
	}
	return j.refusesPlace(n, path, j.closes)
}

// refusesPlace returns the denial of a change at path, or nil. closes says whether it is closed if
// a folder above it is a git directory.
func (j *Judge) refusesPlace(n *notify.Notification, path string, closes func(n *notify.Notification, dir, path string) bool) *sandbox.Denial {
	judged := j.protection.policy.JudgeWrite(path)
	if judged.Kind == sandbox.KindProtected {
		if dir := repositoryOf(path); j.files.own.at(n, j.walk, dir) && !j.belowForeign(n, dir) {
			judged = j.protection.policy.JudgeInOwn(path)
		} else if j.ownTree(n, path) {
			judged = j.protection.policy.JudgeTracked(path)
		}
	}
	return j.refusesJudged(n, path, judged, closes)
}

// refusesJudged is refusesPlace where the policy judged the path so.
func (j *Judge) refusesJudged(n *notify.Notification, path string, judged sandbox.Judgement, closes func(n *notify.Notification, dir, path string) bool) *sandbox.Denial {
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

// RefusesFile returns the denial of a change of the content of an existing file, or nil.
func (j *Judge) RefusesFile(n *notify.Notification, path string, st *unix.Stat_t) *sandbox.Denial {
	if d := j.RefusesPath(n, path); d != nil {
		return d
	}
	return j.RefusesRest(n, path, st)
}

// RefusesRest returns the denial of a change of an existing file that leaves its content, or nil:
// the session may remove what it made, and change its metadata.
func (j *Judge) RefusesRest(n *notify.Notification, path string, st *unix.Stat_t) *sandbox.Denial {
	if locks(path) && j.files.own.locked(st) {
		return nil
	}
	if d := j.refusesPlace(n, path, j.foreign); d != nil {
		return d
	}
	if dir, _ := git.Locks(path); dir != "" && !j.protection.isTemporary(path) && j.closed(n, dir) {
		return &sandbox.Denial{Kind: sandbox.KindProtected, Target: path, Note: "git outside the sandbox holds this lock, or left it"}
	}
	// A removed name of an open file is judged as if it still existed.
	if gone, ok := strings.CutSuffix(path, " (deleted)"); ok {
		if d := j.RefusesPath(n, gone); d != nil {
			return d
		}
	}
	if !git.IsEntry(filepath.Base(path)) || kernel.IsFolder(st) || j.files.own.has(st) || j.protection.isTemporary(path) || j.Granted(path) {
		return nil
	}
	return &sandbox.Denial{Kind: sandbox.KindProtected, Target: path}
}

// RefusesEntry returns the denial of removing, replacing or moving the entry at s, or nil.
// stays: another entry takes its place.
func (j *Judge) RefusesEntry(n *notify.Notification, s pathwalk.Spot, st *unix.Stat_t, stays bool) *sandbox.Denial {
	path := s.Full()
	refuses := j.RefusesRest
	if stays {
		refuses = j.RefusesFile
	}
	if d := refuses(n, path, st); d != nil {
		return d
	}
	isDir := st.Mode&unix.S_IFMT == unix.S_IFDIR
	switch {
	case j.protection.isTemporary(path):
		return nil
	case isDir && git.IsEntry(s.Last) && !j.files.own.has(st):
	case !stays && git.IsMark(s.Last) && j.foreignGit(n, s.Path):
		// A git directory without its marks would lose its protection.
	default:
		return nil
	}
	return &sandbox.Denial{Kind: sandbox.KindProtected, Target: path}
}

// foreignGit reports whether dir is a git directory that the session did not make. It is true
// where dir cannot be examined.
func (j *Judge) foreignGit(n *notify.Notification, dir string) bool {
	is, own := j.git(n, dir)
	return is && !own
}

// git reports whether dir is a git directory, and whether the session made it.
func (j *Judge) git(n *notify.Notification, dir string) (is, own bool) {
	fd, err := j.walk.Open(n, pathwalk.Name{Dir: unix.AT_FDCWD, Path: dir, NoFollow: true})
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
	if j.files.own.has(&st) {
		return true, true
	}
	if git.IsEntry(filepath.Base(dir)) || git.Marked(entriesOf(fd)) {
		_, own = j.positioned(n, dir)
		return true, own
	}
	return j.positioned(n, dir)
}

// inForeignGit reports whether path is in a git directory that the session did not make. Git
// follows links there. With a link as its reflog, the user's next commit outside the sandbox would
// append to any file, and a branch name can contain shell commands. The folder modules contains
// further repositories, including new ones.
func (j *Judge) inForeignGit(n *notify.Notification, path string) bool {
	root, d := j.protection.judge(path)
	if d != nil || j.protection.isTemporary(path) {
		return false
	}
	ofGit := j.policy.OfGit(root)
	if root == path {
		return ofGit // git writes packed-refs through a link, too
	}
	below := filepath.Base(path)
	for dir := filepath.Dir(path); sandbox.Covers(root, dir) && dir != "/"; dir = filepath.Dir(dir) {
		if is, own := j.git(n, dir); is {
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

// Made records that the broker made an entry.
func (j *Judge) Made(s pathwalk.Spot) {
	j.files.changed(s.Full())
	open := func(flags uint64) (fd int) {
		fd, _ = kernel.Openat2(s.Dir, s.Last, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC|flags, 0)
		return fd
	}
	own := &j.files.own
	if j.Granted(s.Full()) {
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

// RefusesMetadata returns the denial of a change of the open file's metadata, or nil. path is
// its path in the policy.
func (j *Judge) RefusesMetadata(n *notify.Notification, fd int, path string, st *unix.Stat_t) *sandbox.Denial {
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
		j.files.mu.Lock()
		refused = j.RefusesRest(n, path, st)
		j.files.mu.Unlock()
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

// AllowsLoss reports whether a person allowed the command to make changes that undo cannot restore.
func (j *Judge) AllowsLoss() bool { return j.mayLose }

// OfRepository reports whether path is among the objects of a repository elsewhere.
func (j *Judge) OfRepository(path string) bool {
	origin, _ := j.policy.Origin(path)
	return origin == sandbox.FromObjects
}

// Observes reports whether undo keeps what is at path.
func (j *Judge) Observes(path string) bool {
	return j.policy.Observes(path) && !j.protection.isTemporary(path)
}

// Longest returns the length that a file may get, 0 for any.
func (j *Judge) Longest() int64 { return j.policy.Limits.FileSize }

// AboveOwn reports whether path is a folder above codeagent's own files.
func (j *Judge) AboveOwn(path string) bool { return j.protection.above(path) }

// GrantedAt reports whether path lies in a granted root.
func (j *Judge) GrantedAt(path string) bool { return j.roots.opens(path) }

// shut reports whether the policy denies reading path, or changing it.
func (j *Judge) Shut(kind sandbox.DenialKind, path string) bool {
	if kind == sandbox.KindRead {
		return !j.policy.JudgeRead(path).Allowed
	}
	return !j.policy.JudgeWrite(path).Allowed
}

// JudgeRead judges reading path.
func (j *Judge) JudgeRead(path string) sandbox.Judgement { return j.policy.JudgeRead(path) }

// OfCommand reports whether path lies in a folder that the command has for itself.
func (j *Judge) OfCommand(path string) bool { return sandbox.CoveredBy(j.protection.own, path) }

// Removed records that the broker removed the entry at path.
func (j *Judge) Removed(path string, st *unix.Stat_t) {
	j.roots.replaced(&j.protection, path)
	j.files.own.removed(st)
}

// MadeFolder records that the broker made the folder at s. brings: it comes from the history.
func (j *Judge) MadeFolder(s pathwalk.Spot, brings bool) {
	if brings {
		j.files.own.bring(s)
	}
	if !j.protection.isTemporary(s.Path) {
		j.files.own.folder(s)
	}
}

// RefusesSocket returns the denial of a socket's file at path, or nil.
func (j *Judge) RefusesSocket(n *notify.Notification, path string) *sandbox.Denial {
	if j.protection.brokered(path) {
		return j.RefusesPath(n, path)
	}
	if judged := j.policy.JudgeWrite(path); !judged.Allowed {
		return &sandbox.Denial{Kind: judged.Kind, Target: path}
	}
	return nil
}

// Changed records that the broker made or moved something at paths.
func (j *Judge) Changed(paths ...string) { j.files.changed(paths...) }

// LeadsGit reports whether the owner's git follows what the regular file at s says: a .git file below somebody else's work tree, one
// by which git goes on, or a new commondir.
func (j *Judge) LeadsGit(n *notify.Notification, s pathwalk.Spot) bool {
	return git.IsEntry(s.Last) && !j.protection.isTemporary(s.Full()) && j.belowForeign(n, s.Path) ||
		j.IsState(n, s.Full()) || j.writesCommon(n, s)
}

// Bring records that the session brought the entry at s back from the history.
func (j *Judge) Bring(s pathwalk.Spot) { j.files.own.bring(s) }

// HasLeft reports whether a command removed a file at path that contained text.
func (j *Judge) HasLeft(path string, text []byte) bool { return j.files.own.hasLeft(path, text) }

// Own reports whether the session made the repository with the state st.
func (j *Judge) Own(st *unix.Stat_t) bool { return j.files.own.has(st) }

// OwnGit reports whether the session made the git directory dir.
func (j *Judge) OwnGit(n *notify.Notification, dir string) bool {
	_, own := j.git(n, dir)
	return own
}

// Forget records that a name of the file with the state st is removed.
func (j *Judge) Forget(st *unix.Stat_t) { j.files.own.removed(st) }

// Any reports whether any path is brokered.
func (j *Judge) Any() bool { return j.protection.any() }

// Brokered reports whether the broker makes the changes at path.
func (j *Judge) Brokered(path string) bool { return j.protection.brokered(path) }

// Writable reports whether the entry at path may be changed, by the broker or by the command itself.
func (j *Judge) Writable(path string) bool { return j.protection.writable(path) }

// Outside reports whether path lies in no write root.
func (j *Judge) Outside(path string) bool { return j.protection.outside(path) }
