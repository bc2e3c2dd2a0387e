//go:build linux

package control

import "errors"

// A process can create a socket only in its own network namespace, and codeagent cannot enter
// another one. So the keeper that makes the session's namespace creates the first sockets there and
// hands them over (FrameDoor). Whatever arrives at them comes from commands and is not trusted.

// DoorKind is the purpose of a socket.
type DoorKind byte

const (
	// DoorDiag asks about the sockets of the namespace.
	DoorDiag DoorKind = 'd'
	// DoorDatagrams and DoorStreams are bound to the addresses of the machine's name servers.
	DoorDatagrams DoorKind = 'u'
	DoorStreams   DoorKind = 't'
	// DoorRelay accepts the streams to allowed hosts.
	DoorRelay DoorKind = 'r'
)

// DoorSocket is one socket of the namespace that codeagent holds.
type DoorSocket struct {
	Kind DoorKind
	FD   int
}

// NameServerPort is the port of a name server.
const NameServerPort = 53

// CarriedMark is the SO_MARK of a command's socket whose datagrams codeagent carries. In the session's network
// only such a socket has a route to hosts, which leads to sockets of codeagent there.
const CarriedMark = 1

// SendDoor hands the sockets over. The body of the frame has one byte for each socket.
func (s Socket) SendDoor(door []DoorSocket) error {
	var kinds []byte
	var fds []int
	for _, d := range door[:min(len(door), maxPassed)] {
		kinds, fds = append(kinds, byte(d.Kind)), append(fds, d.FD)
	}
	return s.SendFDs(FrameDoor, kinds, fds...)
}

// Door pairs the kinds of a FrameDoor with the descriptors that came with it.
func Door(kinds []byte, fds []int) ([]DoorSocket, error) {
	if len(fds) != len(kinds) {
		return nil, errors.New("bug: the helper did not send as many sockets as it announced")
	}
	var door []DoorSocket
	for i, fd := range fds {
		door = append(door, DoorSocket{DoorKind(kinds[i]), fd})
	}
	return door, nil
}
