//go:build linux

// Package control is the control socket between codeagent and its helper: frames, and the sockets
// that the helper hands over. It imports nothing of ours but linuxsandbox/kernel and touches
// nothing but that socket. Start with Frame, which says who sends what.
package control

import (
	"encoding/binary"
	"fmt"
	"io"
	"unsafe"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// Frame is the first byte of a frame on the control socket. The length of the body follows in four
// bytes, big-endian, and then the body.
type Frame byte

const (
	// From codeagent.
	FrameSession Frame = 'n' // a spec.Session: the keeper is the first of its session; comes before the Spec
	FrameSpec    Frame = 's' // a spec.Spec, once; to a first keeper with the command's files
	FrameGo      Frame = 'g' // start the command
	FrameSignal  Frame = 'k' // one byte: a signal number for the command
	// From the keeper.
	FrameDoor    Frame = 'd' // the sockets of the namespaces that the keeper made (door.go)
	FrameReady   Frame = 'r' // spec.Facts: confined and self-tested
	FrameStarted Frame = 'p' // the command's pid, an int in the encoding of spec.Encode
	FrameFailed  Frame = 'f' // a spec.Failure: the command did not run
	FrameExited  Frame = 'x' // spec.Ended: the main process
	FrameGone    Frame = 'e' // no process is left; the last frame
)

// maxBody bounds the body of a frame; a Spec must fit.
const (
	frameHeader = 5
	maxBody     = 1 << 20
)

// Socket is an end of the control socket, a stream socket.
type Socket int

// Send writes one frame. If the peer is gone it returns EPIPE and raises no signal.
func (s Socket) Send(kind Frame, body []byte) error { return s.SendFDs(kind, body) }

// SendFDs writes one frame and sends copies of the descriptors passed with it.
func (s Socket) SendFDs(kind Frame, body []byte, passed ...int) error {
	var rights []byte
	if len(passed) > 0 {
		rights = unix.UnixRights(passed...)
	}
	buf := make([]byte, frameHeader, frameHeader+len(body))
	buf[0] = byte(kind)
	binary.BigEndian.PutUint32(buf[1:], uint32(len(body)))
	buf = append(buf, body...)
	for len(buf) > 0 {
		var n int
		var err error
		if rights != nil {
			n, err = unix.SendmsgN(int(s), buf, rights, nil, unix.MSG_NOSIGNAL)
		} else {
			n, err = s.send(buf)
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

// send is send(2). The keeper's thread has the command's filter, which sends sendmsg to the broker
// but not sendto without an address.
func (s Socket) send(buf []byte) (int, error) {
	n, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(s), uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// maxPassed bounds the number of descriptors with a frame.
const maxPassed = 64

// ReceiveFDs is Receive for a frame that may carry descriptors.
func (s Socket) ReceiveFDs() (kind Frame, body []byte, passed []int, err error) {
	var first [1]byte
	oob := make([]byte, unix.CmsgSpace(4*maxPassed))
	for {
		n, oobn, _, _, err := unix.Recvmsg(int(s), first[:], oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return 0, nil, nil, kernel.ErrClosed
		}
		if messages, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil && len(messages) == 1 {
			passed, _ = unix.ParseUnixRights(&messages[0])
		}
		break
	}
	body, err = s.body()
	return Frame(first[0]), body, passed, err
}

// Receive waits for one frame and reads it. It returns kernel.ErrClosed at end of file, and an
// error if the frame is too large.
func (s Socket) Receive() (Frame, []byte, error) {
	var kind [1]byte
	if err := kernel.ReadFull(int(s), kind[:]); err != nil {
		return 0, nil, err
	}
	body, err := s.body()
	return Frame(kind[0]), body, err
}

// body reads the rest of a frame after its kind.
func (s Socket) body() ([]byte, error) {
	var head [frameHeader - 1]byte
	if err := kernel.ReadFull(int(s), head[:]); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxBody {
		return nil, fmt.Errorf("a frame of %d bytes is more than %d", size, maxBody)
	}
	if size == 0 {
		return nil, nil
	}
	body := make([]byte, size)
	if err := kernel.ReadFull(int(s), body); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return body, nil
}
