//go:build linux

// Package netns is the network of a session: a network namespace that its commands share, with
// nothing in it but a loopback, and codeagent's side of that namespace, which is the relay to
// allowed hosts and the name service.
//
// It says how the process is cloned that makes the namespace, uses the sockets that this process
// hands over, makes further ones, and looks up names and addresses on the host. It executes no program,
// decides nothing about a command and knows no broker.
//
// Start reading at Plan (namespaces.go), then Network (network.go).
package netns

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"syscall"

	"codeagent/linuxsandbox/control"
	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// Namespaces are what the commands of a session share: a network namespace and, for an ordinary
// user, the user namespace that owns it. One command can reach what another one serves. The
// session's first keeper is cloned into both and brings the loopback up. The two descriptors here
// keep the namespaces alive, so the namespaces end with codeagent.
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
	// NameServers are the addresses at which codeagent answers in place of the machine's name
	// servers.
	NameServers []string

	conf resolvConf
	door []control.DoorSocket
}

// Plan returns the namespaces of a session before a process is in them. conf is the text of
// resolv.conf(5).
func Plan(conf string) (*Namespaces, error) {
	n := &Namespaces{User: -1, Net: -1, conf: parseResolvConf(conf)}
	for _, server := range n.conf.servers {
		n.NameServers = append(n.NameServers, server.String())
	}
	var err error
	n.HostNet, err = HostNet()
	return n, err
}

// HostNet returns the cookie of this process's network namespace.
func HostNet() (uint64, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	return cookie, os.NewSyscallError("getsockopt SO_NETNS_COOKIE", err)
}

// Caps are the capabilities with which an ordinary user's first process sets up the network.
var Caps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE}

// Clone returns how the first process is cloned into the namespaces, with the capabilities to set
// them up. For root there is no user namespace: root already has the capabilities, and inside a
// user namespace it could not reach the files of other users.
func (n *Namespaces) Clone(root bool) *syscall.SysProcAttr {
	sys := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if !root {
		sys.Cloneflags |= unix.CLONE_NEWUSER
		sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		sys.AmbientCaps = slices.Clone(Caps)
	}
	return sys
}

// Open opens the namespaces of the first process.
func (n *Namespaces) Open(pid int, root bool) (err error) {
	if n.Net, err = OpenNamespace(pid, "net"); err == nil && !root {
		n.User, err = OpenNamespace(pid, "user")
	}
	return err
}

// Furnish takes over the sockets that the first process made in the namespace.
func (n *Namespaces) Furnish(door []control.DoorSocket) (err error) {
	for i := range door {
		var failed error
		if door[i].FD, failed = longLived(door[i].FD); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	n.door = door
	return err
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

// socket makes a socket of the session's network, which does not block. Only a process without other threads can
// join the namespaces, so a child does that, which has the same descriptors.
func (n *Namespaces) socket(domain, kind int) (int, error) {
	c := &kernel.Child{Name: "vfork", Flags: unix.CLONE_FILES}
	if n.User >= 0 {
		c.Call("join the user namespace", unix.SYS_SETNS, uintptr(n.User), unix.CLONE_NEWUSER)
	}
	c.Call("join the network namespace", unix.SYS_SETNS, uintptr(n.Net), unix.CLONE_NEWNET)
	c.Call("socket", unix.SYS_SOCKET, uintptr(domain), uintptr(kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK), 0)
	if _, step, errno := c.Start(); errno != 0 {
		return -1, os.NewSyscallError(step, errno)
	}
	return int(c.Result), nil
}

// OpenNamespace opens a namespace of a process.
func OpenNamespace(pid int, kind string) (int, error) {
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
