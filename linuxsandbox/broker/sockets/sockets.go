//go:build linux

// Package sockets answers the calls of one command about its sockets: connect, bind,
// getsockname, getpeername, and messages with an address.
//
// It acts on copies of the command's sockets, examines them in /proc and with
// sock_diag(7), and connects to hosts that the policy allows. The broker makes files,
// grants, records and decides whether a call proceeds (Options).
//
// Start reading at Sockets.Answer (sockets.go).
package sockets

import (
	"slices"
	"sync"
	"sync/atomic"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"

	"golang.org/x/sys/unix"
)

// Refusal is a connection or a message that the policy denies.
type Refusal struct {
	Call   string
	Denial sandbox.Denial
	Errno  unix.Errno
	// File is the socket's file, -1 for none. Asked is the path that the call gives.
	File  int
	Asked string
}

// Options are the inputs of New. The broker provides the functions. All except LookUp
// and Connected are called only on its thread.
type Options struct {
	// Policy is the broker's policy, which grants may widen.
	Policy *resolved.Policy
	Walk   *pathwalk.Walker
	// Record records a denial. Refuse does too, unless somebody grants the connection.
	Record func(n *notify.Notification, d sandbox.Denial)
	Refuse func(n *notify.Notification, r Refusal) notify.Reply
	// Unread returns the errno of a call that could not be examined.
	Unread func(n *notify.Notification, call string, kind sandbox.DenialKind, err error) unix.Errno
	// MakeFile calls bind to make the file of a socket, if the policy allows it at path. mask
	// is the umask of the caller, own that of codeagent.
	MakeFile func(n *notify.Notification, path string, bind func(at pathwalk.Spot, mask, own uint32) unix.Errno) notify.Reply
	// Listens receives each port of the shared network on which the command begins to listen. It must not
	// wait, and may be nil.
	Listens func(n *notify.Notification, l sandbox.Listener)
	// Connected receives each connection to a host once it has ended, on any goroutine. It must not wait.
	Connected func(sandbox.Connection)
	// Program returns the program that makes a call: its file, and its name.
	Program func(n *notify.Notification) (executable, name string)
	// LookUp passes a name service question on. It returns false if nobody will answer.
	LookUp func(n *notify.Notification, client *netns.Client, q *netns.Question) bool

	// Records are the path sockets of the session.
	Records *Records
	// Network is the session's shared network, nil for none.
	Network *netns.Network
	// Inet: the filter lets the command have network sockets. They must not belong to
	// the network namespace whose cookie is HostNet.
	Inet    bool
	HostNet uint64
	// AskInet: the command has TCP and UDP sockets of codeagent's own network, and the broker makes each call
	// that gives one an address.
	AskInet bool
	// Datagrams: the broker sends each message that could have an address, so the command has datagram sockets
	// of AF_UNIX.
	Datagrams bool
	// Access is how the broker copies the command's sockets.
	Taking Access
	// Caps are the capabilities of the command.
	Caps uint64
	// Wake is an eventfd that wakes everything that works for the command when it ends.
	Wake int
}

// maxConnecting bounds the connections of one command in progress. Later ones wait for
// their turn.
const maxConnecting = 64

// Sockets serves the sockets of one command.
type Sockets struct {
	Options
	// client is the command's part in the shared network, nil without one.
	client *netns.Client
	// waits counts the goroutines with a connection in progress. turns has room for one
	// entry for each connection that has its turn. ending is closed when the broker ends.
	waits sync.WaitGroup
	// waiting counts the messages that wait to be sent or received.
	waiting atomic.Int32
	turns   chan struct{}
	ending  chan struct{}
	// grantedConnection are the connections to granted sockets; forgot: some are not remembered. Only the
	// broker's thread uses them.
	granted []grantedConnection
	forgot  bool
	// revocations counts the revocations, so that a connection in progress notices one.
	revocations atomic.Int64
	// latest are the datagrams that were logged last.
	latest datagrams
}

// New is for a command that is about to start. Call Stop, then Leave, at its end.
func New(o Options) *Sockets {
	return &Sockets{Options: o, client: o.Network.NewClient(o.Connected), turns: make(chan struct{}, maxConnecting), ending: make(chan struct{})}
}

