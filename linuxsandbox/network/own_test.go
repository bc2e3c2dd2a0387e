//go:build linux

package network

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// netVictim, in the environment, says what TestNetVictim does, and with which address.
const netVictim = "CODEAGENT_TEST_NET"

// TestNetVictim runs in the sandbox, and without it.
func TestNetVictim(t *testing.T) {
	verb, at, _ := strings.Cut(os.Getenv(netVictim), " ")
	switch verb {
	case "":
		attack.BodyOf(t, "TestSessionNetwork")
	case "serve":
		l, err := net.Listen("tcp", at)
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println("serving")
		greet(l, "inside")
	case "dial":
		c, err := net.Dial("tcp", at)
		if err != nil {
			fmt.Println(err)
			break
		}
		text, err := io.ReadAll(c)
		fmt.Println(string(text), err)
	case "pour":
		fmt.Println(pour())
	case "fetch", "connects":
		do := map[string]func(string, int64) (time.Duration, error){"fetch": fetch, "connects": connects}[verb]
		var size int64
		if _, err := fmt.Sscan(at, &at, &size); err != nil {
			fmt.Println(err)
		} else if took, err := do(at, size); err != nil {
			fmt.Println(err)
		} else {
			fmt.Println(took)
		}
	case "stdin":
		fmt.Println(useStdin(at))
	case "configure":
		for _, a := range netChanges {
			fmt.Println(a.name + ": " + attack.Word(a.do()))
		}
	}
	os.Exit(0)
}

// netVictimCommand runs this test binary as a victim.
func netVictimCommand(order string) sandbox.Command {
	return sandbox.Command{Path: os.Args[0], Args: []string{"tests", "-test.run=^TestNetVictim$"}, Dir: "/",
		Env: []string{netVictim + "=" + order, sandboxtest.NoPause}}
}

// greet sends a word to every client until l is closed.
func greet(l net.Listener, word string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, word)
		c.Close()
	}
}

// TestSessionNetwork: a later command reaches what an earlier one serves, and nobody else does. No
// command reaches the host. The host serves on the same port, which proves that there are two
// networks.
func TestSessionNetwork(t *testing.T) {
	b, other := backendtest.New(t), backendtest.New(t)
	defer b.Close()
	defer other.Close()
	if !sandboxtest.HasLayer(t, b, "netns") {
		t.Skip("no network namespaces here")
	}
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		if address == "[::1]:0" && !machine.IPv6().Works(t) {
			continue
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		go greet(l, "host")
		at := l.Addr().String()
		full := sandbox.ReadOnly()
		full.Network.Mode = sandbox.NetworkFull
		dial := func(b *linuxsandbox.Backend, p sandbox.Policy) string {
			_, out := sandboxtest.Output(t, b, p, netVictimCommand("dial "+at))
			return strings.TrimSpace(out)
		}
		if got := dial(b, sandbox.ReadOnly()); !strings.Contains(got, "connection refused") {
			t.Errorf("%s: before anything is served: %q", at, got)
		}
		stop := startServer(t, b, at)
		if got := dial(b, sandbox.WorkspaceWrite(t.TempDir())); got != "inside <nil>" {
			t.Errorf("%s: the next command: %q", at, got)
		}
		if got := dial(b, full); got != "host <nil>" {
			t.Errorf("%s: a command with the host's network: %q", at, got)
		}
		if got := dial(other, sandbox.ReadOnly()); !strings.Contains(got, "connection refused") {
			t.Errorf("%s: a command of another session: %q", at, got)
		}
		apart, err := b.Apart()
		if err != nil {
			t.Fatal(err)
		}
		if got := dial(apart, sandbox.ReadOnly()); !strings.Contains(got, "connection refused") {
			t.Errorf("%s: a program apart from the session: %q", at, got)
		}
		stopApart := startServer(t, apart, "127.0.0.1:8")
		if got := strings.TrimSpace(output(t, b, "dial 127.0.0.1:8")); !strings.Contains(got, "connection refused") {
			t.Errorf("a command reaches a program apart: %q", got)
		}
		if got := strings.TrimSpace(output(t, apart, "dial 127.0.0.1:8")); got != "inside <nil>" {
			t.Errorf("the program apart does not reach itself: %q", got)
		}
		stopApart()
		if err := apart.Close(); err != nil {
			t.Error(err)
		}
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(c); string(text) != "host" || err != nil {
			t.Errorf("%s: the host: %q, %v", at, text, err)
		}
		c.Close()
		stop()
		if got := dial(b, sandbox.ReadOnly()); !strings.Contains(got, "connection refused") {
			t.Errorf("%s: after the server's end: %q", at, got)
		}
		l.Close()
	}
}

