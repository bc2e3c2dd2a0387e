package undo

import (
	"os"

	"golang.org/x/sys/unix"
)

// onlyPass opens a folder to go through it: that takes no right to list it.
const onlyPass = unix.O_PATH

// clone gives to, which is empty, the content of from without copying it, where
// the file system can (btrfs, XFS, bcachefs).
func clone(to, from *os.File) error {
	return unix.IoctlFileClone(int(to.Fd()), int(from.Fd()))
}

// flush puts all that was written to the file system of dir on its disk.
func flush(dir int) error { return unix.Syncfs(dir) }
