//go:build linux

// Package pathwalk turns a path that a command used into an open file: the broker's own
// O_PATH descriptor of what the command would have reached, and its path in the policy. It
// opens files with O_PATH and the rights of the calling thread, reads /proc, and neither
// judges nor changes anything. Start with Walker.Target, the walk of a call that follows
// links.
package pathwalk

import (
	"path/filepath"
	"slices"
	"strings"

	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Caller is a thread that waits in a system call.
type Caller interface {
	// Thread is its number in this process's PID namespace.
	Thread() int
	// Waits reports whether it still waits. If so, everything that was looked up under its
	// number until now was its own, not that of a later thread with the same number.
	Waits() bool
}

// Walker does the path walks for the calls of one command. Only one thread may use it.
type Walker struct {
	// Mounts describe how the command's view differs from the host's, nil for no difference.
	Mounts *Mounts
	// Instead returns the path to use in place of a call's path.
	Instead func(path string) string
	// OnHost reports whether changes at path are made on the host's own files.
	OnHost func(path string) bool

	*view // nil until the first call
}

// Look opens the command's view, once.
func (w *Walker) Look(c Caller) error {
	if w.view != nil {
		return nil
	}
	v, err := lookAt(w.Mounts, c.Thread())
	if err != nil {
		return err
	}
	if !c.Waits() {
		v.close() // it may be the view of a later thread with the same number
		return unix.ESRCH
	}
	w.view = v
	return nil
}

// Open opens with O_PATH what the caller means by m.
func (w *Walker) Open(c Caller, m Name) (int, error) {
	if err := w.Look(c); err != nil {
		return -1, err
	}
	return w.view.open(c.Thread(), m)
}

// Lstat returns the state of what the caller means by path, of a link itself.
func (w *Walker) Lstat(c Caller, path string) (st unix.Stat_t, err error) {
	fd, err := w.Open(c, Name{Dir: unix.AT_FDCWD, Path: path, NoFollow: true})
	if err != nil {
		return st, err
	}
	defer unix.Close(fd)
	err = unix.Fstat(fd, &st)
	return st, err
}

// Straight is Open for an absolute path that leads to a file through no link and so is its path in the
// policy too. It saves looking that up. For any other path the error is ELOOP.
func (w *Walker) Straight(c Caller, m Name) (int, error) {
	inPlace := func(p ownPlace) bool { return sandbox.Covers(p.dir, m.Path) }
	if m.Path == "" || m.Path[0] != '/' || filepath.Clean(m.Path) != m.Path || w.Look(c) != nil || slices.ContainsFunc(w.places, inPlace) {
		return -1, unix.ELOOP
	}
	return kernel.Openat2(w.root, m.Path, unix.O_PATH|unix.O_CLOEXEC, unix.RESOLVE_IN_ROOT|unix.RESOLVE_NO_SYMLINKS)
}

// Looked returns the path in the policy that m gives, with its links and "..". It is for records, never for decisions.
func (w *Walker) Looked(c Caller, m Name) (string, error) {
	if err := w.Look(c); err != nil {
		return "", err
	}
	if strings.HasPrefix(m.Path, "/") {
		for _, p := range w.places {
			if path := filepath.Clean(m.Path); sandbox.Covers(p.dir, path) && !sandbox.CoveredBy(w.shown, path) {
				return p.policy + strings.TrimPrefix(path, p.dir), nil
			}
		}
		return m.Path, nil
	}
	base, err := m.base(c.Thread(), 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(base)
	return w.PolicyPath(base) + "/" + m.Path, nil
}

// HostPath returns the host's path of an open file of the command.
func (w *Walker) HostPath(fd int) string {
	return strings.TrimPrefix(w.PolicyPath(fd), HostsOwn)
}

// Hidden returns the path of the host's file that the command's own mounts hide from m, or
// "".
func (w *Walker) Hidden(c Caller, m Name) string {
	if w.view == nil {
		return ""
	}
	return w.view.hidden(c.Thread(), m)
}

// Reached returns the policy's path of the deepest entry on the way of m that the caller reaches, and
// the rest of the way. It is for reports about calls that fail, never for decisions.
func (w *Walker) Reached(c Caller, m Name) (at, rest string, err error) {
	for {
		t, err := w.Target(c, m, true)
		if err == nil {
			defer t.Close()
			return t.Path, rest, nil
		}
		head, last, _ := cutName(m.Path)
		if last == "" || last == "." {
			return "", "", err
		}
		m.Path, rest = head, filepath.Join(last, rest)
	}
}

// DeviceOf returns the device number of the folder at path in the command's view.
func (w *Walker) DeviceOf(c Caller, path string) (uint64, error) {
	if err := w.Look(c); err != nil {
		return 0, err
	}
	var st unix.Statx_t
	err := unix.Statx(w.root, strings.TrimPrefix(path, "/"), unix.AT_NO_AUTOMOUNT|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS, &st)
	return unix.Mkdev(st.Dev_major, st.Dev_minor), err
}

// view is the file system as a command sees it: the host's, or that of its own mount
// namespace. It is the same for all threads and for the whole life of the command, since
// the filter denies chroot, setns, unshare and every mount.
type view struct {
	// root is the command's root folder.
	root int
	// own: the command has mounts of its own, and a /proc with its own numbers.
	own bool
	// proc is the device number of that /proc.
	proc uint64
	// places are the folders where the command's mounts hide the host's. shown are the
	// write and read roots inside them, where the host's folder is visible again.
	places []ownPlace
	shown  []string
}

// ownPlace is a folder where the command sees another one than the host's.
type ownPlace struct {
	dir string
	// mount is the mount ID of the folder. A file of another mount with a path below
	// dir is the host's: the command received it as an open descriptor.
	mount uint64
	// policy is the folder's path in the policy.
	policy string
}

// Mounts describe how a command's view differs from the host's.
type Mounts struct {
	// Private are folders that show Temp in place of the host's folder.
	Private []string
	Temp    string
	// Own are folders of the command's own that have the same path in the policy.
	Own []string
	// Shown are paths in them where the host's folder is visible again.
	Shown []string
}

// lookAt opens the view of a command. tid is one of its threads.
func lookAt(plan *Mounts, tid int) (*view, error) {
	v := &view{own: plan != nil}
	var err error
	if plan == nil {
		v.root, err = kernel.Openat2(unix.AT_FDCWD, "/", unix.O_PATH|unix.O_CLOEXEC, 0)
		return v, err
	}
	if v.root, err = OpenProc(tid, "root", 0); err != nil {
		return nil, err
	}
	var st unix.Statx_t
	if err = unix.Statx(v.root, "proc", unix.AT_NO_AUTOMOUNT, unix.STATX_BASIC_STATS, &st); err == nil {
		v.proc = unix.Mkdev(st.Dev_major, st.Dev_minor)
		err = v.findPlaces(plan)
	}
	if err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// Close closes the command's view, which the first call has opened.
func (w *Walker) Close() { w.view.close() }

func (v *view) close() {
	if v != nil {
		unix.Close(v.root)
	}
}

func (v *view) findPlaces(plan *Mounts) error {
	v.shown = plan.Shown
	for _, dir := range plan.Private {
		v.places = append(v.places, ownPlace{dir: dir, policy: plan.Temp})
	}
	for _, dir := range plan.Own {
		v.places = append(v.places, ownPlace{dir: dir, policy: dir})
	}
	for i, p := range v.places {
		var st unix.Statx_t
		err := unix.Statx(v.root, strings.TrimPrefix(p.dir, "/"), unix.AT_NO_AUTOMOUNT, unix.STATX_MNT_ID, &st)
		if err != nil {
			return err
		}
		v.places[i].mount = st.Mnt_id
	}
	return nil
}

// HostsOwn precedes the path of a host's file in a folder whose path means the command's
// own folder in the policy.
const HostsOwn = "the host's "

// PolicyPath returns the open file's path in the policy. It does not begin with a slash if
// there is no such path: the file is in no folder, or it is the host's in a folder whose
// path means the command's own. Look must have succeeded.
func (v *view) PolicyPath(fd int) string {
	path := kernel.PathOf(fd)
	for _, p := range v.places {
		if !sandbox.Covers(p.dir, path) || sandbox.CoveredBy(v.shown, path) {
			continue
		}
		var st unix.Statx_t
		err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st)
		switch {
		case err == nil && st.Mnt_id == p.mount:
			return p.policy + strings.TrimPrefix(path, p.dir)
		case p.policy == p.dir:
			return HostsOwn + path
		}
	}
	return path
}

// shownIn returns the host's folder around the entry last of the open folder dir, whose PolicyPath is path, if the
// command sees the host's entry there, else "". The broker is in another mount namespace: a removal by it
// would remove what lies below that mount, and the kernel would detach the mount.
func (v *view) shownIn(dir int, path, last string) string {
	for _, p := range v.places {
		if path == p.policy && slices.Contains(v.shown, p.dir+"/"+last) && kernel.PathOf(dir) == p.dir {
			return p.dir
		}
	}
	return ""
}

// hidden returns the path of the host's file that the command's own folder hides from m, or
// "". It is for reports, not for decisions: it follows no links.
func (v *view) hidden(tid int, m Name) string {
	path := m.Written(tid)
	for _, p := range v.places {
		if p.policy == p.dir || path == p.dir || !sandbox.Covers(p.dir, path) {
			continue
		}
		looked := filepath.Dir(path) // the call may be about to make a file there
		if looked == p.dir {
			looked = path
		}
		if st, err := kernel.StatPath(looked); err != nil || looked != path && st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return ""
		}
		return path
	}
	return ""
}

// numbers returns the process and the thread of tid in the PID namespace of the /proc that
// contains the folder at. They are 0 if that /proc is not the command's.
func (v *view) numbers(tid, at int) (process, thread int) {
	if !v.own {
		return kernel.ProcessOf(tid), tid
	}
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil || st.Dev != v.proc {
		return 0, 0
	}
	return kernel.InsideNumbers(tid)
}
