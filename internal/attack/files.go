//go:build linux

package attack

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// These calls and requests are missing in x/sys (include/uapi/linux).
const (
	sysFileGetattr = 468
	sysFileSetattr = 469

	fsIocFsgetxattr  = 0x801c581f // fs.h
	fsIocFssetxattr  = 0x401c5820
	fsIocSetversion  = 0x40087602
	fsIocSetfslabel  = 0x41009432
	fatSetAttributes = 0x40047211 // msdos_fs.h
	ext4MoveExtent   = 0xc028660f // ext4.h
	btrfsSubvolume   = 0x5000940e // btrfs.h

	noDump = 0x40 // FS_NODUMP_FL; FS_XFLAG_NODUMP is 0x80
)

// onOwnFile makes an ioctl on a file that this user owns and that is open for reading only.
func onOwnFile(request uintptr, arg unsafe.Pointer) func() error {
	return func() error {
		f, err := scratch()
		if err != nil {
			return err
		}
		defer os.Remove(f.Name())
		defer f.Close()
		return call(unix.SYS_IOCTL, f.Fd(), request, uintptr(arg))
	}
}

// setFlag sets the no-dump flag on such a file, in addition to its other flags.
func setFlag(request uintptr) func() error {
	return func() error {
		f, err := scratch()
		if err != nil {
			return err
		}
		defer os.Remove(f.Name())
		defer f.Close()
		flags, _ := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
		flags |= noDump
		return call(unix.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(&flags)))
	}
}

