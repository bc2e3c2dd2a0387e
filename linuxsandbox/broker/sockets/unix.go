//go:build linux

package sockets

import (
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A command reaches a path socket only if a command of this session bound it or the policy
// names it. Threat: key agents, container engines, message buses and displays listen on the
// others, and act for every program that connects.

// maxSocketPath is the longest path in bytes, without the NUL.
const maxSocketPath = unix.SizeofSockaddrUnix - 3

// unixAddress returns a struct sockaddr_un with that path.
func unixAddress(path string) []byte {
	addr := make([]byte, 2, 2+len(path)+1)
	*(*uint16)(unsafe.Pointer(&addr[0])) = unix.AF_UNIX
	return append(append(addr, path...), 0)
}

// unixCall answers a call on an AF_UNIX socket.
func (s *Sockets) unixCall(k *socketCall) notify.Reply {
	kind, err := unix.GetsockoptInt(k.sock, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	if kind != unix.SOCK_STREAM && kind != unix.SOCK_SEQPACKET {
		// The command was started with a datagram socket: each of its messages could carry
		// an address.
		return s.refuseSocket(k, sandbox.KindSyscall, k.name)
	}
	const most = unix.SizeofSockaddrUnix
	addr := k.addr
	if len(addr) < 2 || len(addr) > most || *(*uint16)(unsafe.Pointer(&addr[0])) != unix.AF_UNIX {
		return notify.Failed(unix.EINVAL)
	}
	if len(addr) == 2 && !k.bind {
		return notify.Failed(unix.EINVAL)
	}
	if len(addr) == 2 || addr[2] == 0 {
		return s.abstractCall(k)
	}
	path := unix.ByteSliceToString(addr[2:])
	if k.bind {
		return s.MakeFile(k.Notification, path, func(at pathwalk.Spot, mask, own uint32) unix.Errno { return s.bindAt(k.sock, at, mask, own) })
	}
	return s.connectPath(k, path)
}

// abstractCall answers a call with an abstract name. Such a name belongs to the socket's
// network namespace. In the shared network all names belong to the session's commands. In
// the host's network, displays and message buses have some. Landlock's scope confines the
// command's calls but not the broker's, so the broker denies these.
func (s *Sockets) abstractCall(k *socketCall) notify.Reply {
	if s.HostNet == 0 || inNetwork(k.sock, s.HostNet) {
		return s.refuseSocket(k, sandbox.KindSocket, "@"+strings.ToValidUTF8(string(k.addr[min(3, len(k.addr)):]), "?"))
	}
	return s.bindOrConnect(k)
}

// bindAt makes a socket's file. mask is the umask of the command, own that of codeagent. It binds to a single name in an open folder, so that no
// part of the path can be exchanged.
//
// The file's mode results from the socket's mode and the umask of codeagent. A thread
// cannot change its own umask alone everywhere, since containers deny unshare. So bindAt
// narrows the socket's mode for the call, and sets the file's mode right after.
func (s *Sockets) bindAt(sock int, at pathwalk.Spot, mask, own uint32) unix.Errno {
	inner := "/proc/self/fd/" + strconv.Itoa(at.Dir) + "/" + at.Last
	if len(inner) > maxSocketPath {
		return unix.ENAMETOOLONG
	}
	var st unix.Stat_t
	if err := unix.Fstat(sock, &st); err != nil {
		return kernel.ErrnoOf(err)
	}
	mode := st.Mode & 0o777 &^ mask
	_ = unix.Fchmod(sock, mode)
	errno := netns.AddressCall(unix.SYS_BIND, sock, unixAddress(inner))
	_ = unix.Fchmod(sock, st.Mode&0o7777)
	if errno != 0 {
		return errno
	}
	file, err := boundFile(sock, at.Dir, at.Last)
	if err != nil {
		return 0 // the file is not certain, so it is not remembered and cannot be reached
	}
	if mode&own != 0 {
		_ = unix.Fchmodat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(file), mode, 0)
	}
	s.Records.remember(file, sock, at.Asked, inner)
	return 0
}

// connectPath connects to the socket at path, if the command may reach it.
func (s *Sockets) connectPath(k *socketCall, path string) notify.Reply {
	file, err := s.Walk.Open(k.Notification, pathwalk.Name{Dir: unix.AT_FDCWD, Path: path})
	if err == unix.ENOENT && slices.Contains(s.Policy.Sockets, path) {
		// A granted socket of the host's, hidden by a mount of the command's own.
		file, err = kernel.OpenPath(path)
	}
	if err != nil {
		return notify.Failed(s.Unread(k.Notification, k.name, sandbox.KindSocket, err))
	}
	defer unix.Close(file)
	var st unix.Stat_t
	if err := unix.Fstat(file, &st); err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	if !k.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	link := "/proc/self/fd/" + strconv.Itoa(file)
	if unix.Access(link, unix.W_OK) == unix.EACCES {
		return notify.Failed(unix.EACCES) // as without a sandbox
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return notify.Failed(unix.ECONNREFUSED)
	}
	target := s.Walk.PolicyPath(file)
	reachable := s.Records.has(&st) || slices.Contains(s.Policy.Sockets, target)
	if judged := s.Policy.JudgeRead(target); !reachable || !judged.Allowed {
		kind := sandbox.KindSocket
		if reachable {
			kind = judged.Kind
		}
		return s.Refuse(k.Notification, Refusal{Call: k.name, Denial: sandbox.Denial{Kind: kind, Target: target}, Errno: unix.EPERM, File: file, Asked: path})
	}
	// Connect to the open file itself, whatever its name is by now.
	held, err := kernel.DupAbove(file, kernel.LowestFD)
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	if !s.Records.has(&st) {
		s.noteGranted(k.sock, target)
	}
	return s.connect(k, unixAddress("/proc/self/fd/"+strconv.Itoa(held)), held)
}
