//go:build linux

package linuxsandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Which file a bound socket has is asked of the kernel. Its name says nothing:
// another thread may have put another file there since.

// What x/sys does not name (linux/un.h, linux/unix_diag.h).
const (
	siocUnixFile    = 0x89e0
	unixDiagShowVFS = 0x2
	unixDiagVFS     = 1
)

// boundFile returns a reference to the file of sock, which the calling thread
// has just bound to the name in the folder parent.
func boundFile(sock, parent int, name string) (int, error) {
	fd, err := fileOfSocket(sock)
	if err == nil {
		return fd, nil
	}
	if fd, err = namedFile(sock, parent, name); err == nil {
		return fd, nil
	}
	// As root, codeagent has the capability that this thread has dropped.
	type answer struct {
		fd  int
		err error
	}
	done := make(chan answer)
	go func() {
		fd, err := fileOfSocket(sock)
		done <- answer{fd, err}
	}()
	a := <-done
	return a.fd, a.err
}

// fileOfSocket asks the socket itself. That takes CAP_NET_ADMIN in the user
// namespace of its network, which codeagent has of those it made.
func fileOfSocket(sock int) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(sock), siocUnixFile, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

var errOtherFile = errors.New("another file has its name")

// namedFile opens what has the name now, and compares it with what the kernel
// tells about sock. Both are in the parent's file system and both are alive, so
// that the same number is the same file.
func namedFile(sock, parent int, name string) (int, error) {
	fd, err := openat2(parent, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, unix.RESOLVE_NO_XDEV)
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

// inodeNumber is the kernel's own number, which is not always what stat says.
func inodeNumber(fd int) (uint64, error) {
	info, err := readSmall("/proc/self/fdinfo/" + strconv.Itoa(fd))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(statusField(info, "ino:"), 10, 64)
}

// diagRequest is struct unix_diag_req behind its struct nlmsghdr.
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

// boundInode is the number of the file that sock is bound to, by sock_diag(7). It
// knows the sockets of the calling thread's own network namespace only.
func boundInode(sock int) (uint32, error) {
	var st unix.Stat_t
	if err := unix.Fstat(sock, &st); err != nil {
		return 0, err
	}
	cookie, err := unix.GetsockoptUint64(sock, unix.SOL_SOCKET, unix.SO_COOKIE)
	if err != nil {
		return 0, err
	}
	diag, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, err
	}
	defer unix.Close(diag)
	r := diagRequest{
		head:   unix.NlMsghdr{Type: unix.SOCK_DIAG_BY_FAMILY, Flags: unix.NLM_F_REQUEST},
		family: unix.AF_UNIX, states: ^uint32(0), inode: uint32(st.Ino), show: unixDiagShowVFS,
		cookie: [2]uint32{uint32(cookie), uint32(cookie >> 32)},
	}
	r.head.Len = uint32(unsafe.Sizeof(r))
	if err := unix.Send(diag, unsafe.Slice((*byte)(unsafe.Pointer(&r)), unsafe.Sizeof(r)), 0); err != nil {
		return 0, err
	}
	buf := make([]byte, 4096)
	n, err := unix.Read(diag, buf)
	if err != nil {
		return 0, err
	}
	return parseDiag(buf[:n])
}

// parseDiag finds the file's number in the kernel's answer.
func parseDiag(m []byte) (uint32, error) {
	const head, body = unix.SizeofNlMsghdr, 16 // struct unix_diag_msg
	if len(m) < head+4 {
		return 0, unix.EBADMSG
	}
	if binary.NativeEndian.Uint16(m[4:]) == unix.NLMSG_ERROR {
		return 0, unix.Errno(-int32(binary.NativeEndian.Uint32(m[head:])))
	}
	for at := head + body; at+unix.SizeofRtAttr <= len(m); {
		size, kind := int(binary.NativeEndian.Uint16(m[at:])), binary.NativeEndian.Uint16(m[at+2:])
		if size < unix.SizeofRtAttr || at+size > len(m) {
			break
		}
		if kind == unixDiagVFS && size >= unix.SizeofRtAttr+8 {
			return binary.NativeEndian.Uint32(m[at+unix.SizeofRtAttr:]), nil
		}
		at += (size + 3) &^ 3
	}
	return 0, unix.ENOENT // not bound to a file
}

// canTakeSockets tries what path sockets need of a thread that is confined, on
// one with the rights of a broker's.
func canTakeSockets(tid int) error {
	done := make(chan error)
	go func() {
		err := becomeCommand(0)
		if err == nil {
			err = trySockets(tid)
		}
		done <- err
	}()
	return <-done
}

func trySockets(tid int) error {
	sock, err := takeFD(tid, controlFD)
	if err != nil {
		return err
	}
	defer unix.Close(sock)
	own, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(own)
	// Unbound, the kernel finds it and tells of no file.
	if _, err := boundInode(own); err != unix.ENOENT {
		return errors.Join(errNoDiag, err)
	}
	_, err = inodeNumber(own)
	return err
}

var errNoDiag = errors.New("the kernel does not tell which file a socket has")

// takeFD is the broker's own copy of a descriptor of the thread: what it does
// with it is done to that very file, whatever the thread puts under its number.
func takeFD(tid int, fd int32) (int, error) {
	const pidfdThread = unix.O_EXCL // Linux 6.9; threads mostly share their process's files
	pidfd, err := unix.PidfdOpen(tid, pidfdThread)
	if err == unix.EINVAL {
		pidfd, err = unix.PidfdOpen(processOf(tid), 0)
	}
	if err != nil {
		return -1, err
	}
	defer unix.Close(pidfd)
	return unix.PidfdGetfd(pidfd, int(fd), 0)
}

// maskOf is the file mode creation mask of a thread.
func maskOf(tid int) (int, error) {
	status, err := readSmall("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return 0, err
	}
	mask, err := strconv.ParseUint(statusField(status, "Umask:"), 8, 12)
	return int(mask), err
}

// signalled reports whether a signal waits that the thread has a handler for.
func signalled(tid int) bool {
	status, err := readSmall("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return false
	}
	set := func(name string) uint64 {
		v, _ := strconv.ParseUint(statusField(status, name), 16, 64)
		return v
	}
	return (set("SigPnd:")|set("ShdPnd:"))&set("SigCgt:")&^set("SigBlk:") != 0
}

// cString is b up to its first NUL.
func cString(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}
