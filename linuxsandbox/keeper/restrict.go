//go:build linux

package keeper

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"codeagent/linuxsandbox/filter"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// restriction is the result of restrict.
type restriction struct {
	facts spec.Facts
	// signals is the ruleset of the command's own layer, or -1.
	signals int
	// listener receives the filter's notifications, or -1.
	listener int
}

// restrict confines the calling thread for good and tests that the confinement holds. The order
// matters: Landlock and seccomp require no_new_privs from a thread without capabilities, and the
// filter comes last because it intercepts some of the other calls. The thread must be locked to its
// goroutine and must not be the process's first, which stays unconfined.
func restrict(s *task) (*restriction, *spec.Failure) {
	r := &restriction{listener: -1, facts: spec.Facts{LandlockABI: LandlockABI(), Root: asRoot(), Thread: unix.Gettid()}}
	alone := s.Walls != nil && !s.Walls.Shared
	if s.Walls != nil && s.Mounts != nil || alone && (s.Ask || s.PathSockets) {
		return nil, fail("spec", errors.New("bug: in another program's mounts the keeper makes none, and alone in them it has no broker"))
	}
	if alone {
		r.facts.LandlockABI = 0 // the walls stand in for Landlock where the kernel lacks it
		if err := cutOff(); err != nil && !s.Walls.Follows {
			return nil, fail("mounts", err)
		}
	}
	abi := r.facts.LandlockABI
	if abi == 0 && s.Walls != nil && !alone {
		return nil, fail("landlock", errors.New("what is mounted for several commands needs Landlock to keep them apart, which this kernel lacks"))
	}
	if abi < s.LandlockABI {
		return nil, fail("landlock", fmt.Errorf("the kernel has Landlock ABI %d, and codeagent counts on %d", abi, s.LandlockABI))
	}
	if abi == 0 && !s.Probe && s.Walls == nil && (s.Mounts == nil || s.Mounts.HostProc || !s.Ask) {
		return nil, fail("landlock", errors.New("without Landlock a command needs mounts, a PID namespace and a broker"))
	}
	var ruleset int
	var err error
	if abi > 0 {
		if ruleset, err = buildRuleset(abi, s); err != nil {
			return nil, fail("landlock", err)
		}
		defer unix.Close(ruleset)
	}
	if r.signals, err = signalRuleset(abi); err != nil {
		return nil, fail("landlock", err)
	}
	parent, err := observe(s)
	if err != nil {
		return nil, fail("self-test", err)
	}
	if r.facts.CoreHandler, err = forbidCores(); err != nil {
		return nil, fail("rlimits", err)
	}
	keep := s.KeptCaps()
	if err := kernel.DropCaps(keep); err != nil {
		return nil, fail("capabilities", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, fail("no_new_privs", err)
	}
	if abi > 0 {
		if err := ll.LandlockRestrictSelf(ruleset, restrictFlags(abi)); err != nil {
			return nil, fail("landlock", err)
		}
	}
	// With the filter on, these calls would wait for a broker that does not answer yet.
	r.facts.SignalProof, err = testSignals(parent, abi)
	if err := errors.Join(err, testNetwork(s), testWrites(s, abi), testUnreadable(s)); err != nil {
		return nil, fail("self-test", err)
	}
	if err := r.filter(s); err != nil {
		return nil, fail("seccomp", err)
	}
	if err := selfTest(s, keep); err != nil {
		return nil, fail("self-test", err)
	}
	return r, nil
}

// forbidCores keeps the command's memory inside the sandbox. The host may pipe the image of a
// crashed process to a handler, which runs outside any sandbox. A core limit of 0 does not prevent
// that; a limit of 1 does (core(5), fs/coredump.c). The filter keeps the command from changing the
// limit. A hard limit of 0 cannot be raised and stays; handled then reports whether the host has a
// handler.
func forbidCores() (handled bool, err error) {
	err = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1})
	if err != unix.EPERM {
		return false, err
	}
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err == nil {
		err = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	}
	return len(pattern) > 0 && (pattern[0] == '|' || pattern[0] == '@'), err
}

// filter installs the seccomp filter on the calling thread. A probe may go without the listener:
// the kernel allows only one in a chain of filters, and codeagent may itself run under codeagent.
func (r *restriction) filter(s *task) error {
	o := filter.Options{
		AllowInet: s.Network, AskInet: s.AskNetwork, AllowUnix: s.PathSockets, Ask: s.Ask, AskSends: s.Sends(), AskLocks: s.Locks, AskReads: s.Reads, AskLooks: s.Looks, AskPrograms: s.Looks || s.Programs && s.Ask, AskSignals: s.Signals,
		OwnIPC: s.Mounts != nil || s.Walls != nil, Traces: s.Ask, Empties: r.facts.LandlockABI < spec.TruncateABI && s.Walls == nil, User: uint32(unix.Getuid()), Group: uint32(unix.Getgid()),
	}
	prog, err := filter.Program(runtime.GOARCH, o)
	if err != nil {
		return err
	}
	r.listener, err = filter.Install(prog, o.Brokered())
	if err == nil {
		r.facts.Broker = o.Brokered()
		return nil
	}
	if !s.Probe || !o.Brokered() {
		return err
	}
	r.facts.NoBroker = err.Error()
	if errors.Is(err, unix.EBUSY) {
		r.facts.NoBroker = "another sandbox around this one holds the listener, and the kernel allows one"
	}
	if prog, err = filter.Program(runtime.GOARCH, filter.Options{AllowInet: s.Network, OwnIPC: o.OwnIPC, Empties: o.Empties, User: o.User, Group: o.Group}); err != nil {
		return err
	}
	_, err = filter.Install(prog, false)
	return err
}

// fail describes a step that failed before the command could run.
func fail(stage string, err error) *spec.Failure {
	f := &spec.Failure{Code: sandbox.ExitCannotConfine, Stage: stage, Text: err.Error()}
	var errno unix.Errno
	if errors.As(err, &errno) {
		f.Errno = int(errno)
	}
	return f
}

// asRoot reports whether the command runs as uid 0.
func asRoot() bool { return os.Geteuid() == 0 }
