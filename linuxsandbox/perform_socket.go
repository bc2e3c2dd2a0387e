//go:build linux

package linuxsandbox

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"

	"codeagent/linuxsandbox/broker/pathwalk"

	"codeagent/linuxsandbox/broker/notify"

	"golang.org/x/sys/unix"
)

// The broker connects and binds the command's sockets itself, on a copy of the
// socket and of the address that it took once. Neither call is ever let go on:
// between the look and the kernel's own reading another thread could change the
// address, or put another socket under the number.
//
// A path socket is reached only when a command of this session bound it, or the
// policy names it: behind the others are key agents, container engines, message
// buses and displays, which act for whoever connects.

const (
	// maxAddress is the size of struct sockaddr_storage.
	maxAddress = 128
	// maxSocketPath leaves the NUL out.
	maxSocketPath = unix.SizeofSockaddrUnix - 3
)

// socketCall answers a connect or a bind.
func (b *broker) socketCall(n *notify.Notification) notify.Reply {
	sock, stand, err := b.take(n)
	if err != nil {
		return notify.Failed(b.deny.unread(n, socketCallName(n), sandbox.KindSocket, err))
	}
	defer unix.Close(sock)
	b.stand = stand
	r := b.perform(n, sock)
	if stand != nil && !r.Given && !r.Again && r.Errno == 0 {
		r.Errno = stand.put(n, sock)
	}
	return r
}

// perform does the call on the broker's socket.
func (b *broker) perform(n *notify.Notification, sock int) notify.Reply {
	domain, err := unix.GetsockoptInt(sock, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err)) // no socket
	}
	size := int32(n.Args[2])
	if size < 0 || size > maxAddress {
		return notify.Failed(unix.EINVAL)
	}
	addr, err := notify.ReadMemory(int(n.TID), n.Args[1], int(size))
	if err != nil {
		return notify.Failed(b.deny.unread(n, socketCallName(n), sandbox.KindSocket, err))
	}
	if !n.Waits() {
		return notify.Failed(unix.ESRCH) // nobody is left to read it
	}
	switch {
	case domain == unix.AF_UNIX:
		return b.unixCall(n, sock, addr)
	case inNetwork(sock, b.hostNet):
		// A socket of the host's, which a granted service passed to the command.
		return notify.Failed(b.refuseSocket(n, sandbox.KindSyscall, socketCallName(n)))
	case b.hostNet != 0 && b.inet && (domain == unix.AF_INET || domain == unix.AF_INET6):
		s, ok := netns.SocketOf(sock, domain)
		if !ok {
			return notify.Failed(unix.ENOPROTOOPT)
		}
		return b.inetCall(n, s, addr)
	case b.inet && (domain == unix.AF_INET || domain == unix.AF_INET6), b.inet && domain == unix.AF_NETLINK && toKernel(addr):
		if n.NR == unix.SYS_BIND {
			return notify.Failed(netns.AddressCall(unix.SYS_BIND, sock, addr))
		}
		return b.connect(n, sock, addr, domain)
	}
	return notify.Failed(b.refuseSocket(n, sandbox.KindSyscall, socketCallName(n)))
}

func socketCallName(n *notify.Notification) string {
	if n.NR == unix.SYS_BIND {
		return "bind"
	}
	return "connect"
}

// refuseSocket records a refusal and answers it.
func (b *broker) refuseSocket(n *notify.Notification, kind sandbox.DenialKind, target string) unix.Errno {
	b.log.record(n, sandbox.Denial{Kind: kind, Operation: socketCallName(n), Target: target, Errno: "EPERM"})
	return unix.EPERM
}

// toKernel reports whether a netlink address is the kernel's, or none. Other
// numbers belong to processes.
func toKernel(addr []byte) bool {
	return len(addr) >= unix.SizeofSockaddrNetlink && !slices.ContainsFunc(addr[4:8], func(c byte) bool { return c != 0 })
}

