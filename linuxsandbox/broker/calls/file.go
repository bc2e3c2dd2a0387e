//go:build linux

// Package calls has the tables of the system calls that the broker answers: which arguments
// name a file, and what a call changes. It reads the memory of the calling thread and
// changes the metadata of a file that was opened and judged; it opens nothing. Start with
// the tables, Files and MetadataChanges.
package calls

import (
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// File is the argument layout of a call that opens, makes, removes or probes files.
type File struct {
	NR   int
	Name string
	Kind Kind
	// Dir, Path, Dir2, Path2 and Arg are argument numbers, or None. Without a Dir a
	// path starts at the working directory. Arg is the first of flags, mode or size.
	Dir, Path, Dir2, Path2, Arg int
}

// Kind is the kind of a File call.
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
	Access
	LookUp
	Execute
)

// Files are the calls that the filter asks about with Ask, beside MetadataChanges. A test
// compares the lists.
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
	{unix.SYS_FACCESSAT, "faccessat", Access, 0, 1, None, None, 2},
	{unix.SYS_FACCESSAT2, "faccessat2", Access, 0, 1, None, None, 2},
}...)

// Lookups are the further calls that the filter asks about with AskLooks. A test compares the lists.
var Lookups = append(oldLookups, []File{
	lookup(unix.SYS_NEWFSTATAT, "newfstatat", 0, 1), lookup(unix.SYS_STATX, "statx", 0, 1), lookup(unix.SYS_STATFS, "statfs", None, 0),
	lookup(unix.SYS_READLINKAT, "readlinkat", 0, 1), lookup(unix.SYS_CHDIR, "chdir", None, 0), lookup(unix.SYS_INOTIFY_ADD_WATCH, "inotify_add_watch", None, 1),
	lookup(unix.SYS_GETXATTR, "getxattr", None, 0), lookup(unix.SYS_LGETXATTR, "lgetxattr", None, 0), lookup(unix.SYS_GETXATTRAT, "getxattrat", 0, 1),
	lookup(unix.SYS_LISTXATTR, "listxattr", None, 0), lookup(unix.SYS_LLISTXATTR, "llistxattr", None, 0), lookup(unix.SYS_LISTXATTRAT, "listxattrat", 0, 1),
	{unix.SYS_EXECVE, "execve", Execute, None, 0, None, None, None}, {unix.SYS_EXECVEAT, "execveat", Execute, 0, 1, None, None, None},
}...)

func lookup(nr int, name string, dir, path int) File {
	return File{nr, name, LookUp, dir, path, None, None, None}
}

// LookupOf returns the one with that number, or nil.
func LookupOf(nr int32) *File {
	return find(Lookups, func(c *File) bool { return c.NR == int(nr) })
}

// FileOf returns the call with that number, or nil.
func FileOf(nr int32) *File {
	return find(Files, func(c *File) bool { return c.NR == int(nr) })
}

// First returns the first file as the call names it.
func (c *File) First(n *notify.Notification) (pathwalk.Name, error) {
	return nameAt(n, c.Dir, c.Path)
}

// Second returns the second file as the call names it.
func (c *File) Second(n *notify.Notification) (pathwalk.Name, error) {
	return nameAt(n, c.Dir2, c.Path2)
}

// Flags returns the argument Arg, 0 for a call without one.
func (c *File) Flags(n *notify.Notification) uint32 {
	if c.Arg == None {
		return 0
	}
	return uint32(n.Args[c.Arg])
}

// Effect returns the most that the call can do in the kernel. It goes by registers alone: memory may change.
func (c *File) Effect(n *notify.Notification) notify.Effect {
	flags := c.Flags(n)
	way := flags & unix.O_ACCMODE
	switch {
	case c.Kind == Access, c.Kind == Open && (flags&unix.O_PATH != 0 || way == unix.O_RDONLY && flags&(unix.O_CREAT|unix.O_TRUNC|Tmpfile) == 0):
		return notify.Reads
	case c.Kind == Truncate, c.Kind == Openat2, c.Kind == Open && flags&unix.O_TRUNC != 0 && way != unix.O_WRONLY && way != unix.O_RDWR:
		return notify.Empties
	}
	return notify.Changes
}

func nameAt(n *notify.Notification, dir, path int) (m pathwalk.Name, err error) {
	m.Dir = unix.AT_FDCWD
	if dir != None {
		m.Dir = int32(n.Args[dir])
	}
	m.Path, err = notify.ReadString(int(n.TID), n.Args[path], kernel.MaxPath, unix.ENAMETOOLONG)
	return m, err
}

// Tmpfile is the bit of O_TMPFILE that is not O_DIRECTORY.
const Tmpfile = 0o20000000
