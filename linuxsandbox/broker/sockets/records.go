//go:build linux

package sockets

import (
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// maxBoundSockets bounds the remembered socket files of a session. Each one holds a
// descriptor.
const maxBoundSockets = 1024

// Records are the path sockets that the commands of a session have bound. The commands
// reach any other path socket only with a grant.
type Records struct {
	mu     sync.Mutex
	list   []boundSocket
	closed bool
}

// boundSocket is a socket and the file that it is bound to.
type boundSocket struct {
	// file refers to the socket's file (O_PATH), so that its inode number is not
	// reused.
	file     int
	dev, ino uint64
	// cookie is the socket's SO_COOKIE, which is never reused.
	cookie uint64
	// called is the address that the command bound it to, inner the address in the
	// kernel.
	called, inner string
}

// Full forgets the files that have no name left, to which nobody can connect. It reports
// whether there is no room for another one.
func (r *Records) Full() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(s boundSocket) bool {
		var st unix.Stat_t
		gone := unix.Fstat(s.file, &st) != nil || st.Nlink == 0
		if gone {
			unix.Close(s.file)
		}
		return gone
	})
	return r.closed || len(r.list) >= maxBoundSockets
}

// slashes are so many slashes that no other remembered socket has the address folder/name in the kernel: a
// receiver answers to it. Descriptors of folders get the same numbers again and again.
func (r *Records) slashes(folder, name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := "/"
	for len(folder+out+name) < maxSocketPath && slices.ContainsFunc(r.list, func(s boundSocket) bool { return s.inner == folder+out+name }) {
		out += "/"
	}
	return out
}

// remember takes ownership of file, which sock is bound to.
func (r *Records) remember(file, sock int, called, inner string) {
	s := boundSocket{file: file, called: called, inner: inner}
	var st unix.Stat_t
	err := unix.Fstat(file, &st)
	if err == nil {
		s.dev, s.ino = st.Dev, st.Ino
		s.cookie, err = unix.GetsockoptUint64(sock, unix.SOL_SOCKET, unix.SO_COOKIE)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || r.closed {
		unix.Close(file)
		return
	}
	r.list = append(r.list, s)
}

// has reports whether st is the file of a remembered socket.
func (r *Records) has(st *unix.Stat_t) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.list, func(s boundSocket) bool { return s.dev == st.Dev && s.ino == st.Ino })
}

// calledBy returns the address that the command knows a socket by, if the kernel has
// another one. An accepted connection has a cookie of its own and the address of its
// listening socket. Its address is found only if one remembered socket has it.
func (r *Records) calledBy(cookie uint64, inner string) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, count := "", 0
	for _, s := range r.list {
		if s.inner != inner {
			continue
		}
		if s.cookie == cookie {
			return s.called, s.called != inner
		}
		found, count = s.called, count+1
	}
	return found, count == 1 && found != inner
}

// open opens the file of the socket whose address in the kernel is inner, as a receiver learns it. It fails with
// ENOENT unless one remembered socket has it.
func (r *Records) open(inner string) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	file := -1
	for _, s := range r.list {
		if s.inner == inner {
			if file >= 0 {
				return -1, unix.ENOENT
			}
			file = s.file
		}
	}
	if file < 0 {
		return -1, unix.ENOENT
	}
	return unix.FcntlInt(uintptr(file), unix.F_DUPFD_CLOEXEC, 0)
}

// Close forgets all sockets and accepts no more.
func (r *Records) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.list {
		unix.Close(s.file)
	}
	r.list, r.closed = nil, true
}