func files() []Attack {
	xattr := [28]byte{0: 0x80}
	label := [256]byte{}
	notHere := func(why string) []Answer {
		return []Answer{{unix.ENOTTY, why}, {unix.EOPNOTSUPP, why}}
	}
	attacks := []Attack{
		{Name: "ioctl: FS_IOC_SETFLAGS", Escape: "E18", Want: unix.EPERM, Bare: notHere("the file system keeps no flags"),
			Do: setFlag(unix.FS_IOC_SETFLAGS)},
		{Name: "ioctl: FS_IOC_SETFLAGS + 2^32", Escape: "E18", Want: unix.EPERM, Bare: notHere("the file system keeps no flags"),
			Do: setFlag(unix.FS_IOC_SETFLAGS | 1<<32)},
		{Name: "ioctl: FS_IOC_FSSETXATTR", Escape: "E18", Want: unix.EPERM, Bare: notHere("the file system keeps no flags"),
			Do: onOwnFile(fsIocFssetxattr, unsafe.Pointer(&xattr))},
		{Name: "ioctl: FS_IOC_SETVERSION", Escape: "E18", Want: unix.EPERM,
			Bare: append(notHere("the file system keeps no generations"), Answer{unix.EFAULT, "asked without a generation, so as to change nothing"}),
			Do:   onOwnFile(fsIocSetversion, nil)},
		{Name: "ioctl: FS_IOC_SETFSLABEL", Escape: "E18", Want: unix.EPERM,
			Bare: append(notHere("the file system has no label"), needsRoot, Answer{unix.EFAULT, "asked without a label, so as to change nothing"}),
			Do:   onOwnFile(fsIocSetfslabel, nil)},
		{Name: "ioctl: FAT_IOCTL_SET_ATTRIBUTES", Escape: "E18", Want: unix.EPERM, Bare: notHere("the file system is not FAT"),
			Do: onOwnFile(fatSetAttributes, unsafe.Pointer(&label))},
		{Name: "ioctl: EXT4_IOC_MOVE_EXT", Escape: "E18", Want: unix.EPERM,
			Bare: append(notHere("the file system is not ext4"), Answer{unix.EBADF, "the file is not open for writing"}, Answer{unix.EFAULT, "asked without a range"}),
			Do:   onOwnFile(ext4MoveExtent, nil)},
		{Name: "ioctl: BTRFS_IOC_SUBVOL_CREATE", Escape: "E18", Want: unix.EPERM, Bare: notHere("the file system is not btrfs"),
			Do: onOwnFile(btrfsSubvolume, nil)},
		{Name: "name_to_handle_at", Escape: "E58", Want: unix.EOPNOTSUPP, Do: func() error { _, err := handle(); return err }},
		{Name: "open_by_handle_at", Escape: "-", Want: unix.EPERM, Bare: []Answer{needsRoot}, Do: func() error {
			h, _ := handle()
			at, err := unix.Open(os.TempDir(), unix.O_RDONLY|unix.O_DIRECTORY, 0)
			if err != nil {
				return fmt.Errorf("open the directory: %v", err)
			}
			return call(unix.SYS_OPEN_BY_HANDLE_AT, uintptr(at), uintptr(unsafe.Pointer(&h)), unix.O_RDONLY)
		}},
		{Name: "fanotify_init", Escape: "-", Want: unix.EPERM,
			Bare: []Answer{notBuiltIn, {unix.EINVAL, "this kernel gives it to root alone"}}, Do: func() error {
				return call(unix.SYS_FANOTIFY_INIT, unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_FID, 0)
			}},
		{Name: "quotactl", Escape: "-", Want: unix.EPERM, Bare: []Answer{notBuiltIn}, Do: func() error {
			return call(unix.SYS_QUOTACTL, 0x800001<<8, 0, 0, 0) // Q_SYNC of every file system
		}},
		{Name: "quotactl_fd", Escape: "-", Want: unix.EPERM, Bare: []Answer{notBuiltIn, {unix.EBADF, "asked with no file"}}, Do: func() error {
			return call(unix.SYS_QUOTACTL_FD, ^uintptr(0), 0x800001<<8, 0, 0)
		}},
	}
	for _, c := range []struct {
		name           string
		command, lease uintptr
	}{
		{"F_SETLEASE", unix.F_SETLEASE, unix.F_WRLCK}, {"F_SETLEASE + 2^32", unix.F_SETLEASE | 1<<32, unix.F_WRLCK},
	} {
		attacks = append(attacks, Attack{Name: "fcntl: " + c.name, Escape: "-", Want: unix.EINVAL,
			Bare: []Answer{{unix.EAGAIN, "somebody else has the file open"}}, Do: func() error {
				f, err := scratch()
				if err != nil {
					return err
				}
				defer os.Remove(f.Name())
				defer f.Close()
				return call(unix.SYS_FCNTL, f.Fd(), c.command, c.lease)
			}})
	}
	attacks = append(attacks, Attack{Name: "fcntl: F_NOTIFY", Escape: "-", Want: unix.EINVAL,
		Bare: []Answer{{unix.EINVAL, "this kernel has no dnotify"}}, Do: func() error {
			at, err := unix.Open(os.TempDir(), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(at)
			return call(unix.SYS_FCNTL, uintptr(at), unix.F_NOTIFY, 1<<30) // an event that does not exist
		}})
	for name, number := range map[string]uintptr{"file_setattr": sysFileSetattr, "file_getattr": sysFileGetattr} {
		attacks = append(attacks, Attack{Name: name, Escape: "E56", Want: unix.ENOSYS, Bare: append(notHere("the file system keeps no attributes"), notBuiltIn), Do: func() error {
			f, err := scratch()
			if err != nil {
				return err
			}
			defer os.Remove(f.Name())
			defer f.Close()
			attr := [24]byte{0: 0x80}
			return call(number, ^uintptr(99), uintptr(unsafe.Pointer(cstring(f.Name()))), uintptr(unsafe.Pointer(&attr)), 24, 0)
		}})
	}
	return attacks
}

// fileHandle is struct file_handle with room for the largest handle.
type fileHandle struct {
	size, kind uint32
	bytes      [128]byte
}

// handle returns the handle of a directory that this user owns.
func handle() (fileHandle, error) {
	h := fileHandle{size: 128}
	var mount int32
	err := call(unix.SYS_NAME_TO_HANDLE_AT, ^uintptr(99), uintptr(unsafe.Pointer(cstring(os.TempDir()))),
		uintptr(unsafe.Pointer(&h)), uintptr(unsafe.Pointer(&mount)), 0)
	return h, err
}
