//go:build linux

package pathwalk

import (
	"path/filepath"
	"strings"

	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// view is the file system as a command sees it: the host's, or that of a mount
// namespace of its own. It is the same for every thread of the command as long
// as it lives, since the filter refuses chroot, setns, unshare and every mount.
type view struct {
	// root is the command's root folder.
	root int
	// own: the command has mounts of its own, and a /proc with numbers of its own.
	own bool
	// proc is the device number of that /proc.
	proc uint64
	// places are what the command's own mounts show instead of the host's, shown
	// the roots of the policy that lie inside of them: the host's again.
	places []ownPlace
	shown  []string
}

// ownPlace is a folder that shows something else than the host's of that name.
type ownPlace struct {
	dir string
	// mount is what is mounted there. A file of another mount is the host's,
	// though its path is alike: the command was handed it open.
	mount uint64
	// policy is what the folder is called in the policy.
	policy string
}

// Mounts are what a command sees otherwise than the host.
type Mounts struct {
	// Private are folders that show temp of the policy instead of the host's.
	Private []string
	Temp    string
	// Own are folders of the command's own, which are called so in the policy too.
	Own []string
	// Shown are the places in them that show the host's again.
	Shown []string
}

// lookAt opens what a command sees. tid is a thread of it.
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

// HostsOwn stands before the path of a file that is the host's, in a folder that
// only the command's own stand for.
const HostsOwn = "the host's "

// policyPath is what the open file is called in the policy. It does not begin
// with a slash when the file has no such name: it is no file of any folder, or
// the host's in a folder that only the command's own stand for.
func (v *view) policyPath(fd int) string {
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

// hidden is the host's file that m would be, were it not that the command sees a
// folder of its own in that place; "" when there is no such file. It is for reporting what
// was missed, not for deciding: the path is taken word by word.
func (v *view) hidden(tid int, m Name) string {
	path := m.Written(tid)
	for _, p := range v.places {
		if p.policy == p.dir || path == p.dir || !sandbox.Covers(p.dir, path) {
			continue
		}
		looked := filepath.Dir(path) // a file may be about to be made there
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

// numbers are the process and the thread that tid is, as the /proc at the folder
// at calls them; 0 when that /proc is not the command's.
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
