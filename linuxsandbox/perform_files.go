//go:build linux

package linuxsandbox

import (
	"golang.org/x/sys/unix"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
)

// fileCall says where a call that opens, makes or removes files keeps what.
type fileCall struct {
	nr   int
	name string
	kind fileKind
	// dir, path, dir2, path2 and arg are argument numbers, none when -1. Without
	// a dir a path starts at the working directory. arg is the first of flags,
	// mode or size.
	dir, path, dir2, path2, arg int
}

// fileKind is what a fileCall does.
type fileKind int

const (
	kindOpen fileKind = iota
	kindCreat
	kindOpenat2
	kindTruncate
	kindMkdir
	kindRmdir
	kindUnlink
	kindRename
	kindLink
	kindSymlink
	kindMknod
)

// fileCalls, with oldFileCalls, are the calls that the filter asks about for Ask,
// beside metadataCalls; the tests hold the lists together.
var fileCalls = []fileCall{
	{unix.SYS_OPENAT, "openat", kindOpen, 0, 1, none, none, 2},
	{unix.SYS_OPENAT2, "openat2", kindOpenat2, 0, 1, none, none, 2},
	{unix.SYS_TRUNCATE, "truncate", kindTruncate, none, 0, none, none, 1},
	{unix.SYS_MKDIRAT, "mkdirat", kindMkdir, 0, 1, none, none, 2},
	{unix.SYS_UNLINKAT, "unlinkat", kindUnlink, 0, 1, none, none, 2},
	{unix.SYS_RENAMEAT, "renameat", kindRename, 0, 1, 2, 3, none},
	{unix.SYS_RENAMEAT2, "renameat2", kindRename, 0, 1, 2, 3, 4},
	{unix.SYS_LINKAT, "linkat", kindLink, 0, 1, 2, 3, 4},
	{unix.SYS_SYMLINKAT, "symlinkat", kindSymlink, none, 0, 1, 2, none},
	{unix.SYS_MKNODAT, "mknodat", kindMknod, 0, 1, none, none, 2},
}

// fileCallOf is the call with that number, or nil.
func fileCallOf(nr int32) *fileCall {
	for _, list := range [][]fileCall{fileCalls, oldFileCalls} {
		for i := range list {
			if list[i].nr == int(nr) {
				return &list[i]
			}
		}
	}
	return nil
}

// fileChanges answers calls that open, make or remove files.
type fileChanges struct {
	opens   opens
	moves   moves
	entries entries
	session *brokerSession
}

// change answers one of them.
func (h *fileChanges) change(n *notify.Notification, c *fileCall) notify.Reply {
	if j := h.opens.judge; !j.protection.any() && !j.log.sees() {
		return h.opens.rules.Proceed(notify.ByLandlock) // no root is brokered
	}
	h.session.mu.Lock()
	defer h.session.mu.Unlock()
	switch c.kind {
	case kindOpen, kindCreat, kindOpenat2:
		return h.opens.openFile(n, c)
	case kindTruncate:
		return h.opens.truncate(n, c)
	case kindRename:
		return h.moves.rename(n, c)
	case kindLink:
		return h.moves.link(n, c)
	}
	return h.entries.entry(n, c)
}

// first and second are the files as the call names them.
func (c *fileCall) first(n *notify.Notification) (pathwalk.Name, error) {
	return nameAt(n, c.dir, c.path)
}
func (c *fileCall) second(n *notify.Notification) (pathwalk.Name, error) {
	return nameAt(n, c.dir2, c.path2)
}

// flags is the argument arg, 0 for a call that has none.
func (c *fileCall) flags(n *notify.Notification) uint32 {
	if c.arg == none {
		return 0
	}
	return uint32(n.Args[c.arg])
}

func nameAt(n *notify.Notification, dir, path int) (m pathwalk.Name, err error) {
	m.Dir = unix.AT_FDCWD
	if dir != none {
		m.Dir = int32(n.Args[dir])
	}
	m.Path, err = notify.ReadString(int(n.TID), n.Args[path], kernel.MaxPath, unix.ENAMETOOLONG)
	return m, err
}
