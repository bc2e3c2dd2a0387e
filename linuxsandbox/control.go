//go:build linux

package linuxsandbox

import (
	"encoding/binary"
	"fmt"
	"io"
	"unsafe"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// frameKind is the first byte of a frame on the control socket. After it come
// the length of the body as four bytes, high first, and the body.
type frameKind byte

const (
	// From codeagent.
	frameSpec   frameKind = 's' // a Spec, first and once
	frameGo     frameKind = 'g' // start the command
	frameSignal frameKind = 'k' // one byte: a signal number for the command
	// From the keeper.
	frameReady   frameKind = 'r' // facts: confined and self-tested
	frameStarted frameKind = 'p' // the command's pid, decimal
	frameFailed  frameKind = 'f' // a failure: the command did not run
	frameExited  frameKind = 'x' // ended: the main process
	frameGone    frameKind = 'e' // every process is gone; the last frame
)

const frameHeader = 5

// sendFrame writes one frame to a stream socket. A peer that is gone is EPIPE,
// never a signal.
func sendFrame(fd int, kind frameKind, body []byte) error { return sendFrameFD(fd, kind, body, -1) }

// sendFrameFD sends a copy of the descriptor passed along, unless it is -1.
func sendFrameFD(fd int, kind frameKind, body []byte, passed int) error {
	var rights []byte
	if passed >= 0 {
		rights = unix.UnixRights(passed)
	}
	buf := make([]byte, frameHeader, frameHeader+len(body))
	buf[0] = byte(kind)
	binary.BigEndian.PutUint32(buf[1:], uint32(len(body)))
	buf = append(buf, body...)
	for len(buf) > 0 {
		var n int
		var err error
		if rights != nil {
			n, err = unix.SendmsgN(fd, buf, rights, nil, unix.MSG_NOSIGNAL)
		} else {
			n, err = send(fd, buf)
		}
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		buf, rights = buf[n:], nil
	}
	return nil
}

// send is send(2), about which the filter of a command asks nobody.
func send(fd int, buf []byte) (int, error) {
	n, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// recvFrameFD is recvFrame for a frame that may bring a descriptor; passed is -1
// when it brings none.
func recvFrameFD(fd int) (kind frameKind, body []byte, passed int, err error) {
	passed = -1
	var first [1]byte
	oob := make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, _, _, err := unix.Recvmsg(fd, first[:], oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return 0, nil, -1, kernel.ErrClosed
		}
		if messages, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil && len(messages) == 1 {
			if fds, err := unix.ParseUnixRights(&messages[0]); err == nil && len(fds) == 1 {
				passed = fds[0]
			}
		}
		break
	}
	body, err = recvBody(fd)
	return frameKind(first[0]), body, passed, err
}

// recvFrame reads one frame, waiting for it. It returns kernel.ErrClosed at end of
// file, and an error for a frame above maxSpec.
func recvFrame(fd int) (frameKind, []byte, error) {
	var kind [1]byte
	if err := kernel.ReadFull(fd, kind[:]); err != nil {
		return 0, nil, err
	}
	body, err := recvBody(fd)
	return frameKind(kind[0]), body, err
}

// recvBody reads what follows a frame's kind.
func recvBody(fd int) ([]byte, error) {
	var head [frameHeader - 1]byte
	if err := kernel.ReadFull(fd, head[:]); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxSpec {
		return nil, fmt.Errorf("a frame of %d bytes is more than %d", size, maxSpec)
	}
	if size == 0 {
		return nil, nil
	}
	body := make([]byte, size)
	if err := kernel.ReadFull(fd, body); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return body, nil
}
