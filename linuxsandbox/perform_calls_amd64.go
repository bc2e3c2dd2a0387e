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
