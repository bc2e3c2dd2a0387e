//go:build linux

package sockets

import (
	"encoding/binary"
	"errors"
	"strconv"
	"unsafe"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// The kernel reports which file a bound socket has. Threat: the socket's name does not
// identify the file, since another thread may have put another file there.

// Values that x/sys lacks (linux/un.h, linux/unix_diag.h).
const (
	siocUnixFile     = 0x89e0
	unixDiagShowName = 0x1
	unixDiagShowVFS  = 0x2
	unixDiagShowPeer = 0x4
	unixDiagName     = 0
	unixDiagVFS      = 1
	unixDiagPeer     = 2
)

// boundFile opens with O_PATH the file of sock, which the calling thread has just bound to
// name in the folder parent.
func boundFile(sock, parent int, name string) (int, error) {
	fd, err := fileOfSocket(sock)
	if err == nil {
		return fd, nil
	}
	if fd, err = namedFile(sock, parent, name); err == nil {
		return fd, nil
	}
	// If codeagent is root, its other threads have the capability that this thread has dropped.
	done := make(chan struct{})
	go func() {
		defer close(done)
		fd, err = fileOfSocket(sock)
	}()
	<-done
	return fd, err
}

// fileOfSocket asks the socket itself. That needs CAP_NET_ADMIN in the user namespace of
// its network namespace. codeagent has it if it made the namespace.
func fileOfSocket(sock int) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(sock), siocUnixFile, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

var errOtherFile = errors.New("the name of the socket leads to another file")

// namedFile opens the file that has the name now, and compares it with what the kernel
// reports about sock. Both are in the parent's file system and still exist, so equal inode
// numbers mean the same file.
func namedFile(sock, parent int, name string) (int, error) {
	fd, err := kernel.Openat2(parent, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, unix.RESOLVE_NO_XDEV)
	if err != nil {
		return -1, err
	}
	ino, err := boundInode(sock)
	if err == nil {
		var got uint64
		if got, err = inodeNumber(fd); err == nil && uint32(got) != ino {
			err = errOtherFile
		}
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// inodeNumber returns the kernel's own inode number, which stat(2) does not always show.
func inodeNumber(fd int) (uint64, error) {
	info, err := kernel.ReadSmall("/proc/self/fdinfo/" + strconv.Itoa(fd))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(kernel.StatusField(info, "ino:"), 10, 64)
}

// diagRequest is struct nlmsghdr followed by struct unix_diag_req.
type diagRequest struct {
	head     unix.NlMsghdr
	family   uint8
	protocol uint8
	pad      uint16
	states   uint32
	inode    uint32
	show     uint32
	cookie   [2]uint32
}

// diagAnswer is what the kernel reports about a socket.
type diagAnswer struct {
	kind, state uint8
	// bound: it has the address name. If that is a path, file is the inode number of the
	// socket's file.
	bound bool
	name  string
	file  uint32
	// peer is the inode of the socket at the other end, or 0.
	peer uint32
}

// anySocket is the cookie that matches every socket.
const anySocket = ^uint64(0)

// diagnose asks sock_diag(7) for a socket by inode and cookie. It fails with ENOENT for a
// socket outside the calling thread's network namespace.
func diagnose(inode, cookie uint64) (a diagAnswer, err error) {
	diag, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return a, err
	}
	defer unix.Close(diag)
	r := diagRequest{
		head:   unix.NlMsghdr{Type: unix.SOCK_DIAG_BY_FAMILY, Flags: unix.NLM_F_REQUEST},
		family: unix.AF_UNIX, states: ^uint32(0), inode: uint32(inode), show: unixDiagShowName | unixDiagShowVFS | unixDiagShowPeer,
		cookie: [2]uint32{uint32(cookie), uint32(cookie >> 32)},
	}
	r.head.Len = uint32(unsafe.Sizeof(r))
	if err := unix.Send(diag, unsafe.Slice((*byte)(unsafe.Pointer(&r)), unsafe.Sizeof(r)), 0); err != nil {
		return a, err
	}
	buf := make([]byte, 4096)
	n, err := unix.Read(diag, buf)
	if err != nil {
		return a, err
	}
	return parseDiag(buf[:n])
}

// parseDiag parses the kernel's answer.
func parseDiag(m []byte) (a diagAnswer, err error) {
	const head, body = unix.SizeofNlMsghdr, 16 // struct unix_diag_msg
	if len(m) < head+4 {
		return a, unix.EBADMSG
	}
	if binary.NativeEndian.Uint16(m[4:]) == unix.NLMSG_ERROR {
		return a, unix.Errno(-int32(binary.NativeEndian.Uint32(m[head:])))
	}
	a.kind, a.state = m[head+1], m[head+2]
	for at := head + body; at+unix.SizeofRtAttr <= len(m); {
		size, kind := int(binary.NativeEndian.Uint16(m[at:])), binary.NativeEndian.Uint16(m[at+2:])
		if size < unix.SizeofRtAttr || at+size > len(m) {
			break
		}
		value := m[at+unix.SizeofRtAttr : at+size]
		switch {
		case kind == unixDiagName:
			a.bound, a.name = true, unix.ByteSliceToString(value)
		case kind == unixDiagVFS && len(value) >= 8:
			a.file = binary.NativeEndian.Uint32(value)
		case kind == unixDiagPeer && len(value) >= 4:
			a.peer = binary.NativeEndian.Uint32(value)
		}
		at += (size + 3) &^ 3
	}
	return a, nil
}

// boundInode returns the inode number of the file that sock is bound to.
func boundInode(sock int) (uint32, error) {
	var st unix.Stat_t
	if err := unix.Fstat(sock, &st); err != nil {
		return 0, err
	}
	cookie, err := unix.GetsockoptUint64(sock, unix.SOL_SOCKET, unix.SO_COOKIE)
	if err != nil {
		return 0, err
	}
	a, err := diagnose(st.Ino, cookie)
	if err == nil && a.file == 0 {
		err = errNoFile
	}
	return a.file, err
}

var errNoFile = errors.New("the socket is not bound to a file")
