//go:build linux

// Package sockets answers the calls of one command about its sockets: connect, bind,
// getsockname, getpeername, and messages with an address.
//
// It acts on copies of the command's sockets, looks at them in /proc and with
// sock_diag(7), and makes the connections to hosts that the policy allows. Making
// files, granting and recording are the broker's (Options), and so is the decision to
// let a call proceed.
//
// Start reading at Sockets.Answer (sockets.go).
package sockets

import (
	"slices"
	"sync"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// Refusal is a connection that the policy does not let happen.
type Refusal struct {
	Denial sandbox.Denial
	Errno  unix.Errno
	// File is the socket's file, -1: none. Asked is what the call names it.
	File  int
	Asked string
}

// Options are what the sockets of a command go by. The functions are the broker's, and
// called on its thread alone, but for LookUp.
type Options struct {
	// Policy is the policy, which the broker widens by what is granted.
	Policy *sandbox.Policy
	Walk   *pathwalk.Walker
	// Record records a refusal. Refuse does too, unless somebody grants the connection.
	Record func(n *notify.Notification, d sandbox.Denial)
	Refuse func(n *notify.Notification, r Refusal) notify.Reply
	// Unread is the errno of a call that could not be looked at.
	Unread func(n *notify.Notification, call string, kind sandbox.DenialKind, err error) unix.Errno
	// MakeFile has bind make the file of a socket, the entry name of an open folder, if
	// the policy lets it be made at path. mask is the umask of the caller, own that of
	// codeagent.
	MakeFile func(n *notify.Notification, path string, bind func(dir int, name string, mask, own uint32) unix.Errno) notify.Reply
	// LookUp has a question for a name answered. It reports false when nobody will.
	LookUp func(n *notify.Notification, client *netns.Client, q *netns.Question) bool

	// Records are the path sockets of the session.
	Records *Records
	// Network is the session's own network, nil: it has none.
	Network *netns.Network
	// Inet: the filter lets the command have sockets of a network, which must not
	// be the one whose cookie is HostNet.
	Inet    bool
	HostNet uint64
	// Taking is how the broker gets at the command's sockets.
	Taking Taking
	// Caps are the capabilities of the command.
	Caps uint64
	// Wake is an eventfd that wakes all that works for the command when it ends.
	Wake int
}

// maxConnecting bounds the connections of one command that are waited for at the
// same time; later ones wait for their turn.
const maxConnecting = 64

// Sockets are those of one command.
type Sockets struct {
	Options
	// client is the command in the session's network, nil without one.
	client *netns.Client
	// waits counts the connections that are being waited for, turns has a place for
	// each that has its turn, and ending is closed when none has to be waited for any
	// more.
	waits  sync.WaitGroup
	turns  chan struct{}
	ending chan struct{}
}

// New is for a command that starts. End it with Stop, then Leave.
func New(o Options) *Sockets {
	return &Sockets{Options: o, client: o.Network.NewClient(), turns: make(chan struct{}, maxConnecting), ending: make(chan struct{})}
}

// Stop waits until no connection waits for an answer any more.
func (s *Sockets) Stop() {
	close(s.ending)
	_, _ = unix.Write(s.Wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	s.waits.Wait()
}

// Leave closes the command's connections to hosts, after what it wrote was sent.
func (s *Sockets) Leave() { s.client.Leave() }

// Blind reports whether the command has sockets of the session's network about
// which the broker cannot be asked, because it gets at none of them.
func (s *Sockets) Blind() bool { return s.Inet && s.HostNet != 0 && s.Taking != TakesCopies }

// The broker connects and binds the command's sockets itself, on a copy of the
// socket and of the address that it took once. Neither call ever proceeds: between
// the look and the kernel's own reading another thread could change the address, or
// put another socket under the number.

// maxAddress is the size of struct sockaddr_storage.
const maxAddress = 128

// socketCall is a connect or a bind that is being answered.
type socketCall struct {
	*notify.Notification
	name string
	bind bool
	// sock is a copy of the command's socket, or stand says where to put it.
	sock   int
	stand  *standIn
	domain int
	addr   []byte
}

// Answer answers a connect or a bind.
func (s *Sockets) Answer(n *notify.Notification) notify.Reply {
	k := &socketCall{Notification: n, name: "connect", bind: n.NR == unix.SYS_BIND}
	if k.bind {
		k.name = "bind"
	}
	var err error
	if k.sock, k.stand, err = s.take(n.Thread(), int32(n.Args[0])); err != nil {
		return notify.Failed(s.Unread(n, k.name, sandbox.KindSocket, err))
	}
	defer unix.Close(k.sock)
	a := s.perform(k)
	if k.stand != nil && a == (notify.Reply{}) {
		a.Errno = k.stand.put(n, k.sock)
	}
	return a
}

// perform does the call on the broker's socket.
func (s *Sockets) perform(k *socketCall) notify.Reply {
	var err error
	if k.domain, err = unix.GetsockoptInt(k.sock, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil {
		return notify.Failed(kernel.ErrnoOf(err)) // no socket
	}
	size := int32(k.Args[2])
	if size < 0 || size > maxAddress {
		return notify.Failed(unix.EINVAL)
	}
	if k.addr, err = notify.ReadMemory(k.Thread(), k.Args[1], int(size)); err != nil {
		return notify.Failed(s.Unread(k.Notification, k.name, sandbox.KindSocket, err))
	}
	if !k.Waits() {
		return notify.Failed(unix.ESRCH) // nobody is left to read it
	}
	inet := s.Inet && (k.domain == unix.AF_INET || k.domain == unix.AF_INET6)
	switch {
	case k.domain == unix.AF_UNIX:
		return s.unixCall(k)
	case inNetwork(k.sock, s.HostNet):
		// A socket of the host's, which a granted service passed to the command.
		return s.refuseSocket(k, sandbox.KindSyscall, k.name)
	case inet && s.HostNet != 0:
		is, ok := netns.SocketOf(k.sock, k.domain)
		if !ok {
			return notify.Failed(unix.ENOPROTOOPT)
		}
		return s.inetCall(k, is)
	case inet, s.Inet && k.domain == unix.AF_NETLINK && toKernel(k.addr):
		return s.bindOrConnect(k)
	}
	return s.refuseSocket(k, sandbox.KindSyscall, k.name)
}

// bindOrConnect does what the call says.
func (s *Sockets) bindOrConnect(k *socketCall) notify.Reply {
	if k.bind {
		return notify.Failed(netns.AddressCall(unix.SYS_BIND, k.sock, k.addr))
	}
	return s.connect(k, k.addr)
}

// refuseSocket records a refusal that cannot be granted, and answers it.
func (s *Sockets) refuseSocket(k *socketCall, kind sandbox.DenialKind, target string) notify.Reply {
	s.Record(k.Notification, sandbox.Denial{Kind: kind, Operation: k.name, Target: target, Errno: "EPERM"})
	return notify.Failed(unix.EPERM)
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