// Stop ends all connections in progress and waits for their goroutines.
func (s *Sockets) Stop() {
	close(s.ending)
	_, _ = unix.Write(s.Wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	s.waits.Wait()
}

// Leave closes the command's connections to hosts after their data was sent.
func (s *Sockets) Leave() { s.client.Leave() }

// Blind reports whether the filter cannot ask the broker about the command's sockets of the
// shared network, because the broker cannot copy them.
func (s *Sockets) Blind() bool { return s.Inet && s.HostNet != 0 && s.Taking != TakesCopies }

// The broker itself connects and binds the command's sockets, on a copy of the socket and
// with a copy of the address that it read once. Neither call ever proceeds. Threat: before
// the kernel reads the arguments again, another thread could change the address or put
// another socket under the descriptor number.

// maxAddress is the size of struct sockaddr_storage.
const maxAddress = 128

// socketCall is a connect or a bind that is being answered.
type socketCall struct {
	*notify.Notification
	name string
	bind bool
	// sock is a copy of the command's socket or, with stand set, a socket to replace it.
	sock   int
	stand  *standIn
	domain int
	addr   []byte
	// hold, same and log are those of the pendingConnection.
	hold func() (release func())
	same func() bool
	log  func()
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
		a.Errno = n.Place(k.sock, k.stand.number, k.stand.flags)
	}
	return a
}

// perform makes the call on the broker's socket.
func (s *Sockets) perform(k *socketCall) notify.Reply {
	var err error
	if k.domain, err = unix.GetsockoptInt(k.sock, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil {
		return notify.Failed(kernel.ErrnoOf(err)) // not a socket
	}
	size := int32(k.Args[2])
	if size < 0 || size > maxAddress {
		return notify.Failed(unix.EINVAL)
	}
	if k.addr, err = notify.ReadMemory(k.Thread(), k.Args[1], int(size)); err != nil {
		return notify.Failed(s.Unread(k.Notification, k.name, sandbox.KindSocket, err))
	}
	if !k.Waits() {
		return notify.Failed(unix.ESRCH) // the caller is gone
	}
	inet := s.Inet && (k.domain == unix.AF_INET || k.domain == unix.AF_INET6)
	switch {
	case k.domain == unix.AF_UNIX:
		return s.unixCall(k)
	case inNetwork(k.sock, s.HostNet):
		// A socket of the host's network, which a granted service passed to the command.
		return s.refuseSocket(k.Notification, k.name, sandbox.KindSyscall, k.name)
	case inet && s.HostNet != 0:
		is, ok := netns.SocketOf(k.sock, k.domain)
		if !ok {
			return notify.Failed(unix.ENOPROTOOPT)
		}
		return s.inetCall(k, is)
	case s.AskInet && (k.domain == unix.AF_INET || k.domain == unix.AF_INET6):
		is, ok := netns.SocketOf(k.sock, k.domain)
		if !ok {
			return notify.Failed(unix.ENOPROTOOPT)
		}
		return s.besideCall(k, is)
	case inet, (s.Inet || s.AskInet) && k.domain == unix.AF_NETLINK && toKernel(k.addr):
		return s.bindOrConnect(k)
	}
	return s.refuseSocket(k.Notification, k.name, sandbox.KindSyscall, k.name)
}

// bindOrConnect makes the call with its own address.
func (s *Sockets) bindOrConnect(k *socketCall) notify.Reply {
	if k.bind {
		return notify.Failed(netns.AddressCall(unix.SYS_BIND, k.sock, k.addr))
	}
	return s.connect(k, k.addr)
}

// refuseSocket denies a call that cannot be granted, and records the denial.
func (s *Sockets) refuseSocket(n *notify.Notification, call string, kind sandbox.DenialKind, target string) notify.Reply {
	s.Record(n, sandbox.Denial{Kind: kind, Operation: call, Target: target, Errno: "EPERM"})
	return notify.Failed(unix.EPERM)
}

// toKernel reports whether a netlink address is the kernel's, port 0. Other port numbers belong
// to processes.
func toKernel(addr []byte) bool {
	return len(addr) >= unix.SizeofSockaddrNetlink && !slices.ContainsFunc(addr[4:8], func(c byte) bool { return c != 0 })
}

// inNetwork reports whether a socket belongs to the network namespace with that cookie. It
// is true if the socket's cookie cannot be read, and false for cookie 0, which is not a
// namespace. The kernel reuses no cookie until a reboot (SO_NETNS_COOKIE, Linux 5.14).
func inNetwork(socket int, cookie uint64) bool {
	if cookie == 0 {
		return false
	}
	its, err := unix.GetsockoptUint64(socket, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	return err != nil || its == cookie
}