// output is what a victim of b prints.
func output(t *testing.T, b *linuxsandbox.Backend, order string) string {
	t.Helper()
	_, out := sandboxtest.Output(t, b, sandbox.ReadOnly(), netVictimCommand(order))
	return out
}

// startServer runs a server in b's session, and returns when it serves.
func startServer(t *testing.T, b *linuxsandbox.Backend, at string) (stop func()) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := netVictimCommand("serve " + at)
	cmd.Stdout, cmd.Stderr = w, w
	server, err := sandboxtest.Start(b, t.Context(), sandbox.ReadOnly(), cmd, nil)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(r).ReadString('\n'); line != "serving\n" {
		t.Fatalf("the server: %q, %v", line, err)
	}
	return func() {
		server.Kill()
		if _, err := server.Wait(); err != nil {
			t.Error(err)
		}
	}
}

func TestSessionNetworkAsUser(t *testing.T) {
	tests.AsUser(t, "^(TestSessionNetwork|TestNobodyConfiguresTheNetwork|TestSocketAsStdin)$")
}

// netChanges are ways to configure a network namespace, or to reach a lower layer of it. With the
// capabilities, none of them fails for lack of permission.
var netChanges = []struct {
	name string
	do   func() error
}{
	{"flags of the loopback", loopbackUp},
	{"a device", func() error {
		body := make([]byte, unix.SizeofIfInfomsg)
		return routeRequest(unix.RTM_NEWLINK, append(body, 7, 0, unix.IFLA_IFNAME, 0, 'l', 'o', 0, 0))
	}},
	{"an address", func() error {
		body := []byte{unix.AF_INET, 32, 0, 0, 1, 0, 0, 0}
		return routeRequest(unix.RTM_NEWADDR, append(body, 8, 0, unix.IFA_LOCAL, 0, 127, 9, 9, 9))
	}},
	{"a route", newRoute},
	{"a setting", func() error { return os.WriteFile("/proc/sys/net/ipv4/ip_default_ttl", []byte("65"), 0) }},
	{"a raw socket", func() error { return newSocket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) }},
	{"a packet socket", func() error { return newSocket(unix.AF_PACKET, unix.SOCK_RAW, 0) }},
	{"a socket of the packet filter", func() error { return newSocket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER) }},
}

// loopbackUp sets the flags of the loopback device (netdevice(7)).
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// newRoute routes everything to the loopback.
func newRoute() error {
	body := []byte{unix.AF_INET, 0, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, unix.RT_SCOPE_LINK, unix.RTN_UNICAST, 0, 0, 0, 0}
	return routeRequest(unix.RTM_NEWROUTE, append(body, 8, 0, unix.RTA_OIF, 0, 1, 0, 0, 0))
}

func newSocket(family, kind, proto int) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, proto)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// routeRequest asks the kernel to create an object (rtnetlink(7)). Its numbers are little-endian,
// as on all machines under test.
func routeRequest(kind uint16, body []byte) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	const flags = unix.NLM_F_REQUEST | unix.NLM_F_ACK | unix.NLM_F_CREATE | unix.NLM_F_EXCL
	head := []byte{byte(unix.SizeofNlMsghdr + len(body)), 0, 0, 0, byte(kind), 0, byte(flags & 0xff), byte(flags >> 8), 1, 0, 0, 0, 0, 0, 0, 0}
	if err := unix.Sendto(fd, append(head, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	messages, err := syscall.ParseNetlinkMessage(answer[:n])
	if err != nil || len(messages) == 0 || messages[0].Header.Type != unix.NLMSG_ERROR {
		return fmt.Errorf("no answer: %v, %v", messages, err)
	}
	if code := -int32(uint32(messages[0].Data[0]) | uint32(messages[0].Data[1])<<8 | uint32(messages[0].Data[2])<<16 | uint32(messages[0].Data[3])<<24); code != 0 {
		return unix.Errno(code)
	}
	return nil
}

// TestNobodyConfiguresTheNetwork: commands cannot change the session's network. Without a sandbox,
// a process with the capabilities makes each attempt in a network namespace of its own.
func TestNobodyConfiguresTheNetwork(t *testing.T) {
	b := backendtest.New(t)
	defer b.Close()
	if !sandboxtest.HasLayer(t, b, "netns") {
		t.Skip("no network namespaces here")
	}
	bare := exec.Command(os.Args[0], "-test.run=^TestNetVictim$")
	bare.Env = netVictimCommand("configure").Env
	bare.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if os.Getuid() != 0 {
		bare.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		bare.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		bare.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_RAW}
	}
	free, err := bare.Output()
	if err != nil {
		t.Fatal(err)
	}
	_, boxed := sandboxtest.Output(t, b, sandbox.ReadOnly(), netVictimCommand("configure"))
	const denied = "not permitted"
	t.Logf("free:\n%sboxed:\n%s", free, boxed)
	for i, line := range strings.Split(strings.TrimSpace(string(free)), "\n") {
		within := strings.Split(boxed, "\n")[i]
		switch {
		case strings.Contains(line, denied) || strings.Contains(line, "denied"):
			t.Errorf("without a sandbox: %s", line)
		case !strings.Contains(within, denied) && !strings.Contains(within, "denied") && !strings.Contains(within, "read-only"):
			t.Errorf("in the sandbox: %s", within)
		}
	}
}

