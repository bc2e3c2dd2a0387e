//go:build linux

package control

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// A process can create a socket only in its own network namespace, and codeagent cannot enter
// another one. So the helper that sets up the session's namespace creates a few sockets there and
// hands them over. Whatever arrives at them comes from commands and is not trusted.

// DoorKind is the purpose of a socket.
type DoorKind byte

const (
	// DoorDiag asks about the sockets of the namespace.
	DoorDiag DoorKind = 'd'
	// DoorDatagrams and DoorStreams are bound to the addresses of the machine's name servers.
	DoorDatagrams DoorKind = 'u'
	DoorStreams   DoorKind = 't'
	// DoorRelay and DoorLost accept the streams to allowed hosts.
	DoorRelay DoorKind = 'r'
	DoorLost  DoorKind = 'l'
)

// DoorSocket is one socket of the namespace that codeagent holds.
type DoorSocket struct {
	Kind DoorKind
	FD   int
}

// NameServerPort is the port of a name server.
const NameServerPort = 53

// maxDoor bounds the number of sockets handed over.
const maxDoor = 64

// SendDoor hands the sockets over, or reports an errno. The message is four bytes with the errno,
// then one byte for each socket.
func SendDoor(to int, door []DoorSocket, failed unix.Errno) error {
	head := make([]byte, 4)
	binary.NativeEndian.PutUint32(head, uint32(failed))
	var fds []int
	for _, d := range door[:min(len(door), maxDoor)] {
		head, fds = append(head, byte(d.Kind)), append(fds, d.FD)
	}
	return unix.Sendmsg(to, head, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL)
}

// ReceiveDoor receives the sockets.
func ReceiveDoor(from int) ([]DoorSocket, error) {
	head, oob := make([]byte, 4+maxDoor), make([]byte, unix.CmsgSpace(4*maxDoor))
	n, oobn, _, _, err := unix.Recvmsg(from, head, oob, unix.MSG_CMSG_CLOEXEC)
	for err == unix.EINTR {
		n, oobn, _, _, err = unix.Recvmsg(from, head, oob, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil || n < 4 {
		return nil, errors.New("the helper could not be started in new namespaces")
	}
	if errno := unix.Errno(binary.NativeEndian.Uint32(head)); errno != 0 {
		return nil, fmt.Errorf("bring the loopback up: %w", errno)
	}
	var fds []int
	if messages, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil && len(messages) == 1 {
		fds, _ = unix.ParseUnixRights(&messages[0])
	}
	kinds := head[4:n]
	if len(fds) != len(kinds) {
		for _, fd := range fds {
			unix.Close(fd)
		}
		return nil, errors.New("bug: the helper did not send as many sockets as it announced")
	}
	var door []DoorSocket
	for i, fd := range fds {
		door = append(door, DoorSocket{DoorKind(kinds[i]), fd})
	}
	return door, nil
}
