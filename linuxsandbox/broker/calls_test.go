//go:build linux

package broker

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"codeagent/linuxsandbox/broker/calls"
	"codeagent/linuxsandbox/broker/judge"
	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/linuxsandbox/filter"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/netns"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// TestNotifiedCalls: every call that the filter asks about, with arguments of many kinds,
// gets an errno or proceeds by a rule that may confine it. If the caller cannot be
// examined, only calls that concern the caller alone proceed.
func TestNotifiedCalls(t *testing.T) {
	numbers := askedNumbers(t)
	unreadable := unreadableProcess(t)
	gone := exec.Command("/bin/true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	for _, caller := range []struct {
		name  string
		tid   int
		blind bool
	}{
		{"memory unreadable, /proc shut", unreadable, true},
		{"gone", gone.Process.Pid, true},
		{"can be looked at", os.Getpid(), false},
	} {
		for name, spec := range notifiedSpecs(t) {
			t.Run(caller.name+"/"+name, func(t *testing.T) {
				done := make(chan struct{})
				go func() {
					defer close(done)
					if err := sockets.BecomeCommand(spec.KeptCaps()); err != nil { // the thread ends with it
						t.Error(err)
						return
					}
					b := notifiedBroker(t, spec)
					answerAll(t, b, numbers, caller.tid, caller.blind)
					b.walk.Close()
				}()
				<-done
			})
		}
	}
}

// answerAll lets b answer each call with many arguments.
func answerAll(t *testing.T, b *Broker, numbers map[string]int, tid int, blind bool) {
	r := rand.New(rand.NewPCG(1, 1))
	path := append([]byte("/etc/hostname"), 0)
	values := []uint64{0, 1, 0o600, 0o4755, unix.O_WRONLY | unix.O_CREAT, unix.O_TMPFILE | unix.O_RDWR, ^uint64(99), 999, ^uint64(0), uint64(os.Getpid()), 16, 24, unix.TIOCSWINSZ,
		uint64(uintptr(unsafe.Pointer(&path[0])))}
	allowed := map[notify.Rule][]string{
		notify.ByCaller: {"umask", "exit_group", "getsockname", "getpeername", "recvfrom", "recvmsg", "recvmmsg", "listen"},
		notify.ByDomain: {"ptrace", "process_vm_readv", "process_vm_writev"},
	}
	if b.handlers.sockets.AskInet { // a socket of the host's network: no call proceeds that gives it an address
		allowed[notify.ByCaller] = allowed[notify.ByCaller][:7]
	}
	allowed[notify.BySignals] = []string{"kill", "pidfd_open"}
	for _, c := range calls.Files {
		if c.Kind == calls.Access {
			allowed[notify.ByCaller] = append(allowed[notify.ByCaller], c.Name)
		}
		allowed[notify.ByLandlock] = append(allowed[notify.ByLandlock], c.Name)
	}
	for name, nr := range numbers {
		for range 60 {
			n := &notify.Notification{TID: uint32(tid), NR: int32(nr)}
			for i := range n.Args {
				n.Args[i] = values[r.IntN(len(values))]
			}
			a := b.handleAll(n)
			may := !a.Proceeds() || slices.Contains(allowed[a.Rule()], name)
			if blind && a.Proceeds() && a.Rule() != notify.ByCaller && a.Rule() != notify.ByDomain && a.Rule() != notify.BySignals {
				may = false
			}
			if !may || !a.Proceeds() && a.Errno == 0 && !a.Given && name != "flock" {
				t.Errorf("%s %#x: %+v", name, n.Args, a)
				break
			}
		}
	}
	runtime.KeepAlive(path)
}

// askedNumbers returns the calls that the filter asks about.
func askedNumbers(t *testing.T) map[string]int {
	lib, out := library(t), map[string]int{}
	all := filter.Options{AllowInet: true, AskInet: true, AllowUnix: true, Ask: true, AskSends: true, AskLocks: true, AskReads: true, AskSignals: true}
	for _, name := range append(filter.Asked(all), filter.Asked(filter.Options{Ask: true})...) {
		if nr, ok := lib.SyscallNames[name]; ok {
			out[name] = nr
		}
	}
	if len(out) < 60 {
		t.Errorf("only %d calls are asked about", len(out))
	}
	return out
}

// notifiedSpecs are commands in workspaces below several folders, one with root's file
// capabilities.
func notifiedSpecs(t *testing.T) map[string]*spec.Spec {
	out := map[string]*spec.Spec{}
	for name, base := range map[string]string{"elsewhere": t.TempDir(), "below /tmp": "/tmp", "below /var/tmp": "/var/tmp", "below /dev/shm": kernel.ShmDir} {
		ws, err := os.MkdirTemp(base, "codeagent-calls")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(ws) })
		out[name] = &spec.Spec{Ask: true, Network: true, HostNet: 1, Reads: base == "/var/tmp", Signals: true, Command: spec.Command{Dir: ws}, KeepFileCaps: os.Getuid() == 0 && base == kernel.ShmDir}
	}
	beside := *out["elsewhere"]
	beside.Network, beside.HostNet, beside.AskNetwork, beside.PathSockets = false, 0, true, true
	out["in codeagent's own network"] = &beside
	return out
}

// notifiedBroker is a broker that serves only the test.
func notifiedBroker(t *testing.T, spec *spec.Spec) *Broker {
	ws := string(spec.Command.Dir)
	declared := sandbox.WorkspaceWrite(ws)
	declared.Temp = filepath.Join(ws, "temp")
	p := sandboxtest.Resolved(declared)
	session := &Session{Files: new(judge.Files)}
	if spec.AskNetwork {
		var err error
		if session.Net, err = netns.Beside("", netns.Outside{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(session.Net.Close)
	}
	b, err := assemble(Options{
		Policy: p, Protection: judge.PlanProtection(p, []string{ws}, nil), Order: spec, Session: session,
		Taking: sockets.TakesCopies, Life: t.Context(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// unreadableProcess starts a process that a thread without capabilities cannot examine.
func unreadableProcess(t *testing.T) int {
	t.Helper()
	dir, err := os.MkdirTemp("", "blind")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "blind")
	copyOf(t, "/bin/sleep", program)
	if err := os.Chmod(program, 0o111); err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: program, Args: []string{"sleep", "1000"}}
	if os.Getuid() == 0 { // root could examine its own process
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd.Process.Pid
}

// stranger is a user that owns nothing.
const stranger = 4712

// library is a system call table by others, which ours is checked against.
func library(t *testing.T) *arch.Info {
	t.Helper()
	info, err := arch.GetInfo(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// copyOf copies a program. No process may be forked while the copy is open for writing: the
// child would inherit the descriptor, and execve of the copy would fail with ETXTBSY.
func copyOf(t *testing.T, from, to string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}
