//go:build linux

// Package calls says where each system call that the broker answers keeps its arguments,
// and reads them: which file is meant, and what a change of metadata is to be. It reads
// the memory of the calling thread and makes a change on a file that was opened and
// judged; it opens nothing. Start with the tables, Files and MetadataChanges.
package calls

import (
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// File says where a call that opens, makes or removes files keeps what.
type File struct {
	NR   int
	Name string
	Kind Kind
	// Dir, path, dir2, path2 and arg are argument numbers, none when -1. Without
	// a dir a path starts at the working directory. arg is the first of flags,
	// mode or size.
	Dir, Path, Dir2, Path2, Arg int
}

// Kind is what a fileCall does.
type Kind int

const (
	Open Kind = iota
	Creat
	Openat2
	Truncate
	Mkdir
	Rmdir
	Unlink
	Rename
	Link
	Symlink
	Mknod
)

// Files are those that the filter asks about for Ask, beside metadataCalls; a
// test holds the lists together.
var Files = append(oldFileCalls, []File{
	{unix.SYS_OPENAT, "openat", Open, 0, 1, None, None, 2},
	{unix.SYS_OPENAT2, "openat2", Openat2, 0, 1, None, None, 2},
	{unix.SYS_TRUNCATE, "truncate", Truncate, None, 0, None, None, 1},
	{unix.SYS_MKDIRAT, "mkdirat", Mkdir, 0, 1, None, None, 2},
	{unix.SYS_UNLINKAT, "unlinkat", Unlink, 0, 1, None, None, 2},
	{unix.SYS_RENAMEAT, "renameat", Rename, 0, 1, 2, 3, None},
	{unix.SYS_RENAMEAT2, "renameat2", Rename, 0, 1, 2, 3, 4},
	{unix.SYS_LINKAT, "linkat", Link, 0, 1, 2, 3, 4},
	{unix.SYS_SYMLINKAT, "symlinkat", Symlink, None, 0, 1, 2, None},
	{unix.SYS_MKNODAT, "mknodat", Mknod, 0, 1, None, None, 2},
}...)

// FileOf is the call with that number, or nil.
func FileOf(nr int32) *File {
	return find(Files, func(c *File) bool { return c.NR == int(nr) })
}

// First and second are the files as the call names them.
func (c *File) First(n *notify.Notification) (pathwalk.Name, error) {
	return nameAt(n, c.Dir, c.Path)
}
func (c *File) Second(n *notify.Notification) (pathwalk.Name, error) {
	return nameAt(n, c.Dir2, c.Path2)
}

// Flags is the argument arg, 0 for a call that has none.
func (c *File) Flags(n *notify.Notification) uint32 {
	if c.Arg == None {
		return 0
	}
	return uint32(n.Args[c.Arg])
}

func nameAt(n *notify.Notification, dir, path int) (m pathwalk.Name, err error) {
	m.Dir = unix.AT_FDCWD
	if dir != None {
		m.Dir = int32(n.Args[dir])
	}
	m.Path, err = notify.ReadString(int(n.TID), n.Args[path], kernel.MaxPath, unix.ENAMETOOLONG)
	return m, err
}
