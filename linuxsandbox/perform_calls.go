//go:build linux

package linuxsandbox

import "golang.org/x/sys/unix"

// metadataCall says where a call that changes metadata keeps what.
type metadataCall struct {
	nr   int
	name string
	// dir, path and flags are argument numbers, none when -1. Without a path
	// the file is the descriptor dir; without a dir a path starts at the
	// working directory.
	dir, path, flags int
	// noFollow: the call itself does not follow a link in the last place.
	noFollow bool
	change   change
	// at is the first argument of what is changed.
	at int
}

// change is what a call changes.
type change int

const (
	changeMode change = iota
	changeOwner
	changeTimes   // two timespec
	changeTimeval // two timeval
	changeUtime   // struct utimbuf
	setAttribute
	setAttributeAt // name, struct xattr_args and its size
	removeAttribute
)

const none = -1

// metadataCalls, with oldMetadataCalls, are the calls that the filter asks about
// for Ask; the tests hold the two lists together.
var metadataCalls = []metadataCall{
	{unix.SYS_FCHMOD, "fchmod", 0, none, none, false, changeMode, 1},
	{unix.SYS_FCHMODAT, "fchmodat", 0, 1, none, false, changeMode, 2},
	{unix.SYS_FCHMODAT2, "fchmodat2", 0, 1, 3, false, changeMode, 2},
	{unix.SYS_FCHOWN, "fchown", 0, none, none, false, changeOwner, 1},
	{unix.SYS_FCHOWNAT, "fchownat", 0, 1, 4, false, changeOwner, 2},
	{unix.SYS_UTIMENSAT, "utimensat", 0, 1, 3, false, changeTimes, 2},
	{unix.SYS_SETXATTR, "setxattr", none, 0, none, false, setAttribute, 1},
	{unix.SYS_LSETXATTR, "lsetxattr", none, 0, none, true, setAttribute, 1},
	{unix.SYS_FSETXATTR, "fsetxattr", 0, none, none, false, setAttribute, 1},
	{unix.SYS_SETXATTRAT, "setxattrat", 0, 1, 2, false, setAttributeAt, 3},
	{unix.SYS_REMOVEXATTR, "removexattr", none, 0, none, false, removeAttribute, 1},
	{unix.SYS_LREMOVEXATTR, "lremovexattr", none, 0, none, true, removeAttribute, 1},
	{unix.SYS_FREMOVEXATTR, "fremovexattr", 0, none, none, false, removeAttribute, 1},
	{unix.SYS_REMOVEXATTRAT, "removexattrat", 0, 1, 2, false, removeAttribute, 3},
}

// metadataCallOf is the call with that number, or nil.
func metadataCallOf(nr int32) *metadataCall {
	for _, list := range [][]metadataCall{metadataCalls, oldMetadataCalls} {
		for i := range list {
			if list[i].nr == int(nr) {
				return &list[i]
			}
		}
	}
	return nil
}
