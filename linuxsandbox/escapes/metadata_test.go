//go:build linux

package escapes

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"unsafe"

	"codeagent/internal/machine"

	"golang.org/x/sys/unix"
)

// metadata is a row that changes mode, owner, times or attributes outside.
func metadata(name, escape string, do func(p place) error) attempt {
	return attempt{name: name, escape: escape, protects: "metadata outside the write roots", weakness: "metadata", do: do}
}

// where has a tried only where tr works.
func where(tr machine.Trial, a attempt) attempt {
	a.trial = tr
	return a
}

// onFile calls f with the file outside, open for reading only.
func onFile(f func(fd int) error) func(p place) error {
	return func(p place) error { return withFD(p.out+"/file", unix.O_RDONLY, f) }
}

var longAgo = []unix.Timespec{{Sec: 9}, {Sec: 9}}

const sysFchmodat2 = 452 // Linux 6.6, the same on every architecture

// metadataEscapes change what Landlock does not handle.
func metadataEscapes() []attempt {
	rows := []attempt{
		metadata("chmod", "E18", func(p place) error { return unix.Chmod(p.out+"/file", 0o777) }),
		metadata("chmod of a folder", "E18", func(p place) error { return unix.Chmod(p.out+"/dir", 0o777) }),
		metadata("chmod: set-user-id", "E18", func(p place) error { return unix.Chmod(p.out+"/program", 0o4755) }),
		metadata("fchmod of a file that is open to read", "E18", onFile(func(fd int) error { return unix.Fchmod(fd, 0o600) })),
		metadata("fchmodat below a folder's descriptor", "E18", func(p place) error {
			return withFD(p.out, unix.O_PATH, func(fd int) error { return unix.Fchmodat(fd, "file", 0o600, 0) })
		}),
		where(machine.Trial{What: "fchmodat2, of Linux 6.6", Do: func(testing.TB) error {
			if err := rawCall(sysFchmodat2, ^uintptr(0), 0, 0, 0); errors.Is(err, unix.ENOSYS) {
				return err
			}
			return nil
		}}, metadata("fchmodat2", "E56", func(p place) error {
			return withFD(p.out, unix.O_PATH, func(fd int) error {
				return rawCall(sysFchmodat2, uintptr(fd), cpath("file"), 0o600, unix.AT_SYMLINK_NOFOLLOW)
			})
		})),
		metadata("chmod through /proc/self/fd of a path", "E6", func(p place) error {
			return withFD(p.out+"/file", unix.O_PATH, func(fd int) error { return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o600) })
		}),
		metadata("chmod through a symlink of the workspace", "E1", func(p place) error {
			return errors.Join(os.Symlink(p.out+"/file", p.in+"/l"), unix.Chmod(p.in+"/l", 0o600))
		}),
		metadata("chmod through /proc/self/root", "E6", func(p place) error { return unix.Chmod("/proc/self/root"+p.out+"/file", 0o600) }),
		metadata("chmod from a working folder outside", "E4", func(p place) error { return errors.Join(unix.Chdir(p.out), unix.Chmod("file", 0o600)) }),
		metadata("chmod by a process that nobody can look into", "E18", func(p place) error {
			return errors.Join(unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0), unix.Chmod(p.out+"/file", 0o600))
		}),
		metadata("chown to oneself", "E18", func(p place) error { return unix.Chown(p.out+"/file", os.Getuid(), os.Getgid()) }),
		metadata("fchown of a file that is open to read", "E18", onFile(func(fd int) error { return unix.Fchown(fd, os.Getuid(), -1) })),
		metadata("lchown of a symlink", "E18", func(p place) error { return unix.Lchown(p.out+"/link", os.Getuid(), -1) }),
		metadata("fchownat of a path that is open", "E18", func(p place) error {
			return withFD(p.out+"/file", unix.O_PATH, func(fd int) error { return unix.Fchownat(fd, "", os.Getuid(), -1, unix.AT_EMPTY_PATH) })
		}),
		metadata("utimensat", "E18", func(p place) error {
			return unix.UtimesNanoAt(unix.AT_FDCWD, p.out+"/file", longAgo, 0)
		}),
		metadata("utimensat of a symlink", "E18", func(p place) error {
			return unix.UtimesNanoAt(unix.AT_FDCWD, p.out+"/link", longAgo, unix.AT_SYMLINK_NOFOLLOW)
		}),
		metadata("utimensat of a folder", "E18", func(p place) error {
			return unix.UtimesNanoAt(unix.AT_FDCWD, p.out+"/dir", longAgo, 0)
		}),
		metadata("futimens of a file that is open to read", "E18", onFile(func(fd int) error {
			return rawCall(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&longAgo[0])), 0)
		})),
		metadata("utimensat, times of now", "E18", func(p place) error {
			return rawCall(unix.SYS_UTIMENSAT, here, cpath(p.out+"/file"), 0, 0)
		}),
		metadata("setxattr", "E18", func(p place) error { return unix.Setxattr(p.out+"/file", "user.planted", []byte("x"), 0) }),
		metadata("fsetxattr of a file that is open to read", "E18", onFile(func(fd int) error { return unix.Fsetxattr(fd, "user.planted", []byte("x"), 0) })),
		metadata("lsetxattr", "E18", func(p place) error { return unix.Lsetxattr(p.out+"/dir", "user.planted", []byte("x"), 0) }),
		metadata("removexattr", "E18", func(p place) error { return unix.Removexattr(p.out+"/file", "user.kept") }),
		metadata("fremovexattr of a file that is open to read", "E18", onFile(func(fd int) error { return unix.Fremovexattr(fd, "user.kept") })),
		metadata("setxattr: an access list", "E18", func(p place) error {
			return unix.Setxattr(p.out+"/file", "system.posix_acl_access", accessList, 0)
		}),
	}
	for i := range rows {
		rows[i].before = func(h *host, p place) {
			err := errors.Join(os.Symlink("file", p.out+"/link"), unix.Setxattr(p.out+"/file", "user.kept", []byte("x"), 0))
			if err != nil {
				h.t.Fatal(err)
			}
		}
	}
	return rows
}

// accessList lets everybody write: version 2, then tag, permissions and id of owner, group and
// others (linux/posix_acl_xattr.h).
var accessList = []byte{2, 0, 0, 0,
	1, 0, 6, 0, 255, 255, 255, 255,
	4, 0, 6, 0, 255, 255, 255, 255,
	32, 0, 6, 0, 255, 255, 255, 255}

const here = ^uintptr(99) // AT_FDCWD, -100

// rawCall makes a system call with exactly these arguments.
func rawCall(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return fmt.Errorf("call %d: %w", number, errno)
	}
	return nil
}

// cpath converts a string to the kernel's form.
func cpath(s string) uintptr {
	b, err := unix.BytePtrFromString(s)
	if err != nil {
		panic(err)
	}
	return uintptr(unsafe.Pointer(b))
}
