//go:build linux

package broker

import (
	"strings"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/broker/processes"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A denial is moot when the user could not have done the same without a sandbox. The broker's
// thread has the user and the rights of the command, so it asks the kernel.
//
// If codeagent runs as root, it has capabilities that its commands lack. What fails for want
// of such a capability would have succeeded outside the sandbox. So it is not moot.

// lack is a right that the command's user does not have: the errno that the kernel would give,
// and the capabilities, any one of which would make up for it. The zero lack means that nothing
// is missing. Of several, the first in the kernel's order of checks counts.
type lack struct {
	errno unix.Errno
	caps  uint64
	// owner is the user ID of the file's owner.
	owner uint32
}

const (
	capsAccess = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	capsOwner  = 1 << unix.CAP_FOWNER
)

// rights finds out what the command's user could do without a sandbox.
type rights struct {
	keep    uint64 // capabilities of the command
	dropped uint64 // capabilities that codeagent has and the command lacks
	// mounted: the command has mounts of its own.
	mounted bool
	log     recorder
}

// lacksAccess asks the kernel as access(2) does. fd is the file, path its path in the policy.
func (r *rights) lacksAccess(fd int, path string, mode uint32) lack {
	if !r.log.Sees() {
		return lack{}
	}
	// The command's own mounts are read-only or show another file. The host's file shows
	// what would happen without them. In /proc the host's path of a process means another process: there
	// EROFS, for which the kernel looks last, shows that only the mount is in the way.
	rest, numbered := strings.CutPrefix(path, kernel.ProcDir+"/")
	numbered = numbered && rest[:min(len(rest), 1)] <= "9"
	if r.mounted && !numbered {
		if host, err := kernel.OpenPath(path); err == nil {
			defer unix.Close(host)
			fd = host
		}
	}
	err := unix.Faccessat2(fd, "", mode, unix.AT_EMPTY_PATH)
	if err == nil || numbered && err == unix.EROFS {
		return lack{}
	}
	l := lack{errno: kernel.ErrnoOf(err)}
	var st unix.Stat_t
	if l.errno == unix.EACCES && unix.Fstat(fd, &st) == nil {
		l.caps, l.owner = capsAccess, st.Uid
	}
	return l
}

// wants returns l, unless the command has a capability that makes up for it.
func (r *rights) wants(l lack) lack {
	if l.caps&r.keep != 0 {
		return lack{}
	}
	return l
}

// lacksOwner tests what only the owner of a file may do.
func (r *rights) lacksOwner(st *unix.Stat_t) lack {
	if int(st.Uid) == unix.Geteuid() {
		return lack{}
	}
	return r.wants(lack{errno: unix.EPERM, caps: capsOwner, owner: st.Uid})
}

// lacksEntry tests the right to make the entry s, and if old is set, to remove what is there.
func (r *rights) lacksEntry(s pathwalk.Spot, old *unix.Stat_t) lack {
	if l := r.lacksAccess(s.Dir, s.Path, unix.W_OK|unix.X_OK); l.errno != 0 || old == nil {
		return l
	}
	var dir unix.Stat_t
	if unix.Fstat(s.Dir, &dir) != nil || dir.Mode&unix.S_ISVTX == 0 || int(dir.Uid) == unix.Geteuid() {
		return lack{}
	}
	return r.lacksOwner(old) // sticky bit, as on /tmp
}

// lacksSource tests the right to link to a file on kernels that protect hard links (sysctl
// fs.protected_hardlinks, set nearly everywhere).
func (r *rights) lacksSource(t *pathwalk.Target) lack {
	l := r.lacksOwner(&t.Stat)
	if l.errno != 0 && t.Stat.Mode&unix.S_IFMT == unix.S_IFREG && r.lacksAccess(t.FD, t.Path, unix.R_OK|unix.W_OK).errno == 0 {
		return lack{}
	}
	return l
}

// lacksChange tests the right to change metadata.
func (r *rights) lacksChange(do *calls.Change, fd int, path string, st *unix.Stat_t) lack {
	switch {
	case do.Field == calls.Mode:
		return r.lacksOwner(st)
	case do.Field == calls.Owner:
		return r.lacksGiving(do, st)
	case do.OfTimes():
		l := r.lacksOwner(st)
		if l.errno != 0 && do.Touches() {
			l = r.lacksAccess(fd, path, unix.W_OK)
		}
		return l
	}
	if do.Refused(st) {
		return lack{errno: unix.EPERM, caps: 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_SETFCAP}
	}
	return r.lacksAccess(fd, path, unix.W_OK)
}

// lacksGiving tests the right to give a file to another user or group.
func (r *rights) lacksGiving(do *calls.Change, st *unix.Stat_t) lack {
	if do.UID >= 0 && do.UID != int(st.Uid) || do.GID >= 0 && do.GID != int(st.Gid) && !processes.InGroup(do.GID) {
		return r.wants(lack{errno: unix.EPERM, caps: 1 << unix.CAP_CHOWN, owner: st.Uid})
	}
	return r.lacksOwner(st)
}

// weigh records on d what the user lacks, and returns the errno to answer.
func (r *rights) weigh(d *sandbox.Denial, l lack, errno unix.Errno) unix.Errno {
	switch {
	case l.errno == 0:
		return errno
	case l.caps&r.dropped == 0:
		d.Moot, d.MootReason = true, sandbox.MootPermissions
		if l.errno == unix.EROFS {
			d.MootReason = "the file system is read-only"
		}
	// If another user owns a write root, the command keeps these capabilities (spec.FileCaps).
	case l.owner == 0 || l.caps&spec.FileCaps == 0:
		if d.Kind == sandbox.KindWrite || d.Kind == sandbox.KindMetadata {
			d.Kind = sandbox.KindCapability
		}
	}
	return l.errno
}

// rootsCaps are the capabilities by which root bypasses file permissions.
const rootsCaps = capsAccess | capsOwner | 1<<unix.CAP_CHOWN | 1<<unix.CAP_MKNOD | 1<<unix.CAP_FSETID