// useStdin connects the socket that is its standard input to another address, and then creates a
// new socket.
func useStdin(at string) (said string) {
	to, err := net.ResolveUDPAddr("udp", at)
	if err == nil {
		err = unix.Connect(0, &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())})
	}
	if err == nil {
		_, err = unix.Write(0, []byte("out"))
	}
	return fmt.Sprintf("connect: %v; socket: %v", err, newSocket(unix.AF_INET, unix.SOCK_STREAM, 0))
}

// TestSocketAsStdin: a socket belongs to the network in which it was created. A command that starts
// with a socket of the host cannot connect it.
func TestSocketAsStdin(t *testing.T) {
	b := backendtest.New(t)
	defer b.Close()
	if !sandboxtest.HasLayer(t, b, "netns") {
		t.Skip("no network namespaces here")
	}
	listener, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, row := range []struct {
		name         string
		family, kind int
		pair, open   bool
	}{
		{"UDP", unix.AF_INET, unix.SOCK_DGRAM, false, false},
		{"TCP", unix.AF_INET, unix.SOCK_STREAM, false, false},
		{"AF_UNIX, not connected", unix.AF_UNIX, unix.SOCK_STREAM, false, false},
		{"a pair of datagrams", unix.AF_UNIX, unix.SOCK_DGRAM, true, false},
		{"a pair of streams", unix.AF_UNIX, unix.SOCK_STREAM, true, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			var fd int
			if row.pair {
				pair, err := unix.Socketpair(row.family, row.kind|unix.SOCK_CLOEXEC, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer unix.Close(pair[1])
				fd = pair[0]
			} else if fd, err = unix.Socket(row.family, row.kind|unix.SOCK_CLOEXEC, 0); err != nil {
				t.Fatal(err)
			}
			stdin := os.NewFile(uintptr(fd), "stdin")
			defer stdin.Close()
			cmd := netVictimCommand("stdin " + listener.LocalAddr().String())
			if row.name == "UDP" {
				bare := exec.Command(cmd.Path, cmd.Args[1:]...)
				bare.Env, bare.Stdin = cmd.Env, stdin
				if out, err := bare.Output(); err != nil || string(out) != "connect: <nil>; socket: <nil>\n" {
					t.Fatalf("without a sandbox: %q, %v", out, err)
				}
			}
			cmd.Stdin = stdin
			_, out := sandboxtest.Output(t, b, sandbox.ReadOnly(), cmd)
			connected, made := strings.Contains(out, "connect: <nil>"), strings.Contains(out, "socket: <nil>")
			if connected || made != row.open {
				t.Errorf("%q, want no connection, and new sockets: %v", out, row.open)
			}
		})
	}
}

// TestNetworkSelfTest: a keeper that finds itself in codeagent's network, or in one with a route
// outside, starts no command.
func TestNetworkSelfTest(t *testing.T) {
	for _, row := range []struct {
		name, want string
		spoil      func(b *linuxsandbox.Backend) error
	}{
		{"codeagent's own network", "codeagent's own", func(b *linuxsandbox.Backend) error {
			unix.Close(backendtest.Namespaces(b).Net)
			backendtest.Namespaces(b).Net = -1
			return nil
		}},
		{"a way out", "way out", func(b *linuxsandbox.Backend) error { return doIn(backendtest.Namespaces(b).Net, newRoute) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := backendtest.New(t)
			defer b.Close()
			if !sandboxtest.HasLayer(t, b, "netns") {
				t.Skip("no network namespaces here")
			}
			if err := row.spoil(b); errors.Is(err, unix.EPERM) {
				t.Skip("needs root")
			} else if err != nil {
				t.Fatal(err)
			}
			_, err := sandboxtest.Start(b, context.Background(), sandbox.ReadOnly(), netVictimCommand(""), nil)
			var start *sandbox.StartError
			if !errors.As(err, &start) || start.Code != sandbox.ExitCannotConfine || start.Stage != "self-test" || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want a failure of the self-test that says %q", err, row.want)
			}
		})
	}
}

// doIn calls do in another network namespace, on a thread that then ends.
func doIn(fd int, do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Setns(fd, unix.CLONE_NEWNET)
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}
