//go:build linux

package calls

import "golang.org/x/sys/unix"

// oldMetadataCalls are calls that newer architectures lack.
var oldMetadataCalls = []Metadata{
	{unix.SYS_CHMOD, "chmod", None, 0, None, false, Mode, 1},
	{unix.SYS_CHOWN, "chown", None, 0, None, false, Owner, 1},
	{unix.SYS_LCHOWN, "lchown", None, 0, None, true, Owner, 1},
	{unix.SYS_UTIME, "utime", None, 0, None, false, changeUtime, 1},
	{unix.SYS_UTIMES, "utimes", None, 0, None, false, changeTimeval, 1},
	{unix.SYS_FUTIMESAT, "futimesat", 0, 1, None, false, changeTimeval, 2},
}

// oldLookups are calls that newer architectures lack.
var oldLookups = []File{lookup(unix.SYS_STAT, "stat", None, 0), lookup(unix.SYS_LSTAT, "lstat", None, 0), lookup(unix.SYS_READLINK, "readlink", None, 0)}

// oldFileCalls are calls that newer architectures lack.
var oldFileCalls = []File{
	{unix.SYS_OPEN, "open", Open, None, 0, None, None, 1},
	{unix.SYS_CREAT, "creat", Creat, None, 0, None, None, 1},
	{unix.SYS_MKDIR, "mkdir", Mkdir, None, 0, None, None, 1},
	{unix.SYS_RMDIR, "rmdir", Rmdir, None, 0, None, None, None},
	{unix.SYS_UNLINK, "unlink", Unlink, None, 0, None, None, None},
	{unix.SYS_RENAME, "rename", Rename, None, 0, None, 1, None},
	{unix.SYS_LINK, "link", Link, None, 0, None, 1, None},
	{unix.SYS_SYMLINK, "symlink", Symlink, None, 0, None, 1, None},
	{unix.SYS_MKNOD, "mknod", Mknod, None, 0, None, None, 1},
	{unix.SYS_ACCESS, "access", Access, None, 0, None, None, 1},
}
