//go:build linux

package broker

import (
	"path/filepath"
	"strings"

	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A grant is for what the person was shown: the file that stood under that name
// then. The broker keeps it open meanwhile, so that no other gets its number, and
// looks at the name again before anything is granted.

// identity says which file is meant: one that is there, or with a name an entry
// of that folder which is not.
type identity struct {
	fileID
	absent string
}

// identity looks at what p refers to.
func (p pin) identity() (identity, error) {
	var st unix.Stat_t
	err := unix.Fstatat(p.fd, p.name, &st, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW)
	if err == nil {
		return identity{fileID: fileID{st.Dev, st.Ino}}, nil
	}
	if err == unix.ENOENT && p.name != "" {
		err = unix.Fstat(p.fd, &st)
		return identity{fileID{st.Dev, st.Ino}, p.name}, err
	}
	return identity{}, err
}

// shownFile is a file, or a name without one, that a question is about.
type shownFile struct {
	key heldKey
	fd  int // the file, or the folder of the name
	is  identity
}

// showFile opens what a question is about on the host, nil when that can be
// nothing to grant: a device, a pipe or a file of the kernel's does what its name
// says nothing about.
func showFile(k heldKey) *shownFile {
	s, path := &shownFile{key: k}, k.target
	var err error
	if s.fd, err = pathwalk.OpenHost(path); err == nil {
		if s.is, err = (pin{fd: s.fd}).identity(); err == nil && plainFile(s.fd, k.kind == sandbox.KindSocket) {
			return s
		}
		unix.Close(s.fd)
		return nil
	}
	if err != unix.ENOENT || strings.HasSuffix(path, " (deleted)") {
		return nil // a file that has lost its name cannot be told from a name
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

// stands reports whether the same file stands under the name, or still none. What
// is about no file stands always.
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

// plainFile reports a file, folder or link that is just that; or a socket.
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
