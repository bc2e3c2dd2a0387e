//go:build linux

package broker

import (
	"path/filepath"
	"strings"

	"codeagent/linuxsandbox/broker/judge"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Threat: the command replaces a file while a person reads the question about it. So a
// grant is for the file that was at the path when the question was shown. The broker keeps
// that file open, so that its inode number is not reused, and checks the path again before
// it grants anything.

// identity identifies a file by device and inode. With absent set, it means a missing entry
// of that name in the folder.
type identity struct {
	kernel.FileID
	absent string
}

// identity returns the identity of what p refers to.
func (p pin) identity() (identity, error) {
	var st unix.Stat_t
	err := unix.Fstatat(p.fd, p.name, &st, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW)
	if err == nil {
		return identity{FileID: kernel.IDOf(&st)}, nil
	}
	if err == unix.ENOENT && p.name != "" {
		err = unix.Fstat(p.fd, &st)
		return identity{kernel.IDOf(&st), p.name}, err
	}
	return identity{}, err
}

// shownFile is the file, or the missing name, that a question is about.
type shownFile struct {
	key judge.Request
	fd  int // the file, or the folder of a missing name
	is  identity
}

// showFile opens the target of a question on the host. It returns nil if the target cannot
// be granted: the name of a device, a pipe or a file of a kernel file system does not show
// what a write to it does.
func showFile(k judge.Request) *shownFile {
	s, path := &shownFile{key: k}, k.Target
	var err error
	if s.fd, err = pathwalk.OpenHost(path); err == nil {
		if s.is, err = (pin{fd: s.fd}).identity(); err == nil && plainFile(s.fd, k.Kind == sandbox.KindSocket) {
			return s
		}
		unix.Close(s.fd)
		return nil
	}
	if err != unix.ENOENT || strings.HasSuffix(path, " (deleted)") {
		return nil // a deleted file looks like a name that ends in " (deleted)"
	}
	if s.fd, err = pathwalk.OpenHost(filepath.Dir(path)); err != nil {
		return nil
	}
	s.is, err = pin{fd: s.fd, name: filepath.Base(path)}.identity()
	if err != nil || s.is.absent == "" || !plainFile(s.fd, false) {
		unix.Close(s.fd)
		return nil
	}
	return s
}

// stands reports whether the path still leads to the same file, or still to none. It is
// true for a question that is about no file.
func (s *shownFile) stands() bool {
	if s == nil {
		return true
	}
	now := showFile(s.key)
	if now == nil {
		return false
	}
	defer now.close()
	return now.is == s.is
}

func (s *shownFile) close() {
	if s != nil {
		unix.Close(s.fd)
	}
}

// plainFile reports whether fd is a regular file, folder or symbolic link, or with socket
// set a socket, and not on a kernel file system.
func plainFile(fd int, socket bool) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || kernelFile(fd) {
		return false
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG, unix.S_IFDIR, unix.S_IFLNK:
		return !socket
	case unix.S_IFSOCK:
		return socket
	}
	return false
}
