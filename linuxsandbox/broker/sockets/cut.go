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

// maxGranted limits the remembered connections to granted sockets and hosts. Those that have ended make room.
const maxGranted = 1 << 12

// grantedConnection is a connection to a granted socket or host.
type grantedConnection struct {
	cookie, inode uint64
	path          string
	to            netip.AddrPort
}

// noteGranted remembers the socket that is about to be connected to a granted path.
func (s *Sockets) noteGranted(k *socketCall, path string) { s.note(k, grantedConnection{path: path}) }

// noteHost remembers the socket of codeagent's own network that is about to be connected to a host.
func (s *Sockets) noteHost(k *socketCall, to netip.AddrPort) { s.note(k, grantedConnection{to: to}) }

func (s *Sockets) note(k *socketCall, g grantedConnection) {
	if len(s.granted) >= maxGranted {
		if open, listed := inodesOf(k.Thread()); listed {
			s.granted = slices.DeleteFunc(s.granted, func(g grantedConnection) bool { return !open[g.inode] })
		}
	}
	cookie, err := unix.GetsockoptUint64(k.sock, unix.SOL_SOCKET, unix.SO_COOKIE)
	var st unix.Stat_t
	if err != nil || unix.Fstat(k.sock, &st) != nil || len(s.granted) >= maxGranted {
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
			// Threat: a datagram that a send or a splice began (MSG_MORE) takes more data and leaves later. No send works
			// after the shutdown, and the kernel drops what was begun when one fails.
			_ = unix.Send(fd, make([]byte, maxDatagram), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
			cut++
		}
		unix.Close(fd)
	}
	if len(gone) == 0 {
		return cut, all
	}
	open, listed := inodesOf(os.Getpid())
	return cut, all && listed && !slices.ContainsFunc(slices.Collect(maps.Values(gone)), func(i uint64) bool { return open[i] })
}

// inodesOf are the inode numbers of the sockets in the network of a thread. A command can hide one in a message
// that nobody has received. It reports false if the kernel does not list them.
func inodesOf(tid int) (open map[uint64]bool, listed bool) {
	open = map[uint64]bool{}
	for table, column := range map[string]int{"tcp": 9, "tcp6": 9, "udp": 9, "udp6": 9, "unix": 6} {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/net/" + table)
		if errors.Is(err, os.ErrNotExist) && strings.HasSuffix(table, "6") {
			continue // this kernel has no IPv6
		}
		if err != nil {
			return nil, false
		}
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) > column {
				inode, _ := strconv.ParseUint(fields[column], 10, 64)
				open[inode] = true
			}
		}
	}
	return open, true
}
