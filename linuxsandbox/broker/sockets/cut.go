//go:build linux

package sockets

import (
	"errors"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// This closes connections after a revocation. Connections to hosts go through the relay, which
// resets them. A connection to a path socket belongs to the command. The broker remembers the
// socket's cookie, finds it among the descriptors of the command's processes, and shuts it down for
// all of them.

// maxGranted limits the remembered connections to granted sockets.
const maxGranted = 1024

// grantedConnection is a connection to a granted socket or host.
type grantedConnection struct {
	cookie, inode uint64
	path          string
	to            netip.AddrPort
}

// noteGranted remembers the socket that is about to be connected to a granted path.
func (s *Sockets) noteGranted(sock int, path string) { s.note(sock, grantedConnection{path: path}) }

// noteHost remembers the socket of codeagent's own network that is about to be connected to a host.
func (s *Sockets) noteHost(sock int, to netip.AddrPort) { s.note(sock, grantedConnection{to: to}) }

func (s *Sockets) note(sock int, g grantedConnection) {
	cookie, err := unix.GetsockoptUint64(sock, unix.SOL_SOCKET, unix.SO_COOKIE)
	var st unix.Stat_t
	if err != nil || unix.Fstat(sock, &st) != nil || len(s.granted) >= maxGranted {
		s.forgot = true
		return
	}
	g.cookie, g.inode = cookie, st.Ino
	s.granted = append(s.granted, g)
}

// CutHosts ends the connections to hosts that the policy no longer allows, including unfinished
// ones. It returns their number. all is false if some may remain. descriptors lists those of the command.
func (s *Sockets) CutHosts(descriptors func() ([]Descriptor, bool)) (cut int, all bool) {
	carried := s.client.Cut(s.Policy)
	if !s.AskInet {
		return carried, true
	}
	list, listed := descriptors()
	cut, all = s.cut(list, func(g grantedConnection) bool { return g.to.IsValid() && !s.Network.MayReach(s.Policy, g.to) })
	return carried + cut, all && listed
}

// Descriptor is a descriptor of a process.
type Descriptor struct {
	PID    int
	Number int32
}

// CutPaths shuts down those of the descriptors that are connected to the sockets at paths. all is
// false if some may remain.
func (s *Sockets) CutPaths(paths []string, descriptors []Descriptor) (cut int, all bool) {
	return s.cut(descriptors, func(g grantedConnection) bool { return slices.Contains(paths, g.path) })
}

// cut shuts down those of the descriptors that are the connections which no longer may be.
func (s *Sockets) cut(descriptors []Descriptor, no func(grantedConnection) bool) (cut int, all bool) {
	s.revocations.Add(1)
	gone := map[uint64]uint64{} // inodes by cookie
	s.granted = slices.DeleteFunc(s.granted, func(g grantedConnection) bool {
		if no(g) {
			gone[g.cookie] = g.inode
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
		if _, is := gone[cookie]; err == nil && is {
			delete(gone, cookie) // other descriptors of the same connection need nothing
			_ = unix.Shutdown(fd, unix.SHUT_RDWR)
			cut++
		}
		unix.Close(fd)
	}
	return cut, all && !live(slices.Collect(maps.Values(gone)))
}

// live reports whether codeagent's network has one of the sockets of IP, by their inode numbers. A command can
// hide one in a message that nobody has received.
func live(inodes []uint64) bool {
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		if len(inodes) == 0 {
			break
		}
		text, err := os.ReadFile("/proc/self/net/" + table)
		if errors.Is(err, os.ErrNotExist) {
			continue // this kernel has no IPv6
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) > 9 && slices.ContainsFunc(inodes, func(i uint64) bool { return fields[9] == strconv.FormatUint(i, 10) }) {
				return true
			}
		}
		if err != nil {
			return true
		}
	}
	return false
}
