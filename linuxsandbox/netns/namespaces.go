//go:build linux

// Package netns is the network of a session: a network namespace that its commands share, with
// nothing in it but a loopback, and codeagent's side of that namespace, which is the relay to
// allowed hosts and the name service.
//
// It starts the helper that makes the namespace, uses the sockets that the helper hands over, and
// looks up names and addresses on the host. It decides nothing about a command and knows no broker.
//
// Start reading at Make (namespaces.go), then Network (network.go).
package netns

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"codeagent/linuxsandbox/control"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"

	"golang.org/x/sys/unix"
)

// Namespaces are what the commands of a session share: a network namespace and, for an ordinary
// user, the user namespace that owns it. One command can reach what another one serves. The helper
// is cloned into both, brings the loopback up and ends. The two descriptors here keep the
// namespaces alive, so the namespaces end with codeagent.
//
// The filter need not refuse INET sockets in such a namespace: whatever a command uses them for
// (MPTCP, Fast Open, datagrams) stays inside. Changing that takes a capability over the namespace,
// and a command has none. A socket belongs to the namespace in which it was created, so a command
// that starts with a socket of the host gets no socket calls.
type Namespaces struct {
	// User and Net are descriptors; -1: none.
	User, Net int
	// HostNet is the cookie of codeagent's own network namespace.
	HostNet uint64

	conf resolvConf
	door []control.DoorSocket
}

// Helper is the program that makes the namespaces.
type Helper struct {
	FD   int // the descriptor of its file
	Name string
	Env  []string
}

// Make makes the namespaces of a session. For root it makes no user namespace: root already has the
// capabilities, and inside a user namespace it could not reach the files of other users. conf is
// the text of resolv.conf(5): codeagent answers in place of the name servers in it.
func Make(h Helper, root bool, conf string) (*Namespaces, error) {
	n := &Namespaces{User: -1, Net: -1, conf: parseResolvConf(conf)}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(pair[0])
	pid, err := n.startHelper(h, root, pair)
	unix.Close(pair[1])
	if err != nil {
		return nil, err
	}
	defer kernel.Wait(pid)
	defer unix.Shutdown(pair[0], unix.SHUT_RDWR) // ends the helper
	if n.door, err = receiveDoor(pair[0]); err != nil {
		return nil, err
	}
	if n.Net, err = openNamespace(pid, "net"); err == nil && !root {
		n.User, err = openNamespace(pid, "user")
	}
	if err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// startHelper starts the helper with the second socket of pair as descriptor 3.
func (n *Namespaces) startHelper(h Helper, root bool, pair [2]int) (pid int, err error) {
	if n.HostNet, err = unix.GetsockoptUint64(pair[0], unix.SOL_SOCKET, unix.SO_NETNS_COOKIE); err != nil {
		return 0, os.NewSyscallError("getsockopt SO_NETNS_COOKIE", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	sys := &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_NEWNET}
	if !root {
		sys.Cloneflags |= unix.CLONE_NEWUSER
		sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		sys.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE}
	}
	args := []string{h.Name, spec.SessionArg}
	for _, server := range n.conf.servers {
		args = append(args, server.String())
	}
	pid, err = syscall.ForkExec("/proc/self/fd/"+strconv.Itoa(h.FD), args, &syscall.ProcAttr{
		Dir: "/", Env: h.Env, Sys: sys, Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), uintptr(pair[1])},
	})
	return pid, os.NewSyscallError("clone", err)
}

// Close releases the namespaces, and the sockets in them that no Network serves.
func (n *Namespaces) Close() {
	if n == nil {
		return
	}
	for _, fd := range []int{n.User, n.Net} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	for _, d := range n.door {
		unix.Close(d.FD)
	}
}

// receiveDoor receives the sockets that the helper made in the namespace.
func receiveDoor(from int) ([]control.DoorSocket, error) {
	door, err := control.ReceiveDoor(from)
	for i := range door {
		var failed error
		if door[i].FD, failed = longLived(door[i].FD); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	if err != nil {
		(&Namespaces{User: -1, Net: -1, door: door}).Close()
		return nil, err
	}
	return door, nil
}

func openNamespace(pid int, kind string) (int, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/ns/"+kind, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: "the " + kind + " namespace", Err: err}
	}
	return longLived(fd)
}

// longLived moves fd to a number that forks do not overwrite.
func longLived(fd int) (int, error) {
	high, err := kernel.DupAbove(fd, kernel.LowestFD)
	unix.Close(fd)
	return high, err
}
