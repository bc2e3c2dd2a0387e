//go:build linux

package linuxsandbox

import (
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The commands of one session share a user namespace (an ordinary user's) and a
// network namespace with nothing but a loopback in it, so that what one command
// serves another one reaches. A helper is cloned into both, brings the loopback
// up and ends; what keeps them alive are two descriptors of codeagent's, and
// with codeagent they go.

// sessionArg makes the helper set a session's namespaces up. Descriptor 3 is a
// socket: the answer goes there, and end of file is the word to leave.
const sessionArg = "--session"

// session is what the commands of a Backend share.
type session struct {
	user, net int // descriptors, -1: none
	// hostNet is the cookie of the network namespace that codeagent itself is in.
	hostNet uint64
	// hostPIDs: its keepers get no PID namespace.
	hostPIDs bool
	// door are sockets of the network namespace that codeagent holds.
	door []doorSocket
}

var noSession = session{user: -1, net: -1}

func (s session) close() {
	for _, fd := range []int{s.user, s.net} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	for _, d := range s.door {
		unix.Close(d.fd)
	}
}

// joinedBy is what a keeper with this Spec joins; nil: it has no namespaces.
func (s session) joinedBy(spec *Spec) *session {
	if spec.Mounts == nil {
		return nil
	}
	if spec.HostNet == 0 {
		s.net = -1
	}
	s.hostPIDs = spec.Mounts.HostProc
	return &s
}

// newSession makes the namespaces. As root there is no user namespace: root has
// the capabilities, and in a user namespace the files of others would be out of
// its reach. resolvers are the name servers of this machine.
func newSession(helper int, root bool, resolvers []netip.Addr) (session, error) {
	s := noSession
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return s, err
	}
	defer unix.Close(pair[0])
	if s.hostNet, err = netCookie(pair[0]); err != nil {
		unix.Close(pair[1])
		return s, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		unix.Close(pair[1])
		return s, err
	}
	defer null.Close()
	sys := &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_NEWNET}
	if !root {
		sys.Cloneflags |= unix.CLONE_NEWUSER
		sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		sys.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE}
	}
	args := []string{HelperName, sessionArg}
	for _, r := range resolvers {
		args = append(args, r.String())
	}
	pid, err := syscall.ForkExec("/proc/self/fd/"+strconv.Itoa(helper), args, &syscall.ProcAttr{
		Dir: "/", Env: keeperEnv, Sys: sys, Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), uintptr(pair[1])},
	})
	unix.Close(pair[1])
	if err != nil {
		return s, os.NewSyscallError("clone", err)
	}
	defer wait(pid)
	defer unix.Shutdown(pair[0], unix.SHUT_RDWR)
	if s.door, err = receiveDoor(pair[0]); err != nil {
		return s, err
	}
	if s.net, err = openNamespace(pid, "net"); err == nil && !root {
		s.user, err = openNamespace(pid, "user")
	}
	if err != nil {
		s.close()
		return noSession, err
	}
	return s, nil
}

func openNamespace(pid int, kind string) (int, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/ns/"+kind, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: "the " + kind + " namespace", Err: err}
	}
	defer unix.Close(fd)
	return dupAbove(fd, lowestFD)
}

// sessionMain is the helper's part.
func sessionMain(resolvers []string) int {
	door, err := openDoor(resolvers)
	if sendDoor(controlFD, door, err) != nil {
		return 1
	}
	var word [1]byte
	_ = readFull(controlFD, word[:]) // until codeagent has what it wants
	return 0
}

// allowPing gives the command's group the sockets that ping(8) makes where it has
// no privilege: a new network has them for nobody. There is only the loopback to
// send to, and where /proc/sys cannot be written nothing but ping is lost.
func allowPing() {
	group := strconv.Itoa(os.Getegid())
	_ = os.WriteFile("/proc/sys/net/ipv4/ping_group_range", []byte(group+" "+group), 0)
}

// loopbackUp does what `ip link set lo up` does (netdevice(7)).
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var request struct {
		name  [unix.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:], "lo")
	request.flags = unix.IFF_UP | unix.IFF_RUNNING
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return errno
	}
	return nil
}
