//go:build linux

package network

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/filter"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// TestStandIns: where a container refuses pidfd_getfd, the probe notices, and path sockets work
// nevertheless.
func TestStandIns(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestStandInsChild$", "-test.v")
	cmd.Env = append(os.Environ(), backendtest.EnvFilter+"=refuse")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestStandInsChild") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestStandInsChild(t *testing.T) {
	switch os.Getenv(backendtest.EnvFilter) {
	case "refuse":
		refuseGetfd(t)
	case "refused":
		th := backendtest.NewTheatre(t, backendtest.NewPlain(t))
		defer th.Backend.Close()
		if backendtest.Facts(t, th.Backend).Sockets != sockets.TakesStandIns {
			t.Fatalf("it takes sockets in way %d: %s", backendtest.Facts(t, th.Backend).Sockets, backendtest.Facts(t, th.Backend).NoSockets)
		}
		text, denials := th.Python(t, `
l = socket.socket(socket.AF_UNIX); l.bind("s"); l.listen(1); l.setblocking(True)
c = socket.socket(socket.AF_UNIX); c.setblocking(False); c.connect("s"); s, _ = l.accept(); s.send(b"hello"); print(c.recv(9), l.getsockname(), os.get_inheritable(c.fileno()), c.getblocking())
d = os.dup(l.fileno())
try: socket.socket(socket.AF_UNIX).bind("../away/s")
except OSError as e: print(e.strerror)`)
		if text != "b'hello' s False False\nOperation not permitted\n" || len(denials) != 1 {
			t.Errorf("%q %+v", text, denials)
		}
	default:
		attack.BodyOf(t, "TestStandIns")
	}
}

// refuseGetfd starts the test again under a filter like that of a container.
func refuseGetfd(t *testing.T) {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	const load, jumpEqual, ret = 0x20, 0x15, 0x06
	prog := []bpf.RawInstruction{
		{Op: load}, {Op: jumpEqual, Jf: 1, K: unix.SYS_PIDFD_GETFD},
		{Op: ret, K: uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EPERM)}, {Op: ret, K: unix.SECCOMP_RET_ALLOW},
	}
	if _, err := filter.Install(prog, false); err != nil {
		t.Fatal(err)
	}
	t.Setenv(backendtest.EnvFilter, "refused")
	t.Fatal(syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
}
