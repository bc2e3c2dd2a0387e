//go:build linux

package broker

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Programs that unpack make a file and then set its owner, times and mode by the
// descriptor. To name that file to the policy anew for each of these takes longer
// than to do them, so the broker knows the last file that it made itself.
//
// The policy let the command make it and gave it a descriptor to write it by, in a
// place where all of it may change. It is known by itself and not by a name: the
// broker keeps it open, so that no other file gets its number, and what has
// another way to it, a name, is judged by that name. Whoever puts it in a
// protected place later puts a file there that the command can write.

// freshFile is that file.
type freshFile struct {
	held bool
	fd   int // a reference (O_PATH), by which nothing is held open for writing
	id   fileID
}

// take remembers the file that was just made and is open as fd.
func (f *freshFile) take(fd int) {
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
	*f = freshFile{held: true, fd: ref, id: fileID{st.Dev, st.Ino}}
}

func (f *freshFile) is(st *unix.Stat_t) bool { return f.held && f.id == fileID{st.Dev, st.Ino} }

// removed lets go of a file that has a name less, for its space's sake.
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
