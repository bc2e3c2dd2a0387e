//go:build linux

package processes

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/notify/notifytest"
	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// seen is a log that keeps what it is given.
type seen struct {
	denials []sandbox.Denial
	missed  int
}

func (s *seen) Record(_ *notify.Notification, d sandbox.Denial) { s.denials = append(s.denials, d) }
func (s *seen) Sees() bool                                      { return true }
func (s *seen) Missed()                                         { s.missed++ }
func (s *seen) Ends() int                                       { return 0 }

// empty is a walk on which nothing exists.
type empty struct{}

func (empty) Lstat(pathwalk.Caller, string) (st unix.Stat_t, err error) { return st, unix.ENOENT }
func (empty) HostPath(int) string                                       { return "/program" }

func callsOf(keeper int, dropped uint64, log Log) *Calls {
	return New(notify.RulesOf(&spec.Spec{Ask: true}), keeper, func() uint64 { return dropped }, empty{}, log)
}

// TestLimit: a call on the limits of a process proceeds only if its number can mean nothing but the caller.
func TestLimit(t *testing.T) {
	i := slices.IndexFunc(calls.Processes, func(c calls.Process) bool { return c.Name == "prlimit64" })
	c := &calls.Processes[i]
	for _, row := range []struct {
		who    int
		errno  unix.Errno
		denied int
	}{{os.Getpid(), 0, 0}, {os.Getppid(), unix.EPERM, 1}, {1, unix.EPERM, 1}, {-1, unix.ESRCH, 0}} {
		log := &seen{}
		n, answer := notifytest.Call(t, unix.SYS_PRLIMIT64, uintptr(row.who), unix.RLIMIT_NOFILE, 0, 0)
		a := callsOf(os.Getpid(), 0, log).Limit(n, c)
		if a.Proceeds() != (row.errno == 0) || a.Errno != row.errno || len(log.denials) != row.denied {
			t.Errorf("of %d: %+v, %+v", row.who, a, log.denials)
		}
		if got := answer(a); got.Errno != row.errno {
			t.Errorf("of %d: the caller got %v", row.who, got.Errno)
		}
	}
	if a := callsOf(1, 0, &seen{}).Limit(&notify.Notification{TID: uint32(os.Getpid())}, c); a.Errno != unix.ESRCH {
		t.Errorf("a caller that is gone: %+v", a)
	}
}

// TestTraces: a process of the command may be traced, the keeper and what is above it may not, and no process
// is traced by the keeper.
func TestTraces(t *testing.T) {
	child := exec.Command("/bin/sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	for _, row := range []struct {
		name     string
		nr, a, b int
		keeper   int
		may      bool
	}{
		{"a child", unix.SYS_PTRACE, unix.PTRACE_ATTACH, child.Process.Pid, os.Getpid(), true},
		{"the keeper", unix.SYS_PTRACE, unix.PTRACE_ATTACH, os.Getpid(), os.Getpid(), false},
		{"a process elsewhere", unix.SYS_PTRACE, unix.PTRACE_ATTACH, child.Process.Pid, child.Process.Pid, false},
		{"no process", unix.SYS_PTRACE, unix.PTRACE_ATTACH, 0, os.Getpid(), false},
		{"memory of a child", unix.SYS_PROCESS_VM_READV, child.Process.Pid, 0, os.Getpid(), true},
		{"memory of the keeper", unix.SYS_PROCESS_VM_WRITEV, os.Getpid(), 0, os.Getpid(), false},
		{"by the keeper", unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, os.Getppid(), false},
		{"another call", unix.SYS_KILL, child.Process.Pid, 0, os.Getpid(), false},
	} {
		n := &notify.Notification{TID: uint32(os.Getpid()), NR: int32(row.nr), Args: [6]uint64{uint64(row.a), uint64(row.b)}}
		if got := callsOf(row.keeper, 0, &seen{}).Traces(n); got != row.may {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}

// TestSignals: a signal for a process that is not the command's is recorded, with its name.
func TestSignals(t *testing.T) {
	parent := os.Getppid()
	for _, row := range []struct {
		who, keeper, denied int
	}{{parent, os.Getpid(), 1}, {os.Getpid(), parent, 0}, {1, os.Getpid(), 0}, {-1, os.Getpid(), 0}} {
		log := &seen{}
		callsOf(row.keeper, 0, log).NoteSignal(&notify.Notification{TID: uint32(os.Getpid())}, row.who)
		if len(log.denials) != row.denied {
			t.Errorf("to %d: %+v", row.who, log.denials)
		}
		if row.denied > 0 && (log.denials[0].Kind != sandbox.KindSignal || len(log.denials[0].Target) <= len("process "+strconv.Itoa(row.who))) {
			t.Errorf("to %d: %+v", row.who, log.denials[0])
		}
	}
}

// TestForbidden: a denied socket has the errno at which programs fall back, and a denial that says what was
// asked for and whether the user could have it without a sandbox.
func TestForbidden(t *testing.T) {
	const raw = 1 << unix.CAP_NET_RAW
	for _, row := range []struct {
		family, kind int
		dropped      uint64
		errno        unix.Errno
		denial       sandbox.DenialKind
		target       string
		moot         bool
	}{
		{unix.AF_INET, unix.SOCK_STREAM, 0, unix.EPERM, sandbox.KindNetwork, "tcp", false},
		{unix.AF_INET6, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC, 0, unix.EPERM, sandbox.KindNetwork, "udp", false},
		{unix.AF_INET, unix.SOCK_RAW, 0, unix.EPERM, sandbox.KindNetwork, "raw", true},
		{unix.AF_INET, unix.SOCK_RAW, raw, unix.EPERM, sandbox.KindCapability, "raw", false},
		{unix.AF_PACKET, unix.SOCK_DGRAM, 0, unix.EPERM, sandbox.KindNetwork, "raw", true},
		{unix.AF_NETLINK, unix.SOCK_RAW, 0, unix.EPERM, sandbox.KindNetwork, "netlink", false},
		{unix.AF_UNIX, unix.SOCK_DGRAM, 0, unix.EPERM, sandbox.KindSocket, "unix datagram", false},
		{unix.AF_VSOCK, unix.SOCK_STREAM, 0, unix.EAFNOSUPPORT, sandbox.KindNetwork, "family 40", false},
	} {
		log := &seen{}
		h := Forbidden{func() uint64 { return row.dropped }, log}
		a := h.Socket(&notify.Notification{Args: [6]uint64{uint64(row.family), uint64(row.kind)}}, "socket")
		if a.Proceeds() || a.Errno != row.errno || len(log.denials) != 1 {
			t.Errorf("%+v: %+v, %+v", row, a, log.denials)
			continue
		}
		if d := log.denials[0]; d.Kind != row.denial || d.Target != row.target || d.Moot != row.moot || d.Operation != "socket" || d.Errno != unix.ErrnoName(row.errno) {
			t.Errorf("%+v: %+v", row, d)
		}
	}
}
