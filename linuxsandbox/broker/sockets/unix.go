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

// unixName returns the name in a struct sockaddr_un, of an abstract one without the NUL in front.
func unixName(addr []byte) (name string, abstract bool, errno unix.Errno) {
	switch {
	case len(addr) <= 2 || len(addr) > unix.SizeofSockaddrUnix || *(*uint16)(unsafe.Pointer(&addr[0])) != unix.AF_UNIX:
		return "", false, unix.EINVAL
	case addr[2] == 0:
		return string(addr[3:]), true, 0
	}
	return unix.ByteSliceToString(addr[2:]), false, 0
}

// unixCall answers a call on an AF_UNIX socket.
func (s *Sockets) unixCall(k *socketCall) notify.Reply {
	kind, err := unix.GetsockoptInt(k.sock, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	datagrams := kind != unix.SOCK_STREAM && kind != unix.SOCK_SEQPACKET
	if datagrams && !s.Datagrams {
		// The command was started with such a socket: each of its messages could carry an address.
		return s.refuseSocket(k.Notification, k.name, sandbox.KindSyscall, k.name)
	}
	if len(k.addr) >= 2 && len(k.addr) <= unix.SizeofSockaddrUnix {
		switch family := *(*uint16)(unsafe.Pointer(&k.addr[0])); {
		case family == unix.AF_UNSPEC && datagrams && !k.bind:
			return s.connect(k, k.addr[:2]) // disconnects the socket
		case family == unix.AF_UNIX && len(k.addr) == 2 && k.bind:
			return s.abstractCall(k, "") // the kernel chooses a name
		}
	}
	name, abstract, errno := unixName(k.addr)
	switch {
	case errno != 0:
		return notify.Failed(errno)
	case abstract:
		return s.abstractCall(k, name)
	case k.bind:
		return s.MakeFile(k.Notification, name, func(at pathwalk.Spot, mask, own uint32) unix.Errno { return s.bindAt(k.sock, at, mask, own) })
	}
	return s.connectPath(k, name)
}

// abstractCall answers a call with an abstract name.
func (s *Sockets) abstractCall(k *socketCall, name string) notify.Reply {
	if s.sharesNames(k.sock) {
		return s.refuseSocket(k.Notification, k.name, sandbox.KindSocket, shownName(name))
	}
	return s.bindOrConnect(k)
}

// sharesNames reports whether the host's programs have the same abstract names as the socket. Such a name
// belongs to the socket's network namespace. In the shared network all names belong to the session's commands.
// In the host's network, displays and message buses have some. Landlock's scope confines the command's calls but
// not the broker's, so the broker denies these.
func (s *Sockets) sharesNames(sock int) bool { return s.HostNet == 0 || inNetwork(sock, s.HostNet) }

// shownName is how a denial shows an abstract name.
func shownName(name string) string { return "@" + strings.ToValidUTF8(name, "?") }

// descriptorPath leads to the open file itself, whatever its name is by now.
func descriptorPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// bindAt makes a socket's file. mask is the umask of the command, own that of codeagent. It binds to a single name in an open folder, so that no
// part of the path can be exchanged.
//
// The file's mode results from the socket's mode and the umask of codeagent. A thread
// cannot change its own umask alone everywhere, since containers deny unshare. So bindAt
// narrows the socket's mode for the call, and sets the file's mode right after.
func (s *Sockets) bindAt(sock int, at pathwalk.Spot, mask, own uint32) unix.Errno {
	inner := descriptorPath(at.Dir) + s.Records.slashes(descriptorPath(at.Dir), at.Last) + at.Last
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
	file, granted, deny := s.reach(k.Notification, k.name, path)
	if deny != nil {
		a := deny()
		unix.Close(file)
		return a
	}
	if granted != "" {
		s.noteGranted(k, granted)
	}
	return s.connect(k, unixAddress(descriptorPath(file)), file)
}

// reach opens the socket at path. The caller closes file, which may be -1. If the command may not reach it, deny
// answers the call before that. granted is the path by which the policy names it, "" for a socket of the session.
func (s *Sockets) reach(n *notify.Notification, call, path string) (file int, granted string, deny func() notify.Reply) {
	opened, err := s.Walk.Open(n, pathwalk.Name{Dir: unix.AT_FDCWD, Path: path})
	if err == unix.ENOENT && slices.Contains(s.Policy.Sockets, path) {
		// A granted socket of the host's, hidden by a mount of the command's own.
		opened, err = kernel.OpenPath(path)
	} else if err == unix.ENOENT {
		opened, err = s.Records.open(path)
	}
	if err != nil {
		return -1, "", func() notify.Reply { return notify.Failed(s.Unread(n, call, sandbox.KindSocket, err)) }
	}
	file, err = kernel.DupAbove(opened, kernel.LowestFD)
	unix.Close(opened)
	var st unix.Stat_t
	if err == nil {
		err = unix.Fstat(file, &st)
	}
	switch {
	case err != nil:
	case !n.Waits():
		err = unix.ESRCH
	case unix.Access(descriptorPath(file), unix.W_OK) == unix.EACCES:
		err = unix.EACCES // as without a sandbox
	case st.Mode&unix.S_IFMT != unix.S_IFSOCK:
		err = unix.ECONNREFUSED
	}
	if err != nil {
		return file, "", func() notify.Reply { return notify.Failed(kernel.ErrnoOf(err)) }
	}
	target, own := s.Walk.PolicyPath(file), s.Records.has(&st)
	reachable := own || slices.Contains(s.Policy.Sockets, target)
	if judged := s.Policy.JudgeRead(target); !reachable || !judged.Allowed {
		kind := sandbox.KindSocket
		if reachable {
			kind = judged.Kind
		}
		return file, "", func() notify.Reply {
			return s.Refuse(n, Refusal{Call: call, Denial: sandbox.Denial{Kind: kind, Target: target}, Errno: unix.EPERM, File: file, Asked: path})
		}
	}
	if !own {
		granted = target
	}
	return file, granted, nil
}
