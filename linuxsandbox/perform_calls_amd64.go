//go:build linux

package linuxsandbox

import "golang.org/x/sys/unix"

// oldMetadataCalls are those that newer architectures do without.
var oldMetadataCalls = []metadataCall{
	{unix.SYS_CHMOD, "chmod", none, 0, none, false, changeMode, 1},
	{unix.SYS_CHOWN, "chown", none, 0, none, false, changeOwner, 1},
	{unix.SYS_LCHOWN, "lchown", none, 0, none, true, changeOwner, 1},
	{unix.SYS_UTIME, "utime", none, 0, none, false, changeUtime, 1},
	{unix.SYS_UTIMES, "utimes", none, 0, none, false, changeTimeval, 1},
	{unix.SYS_FUTIMESAT, "futimesat", 0, 1, none, false, changeTimeval, 2},
}

// oldFileCalls are those that newer architectures do without.
var oldFileCalls = []fileCall{
	{unix.SYS_OPEN, "open", kindOpen, none, 0, none, none, 1},
	{unix.SYS_CREAT, "creat", kindCreat, none, 0, none, none, 1},
	{unix.SYS_MKDIR, "mkdir", kindMkdir, none, 0, none, none, 1},
	{unix.SYS_RMDIR, "rmdir", kindRmdir, none, 0, none, none, none},
	{unix.SYS_UNLINK, "unlink", kindUnlink, none, 0, none, none, none},
	{unix.SYS_RENAME, "rename", kindRename, none, 0, none, 1, none},
	{unix.SYS_LINK, "link", kindLink, none, 0, none, 1, none},
	{unix.SYS_SYMLINK, "symlink", kindSymlink, none, 0, none, 1, none},
	{unix.SYS_MKNOD, "mknod", kindMknod, none, 0, none, none, 1},
}
