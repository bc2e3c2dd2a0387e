//go:build linux

package broker

import (
	"strconv"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// Programs that unpack an archive make a file and then set its owner, times and mode by
// descriptor. Finding the policy path of that file for each call takes longer than the calls
// themselves. So the broker remembers the last file that it made.
//
// This is safe. The policy let the command make the file, gave it a descriptor open for
// writing, and allows all changes at that place. The file is recognised by its inode, not
// by a name: the broker keeps it open, so that the number is not reused. A call that names
// the file by path is judged by that path. Whoever moves the file to a protected place
// later puts a file there that the command can write anyway.

// freshFile is that file.
type freshFile struct {
	held bool
	fd   int // opened with O_PATH, so that it holds nothing open for writing
	id   kernel.FileID
	path string // when it was made
}

// take remembers the new file that is open as fd.
func (f *freshFile) take(fd int, path string) {
	f.drop()
	ref, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	var st unix.Stat_t
	if err := unix.Fstat(ref, &st); err != nil {
		unix.Close(ref)
		return
	}
	*f = freshFile{held: true, fd: ref, id: kernel.IDOf(&st), path: path}
}

func (f *freshFile) is(st *unix.Stat_t) bool { return f.held && f.id == kernel.IDOf(st) }

// removed drops the file when one of its names is removed, so that its space can be freed.
func (f *freshFile) removed(st *unix.Stat_t) {
	if f.is(st) {
		f.drop()
	}
}

func (f *freshFile) drop() {
	if f.held {
		unix.Close(f.fd)
		f.held = false
	}
}