// inNetwork reports whether a socket belongs to the network namespace of that
// cookie, or does not say which; 0 is no namespace. No two namespaces have the same
// cookie before the machine is started anew (Linux 5.14).
func inNetwork(socket int, cookie uint64) bool {
	if cookie == 0 {
		return false
	}
	its, err := unix.GetsockoptUint64(socket, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	return err != nil || its == cookie
}

// unixAddress is a struct sockaddr_un with that path.
func unixAddress(path string) []byte {
	addr := make([]byte, 2, 2+len(path)+1)
	*(*uint16)(unsafe.Pointer(&addr[0])) = unix.AF_UNIX
	return append(append(addr, path...), 0)
}

// unixCall answers for a socket of the AF_UNIX family.
func (b *broker) unixCall(n *notify.Notification, sock int, addr []byte) notify.Reply {
	kind, err := unix.GetsockoptInt(sock, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	if kind != unix.SOCK_STREAM && kind != unix.SOCK_SEQPACKET {
		// One that was handed in: each of its messages could carry an address.
		return notify.Failed(b.refuseSocket(n, sandbox.KindSyscall, socketCallName(n)))
	}
	const most = unix.SizeofSockaddrUnix
	if len(addr) < 2 || len(addr) > most || *(*uint16)(unsafe.Pointer(&addr[0])) != unix.AF_UNIX {
		return notify.Failed(unix.EINVAL)
	}
	if len(addr) == 2 && n.NR == unix.SYS_CONNECT {
		return notify.Failed(unix.EINVAL)
	}
	if len(addr) == 2 || addr[2] == 0 {
		return b.abstractCall(n, sock, addr)
	}
	path := cString(addr[2:])
	if n.NR == unix.SYS_BIND {
		return b.bindPath(n, sock, path)
	}
	return b.connectPath(n, sock, path)
}

// abstractCall answers for a name without a file. It belongs to the socket's
// network namespace: where that is not the host's, all who have names there are
// commands of this session. Elsewhere displays and message buses have some, and
// the kernel's own scope (Landlock) holds the command's calls, not the broker's.
func (b *broker) abstractCall(n *notify.Notification, sock int, addr []byte) notify.Reply {
	if b.hostNet == 0 || inNetwork(sock, b.hostNet) {
		return notify.Failed(b.refuseSocket(n, sandbox.KindSocket, "@"+strings.ToValidUTF8(string(addr[min(3, len(addr)):]), "?")))
	}
	if n.NR == unix.SYS_BIND {
		return notify.Failed(netns.AddressCall(unix.SYS_BIND, sock, addr))
	}
	return b.connect(n, sock, addr, unix.AF_UNIX)
}

// bindPath makes a socket's file and remembers it.
func (b *broker) bindPath(n *notify.Notification, sock int, path string) notify.Reply {
	slash := strings.LastIndexByte(path, '/')
	folder, base := path[:slash+1], path[slash+1:]
	if base == "" {
		return notify.Failed(unix.ENOENT) // a folder cannot be made this way
	}
	if base == "." || base == ".." {
		return notify.Failed(unix.EADDRINUSE)
	}
	if folder == "" {
		folder = "."
	}
	parent, err := b.walk.Open(n, pathwalk.Name{Dir: unix.AT_FDCWD, Path: folder})
	if err != nil {
		return notify.Failed(b.deny.unread(n, "bind", sandbox.KindSocket, err))
	}
	s := b.walk.SpotIn(parent, base, false)
	s.Asked = path
	defer s.Close()
	mask, err := maskOf(int(n.TID))
	if err != nil || !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	b.session.mu.Lock()
	defer b.session.mu.Unlock()
	target := s.Full()
	var d *sandbox.Denial
	if b.judge.protection.brokered(target) {
		d = b.judge.refusesPath(n, target)
	} else if judged := b.judge.policy.JudgeWrite(target); !judged.Allowed {
		d = &sandbox.Denial{Kind: judged.Kind, Target: target}
	}
	if d != nil {
		return b.held.refuse(n, refusal{denial: d, call: "bind", errno: unix.EPERM, pins: []pin{pinOf(s)}})
	}
	if b.session.sockets.full() {
		return notify.Failed(unix.ENOSPC)
	}
	if a, first := b.observer.keepEntries(s); first {
		return a
	}
	return notify.Failed(b.bindAt(sock, s.Dir, mask, path, base))
}

// bindAt binds sock to base in the folder parent. The name is one component below
// an open folder, so that nothing in it can be exchanged.
//
// The file's mode comes from the socket's own and from the mask of codeagent, which
// no thread of it can change for itself everywhere (containers refuse unshare). So
// the socket's mode is narrowed for the time, and the file's put right after.
func (b *broker) bindAt(sock, parent, mask int, path, base string) unix.Errno {
	inner := "/proc/self/fd/" + strconv.Itoa(parent) + "/" + base
	if len(inner) > maxSocketPath {
		return unix.ENAMETOOLONG
	}
	var st unix.Stat_t
	if err := unix.Fstat(sock, &st); err != nil {
		return kernel.ErrnoOf(err)
	}
	mode := st.Mode & 0o777 &^ uint32(mask)
	_ = unix.Fchmod(sock, mode)
	errno := netns.AddressCall(unix.SYS_BIND, sock, unixAddress(inner))
	_ = unix.Fchmod(sock, st.Mode&0o7777)
	if errno != 0 {
		return errno
	}
	file, err := boundFile(sock, parent, base)
	if err != nil {
		return 0 // what cannot be told for certain is not remembered, and so not reached
	}
	if own, err := maskOf(os.Getpid()); err == nil && mode&uint32(own) != 0 {
		_ = unix.Fchmodat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(file), mode, 0)
	}
	b.session.sockets.remember(file, sock, path, inner)
	return 0
}

// connectPath connects to the socket that path leads to, if that may be reached.
func (b *broker) connectPath(n *notify.Notification, sock int, path string) notify.Reply {
	file, err := b.socketFile(n, path)
	if err != nil {
		return notify.Failed(b.deny.unread(n, "connect", sandbox.KindSocket, err))
	}
	defer unix.Close(file)
	var st unix.Stat_t
	if err := unix.Fstat(file, &st); err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	if !n.Waits() {
		return notify.Failed(unix.ESRCH)
	}
	link := "/proc/self/fd/" + strconv.Itoa(file)
	if unix.Access(link, unix.W_OK) == unix.EACCES {
		return notify.Failed(unix.EACCES) // so it would be without a sandbox
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return notify.Failed(unix.ECONNREFUSED)
	}
	target := b.walk.PolicyPath(file)
	reachable := b.session.sockets.has(&st) || slices.Contains(b.judge.policy.Sockets, target)
	if judged := b.judge.policy.JudgeRead(target); !reachable || !judged.Allowed {
		kind := sandbox.KindSocket
		if reachable {
			kind = judged.Kind
		}
		d := &sandbox.Denial{Kind: kind, Target: target}
		return b.held.refuse(n, refusal{denial: d, call: "connect", errno: unix.EPERM, pins: []pin{{fd: file, path: target, asked: path}}})
	}
	return b.connectTo(n, sock, file)
}

// socketFile is a reference to what path leads to. Where the command has mounts
// of its own, a granted socket may lie below one of them: it is the host's.
func (b *broker) socketFile(n *notify.Notification, path string) (int, error) {
	fd, err := b.walk.Open(n, pathwalk.Name{Dir: unix.AT_FDCWD, Path: path})
	if err == unix.ENOENT && slices.Contains(b.judge.policy.Sockets, path) {
		return kernel.OpenPath(path)
	}
	return fd, err
}

// connectTo connects sock to the very file, whatever name it has by now.
func (b *broker) connectTo(n *notify.Notification, sock, file int) notify.Reply {
	held, err := kernel.DupAbove(file, kernel.LowestFD)
	if err != nil {
		return notify.Failed(kernel.ErrnoOf(err))
	}
	return b.connect(n, sock, unixAddress("/proc/self/fd/"+strconv.Itoa(held)), unix.AF_UNIX, held)
}
