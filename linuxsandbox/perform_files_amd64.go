//go:build linux

package linuxsandbox

import "golang.org/x/sys/unix"

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
