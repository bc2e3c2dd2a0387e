//go:build linux

package sockets

import (
	"slices"

	"golang.org/x/sys/unix"
)

// This closes connections after a revocation. Connections to hosts go through the relay, which
// resets them. A connection to a path socket belongs to the command. The broker remembers the
// socket's cookie, finds it among the descriptors of the command's processes, and shuts it down for
// all of them.

// maxGranted limits the remembered connections to granted sockets.
const maxGranted = 1024

// grantedConnection is a connection to a granted socket.
type grantedConnection struct {
	cookie uint64
	path   string
}

// noteGranted remembers the socket that is about to be connected to a granted path.
func (s *Sockets) noteGranted(sock int, path string) {
	cookie, err := unix.GetsockoptUint64(sock, unix.SOL_SOCKET, unix.SO_COOKIE)
	if err != nil || len(s.granted) >= maxGranted {
		s.forgot = true
		return
	}
	s.granted = append(s.granted, grantedConnection{cookie, path})
}

// CutHosts ends the connections to hosts that the policy no longer allows, including unfinished
// ones. It returns their number.
func (s *Sockets) CutHosts() int { return s.client.Cut(s.Policy) }

// Descriptor is a descriptor of a process.
type Descriptor struct {
	PID    int
	Number int32
}

// CutPaths shuts down those of the descriptors that are connected to the sockets at paths. all is
// false if some may remain.
func (s *Sockets) CutPaths(paths []string, descriptors []Descriptor) (cut int, all bool) {
	s.revocations.Add(1)
	gone := map[uint64]bool{}
	s.granted = slices.DeleteFunc(s.granted, func(g grantedConnection) bool {
		if slices.Contains(paths, g.path) {
			gone[g.cookie] = true
			return true
		}
		return false
	})
	if len(gone) == 0 || s.Taking != TakesCopies {
		return 0, len(gone) == 0 && !s.forgot
	}
	all = !s.forgot
	for _, d := range descriptors {
		if len(gone) == 0 {
			break
		}
		if _, err := socketInode(d.PID, d.Number); err != nil {
			continue
		}
		fd, err := TakeFD(d.PID, d.Number)
		if err != nil {
			all = false
			continue
		}
		cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE)
		if err == nil && gone[cookie] {
			delete(gone, cookie) // other descriptors of the same connection need nothing
			_ = unix.Shutdown(fd, unix.SHUT_RDWR)
			cut++
		}
		unix.Close(fd)
	}
	return cut, all
}
