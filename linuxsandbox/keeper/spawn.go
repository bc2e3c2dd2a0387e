//go:build linux

package keeper

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// The keeper forks the command itself, and not through package syscall, for one reason: the child
// must restrict itself once more between fork and exec (signalRuleset). A process may signal every
// process in its Landlock domain. Without its own domain the command could kill the keeper's
// thread, and with it the keeper.

// childPlan is all that the child needs, prepared before the fork: the child must not allocate
// memory or take a lock.
type childPlan struct {
	paths      []*byte // tried in turn, as execvp does
	argv, envv []*byte // with a final nil
	dir        *byte
	limits     []childLimit
	group      int // the descriptor by which it joins its control group, or 0
	signals    int // ruleset of the command's own Landlock layer, or -1
	flags      uint32
	setsid     bool
	terminal   bool // descriptor 0 becomes its controlling terminal
	keeper     int  // the keeper's pid; another parent means that the keeper died during the fork
	report     int  // the pipe that reports a failed step; exec closes it
	lastFD     int  // the result of closeOnExec
}

type childLimit struct {
	resource int
	limit    unix.Rlimit
}

// These are the steps of the child, reported when one fails.
const (
	stepSession = iota + 1
	stepTerminal
	stepDeathSignal
	stepDir
	stepLimit
	stepFiles
	stepGroup
	stepDomain
	stepSignals
	stepExec
)

var stepNames = [...]string{
	stepSession: "session", stepTerminal: "terminal", stepDeathSignal: "death signal", stepDir: "working directory", stepLimit: "limits",
	stepFiles: "files", stepGroup: "cgroup", stepDomain: "landlock", stepSignals: "signals", stepExec: "exec",
}

// spawn starts the command of s on the calling thread and returns when the exec is done. The thread
// must be restricted, and must live as long as the command: when it ends, the command gets its
// death signal. Only descriptors 0 to 2 are open in the command, because any other one could be a
// way out.
func spawn(s *task, r *restricted) (pid, pidfd int, bad *spec.Failure) {
	c, names, err := newChildPlan(s, r)
	if err != nil {
		return 0, -1, fail("command", err)
	}
	var report [2]int
	if err := unix.Pipe2(report[:], unix.O_CLOEXEC); err != nil {
		return 0, -1, fail("exec", err)
	}
	c.report = report[1]
	// No signal handler of Go may run in the child: it has one thread and no runtime.
	all, old := ^uint64(0), uint64(0)
	kernel.Sigprocmask(&all, &old)
	pid, pidfd, errno := forkExec(c)
	kernel.Sigprocmask(&old, nil)
	unix.Close(report[1])
	defer unix.Close(report[0])
	if errno != 0 {
		return 0, -1, fail("fork", errno)
	}
	var answer [8]byte
	if err := kernel.ReadFull(report[0], answer[:]); err == kernel.ErrClosed {
		runtime.KeepAlive(c)
		return pid, pidfd, nil
	}
	unix.Close(pidfd)
	_, _ = unix.Wait4(pid, nil, 0, nil)
	step := binary.NativeEndian.Uint32(answer[:4])
	return 0, -1, stepFailure(s, names, step, unix.Errno(binary.NativeEndian.Uint32(answer[4:])))
}

// stepFailure is the failure of a step. A failed exec has the exit codes of env(1): 127 if the
// program does not exist, else 126.
func stepFailure(s *task, names []string, step uint32, errno unix.Errno) *spec.Failure {
	if step != stepExec {
		name := "child"
		if int(step) < len(stepNames) {
			name = stepNames[step]
		}
		if step == stepDir {
			return fail(name, &fs.PathError{Op: "chdir", Path: string(s.Command.Dir), Err: errno})
		}
		return fail(name, errno)
	}
	path := string(s.Command.Path)
	f := fail("exec", &fs.PathError{Op: "exec", Path: path, Err: errno})
	f.Code = sandbox.ExitCannotExec
	if errno != unix.ENOENT && errno != unix.ENOTDIR {
		return f
	}
	for _, name := range names {
		if unix.Access(name, unix.F_OK) == nil {
			f.Text = fmt.Sprintf("exec %s: the interpreter it names is missing", name)
			return f
		}
	}
	f.Code = sandbox.ExitNotFound
	return f
}

func newChildPlan(s *task, r *restricted) (*childPlan, []string, error) {
	c := &childPlan{signals: r.signals, flags: restrictFlags(r.facts.LandlockABI), setsid: !s.Command.Foreground, terminal: s.Command.Terminal, keeper: os.Getpid(), group: s.Group, lastFD: r.lastFD}
	args := s.Command.Args
	names := candidates(string(s.Command.Path), s.Command.Env)
	if s.Command.Path == sandbox.FileWorker {
		names, args = []string{"/proc/self/exe"}, []string{spec.HelperName, spec.FileWorkerArg}
	}
	var err error
	if c.paths, err = kernel.Pointers(names); err != nil {
		return nil, nil, err
	}
	if c.argv, err = kernel.Pointers(args); err != nil {
		return nil, nil, err
	}
	if c.envv, err = kernel.Pointers(s.Command.Env); err != nil {
		return nil, nil, err
	}
	if c.dir, err = unix.BytePtrFromString(string(s.Command.Dir)); err != nil {
		return nil, nil, err
	}
	c.limits, err = childLimits(s.Limits)
	return c, names, err
}

// candidates are the paths that name may mean. It skips relative and empty entries of PATH: a
// command that can write its working directory must not choose which program runs.
func candidates(name string, env []string) []string {
	if strings.Contains(name, "/") {
		return []string{name}
	}
	search := ""
	for _, kv := range env {
		if value, ok := strings.CutPrefix(string(kv), "PATH="); ok {
			search = value
		}
	}
	var out []string
	for _, dir := range filepath.SplitList(search) {
		if filepath.IsAbs(dir) {
			out = append(out, filepath.Join(dir, name))
		}
	}
	return out
}

// childLimits are the command's resource limits. None is above the keeper's own.
func childLimits(l sandbox.Limits) ([]childLimit, error) {
	var out []childLimit
	for _, want := range []struct {
		resource int
		value    int64
		grace    uint64 // by how much the hard limit exceeds the soft one, in the unit of the limit
	}{
		{unix.RLIMIT_CPU, l.CPUSeconds, 1}, // SIGXCPU first, SIGKILL a second later
		{unix.RLIMIT_AS, l.Memory, 0},
		{unix.RLIMIT_NPROC, l.Processes, 0},
		{unix.RLIMIT_NOFILE, l.OpenFiles, 0},
		{unix.RLIMIT_FSIZE, l.FileSize, 0},
	} {
		if want.value <= 0 {
			continue
		}
		var have unix.Rlimit
		if err := unix.Getrlimit(want.resource, &have); err != nil {
			return nil, fmt.Errorf("getrlimit %d: %w", want.resource, err)
		}
		hard := min(uint64(want.value)+want.grace, have.Max)
		out = append(out, childLimit{want.resource, unix.Rlimit{Cur: min(uint64(want.value), hard), Max: hard}})
	}
	return out, nil
}

// forkExec forks and, in the child, carries out c. It follows the rules of package syscall's
// forkAndExecInChild. The child makes raw system calls only: it has no scheduler, cannot allocate
// or grow its stack, and the race detector must not instrument it. The child never returns from
// this frame, whose memory it shares with the parent. The parent returns at once and reads nothing
// that the child may have written.
//
//go:noinline
//go:norace
func forkExec(c *childPlan) (pid, pidfd int, errno syscall.Errno) {
	fd := int32(-1)
	r, failed := kernel.Vfork(unix.SYS_CLONE, unix.CLONE_VM|unix.CLONE_VFORK|unix.CLONE_PIDFD|uintptr(unix.SIGCHLD), 0, uintptr(unsafe.Pointer(&fd)))
	if failed != 0 || r != 0 {
		return int(r), int(fd), syscall.Errno(failed)
	}

	var e syscall.Errno
	step := uint32(stepSession)
	if c.setsid {
		if _, _, e = syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0); e != 0 {
			goto failed
		}
	}
	step = stepTerminal
	if c.terminal {
		// Without force, the call does not take the terminal from another session, and it succeeds
		// only for a session leader without a terminal.
		if _, _, e = syscall.RawSyscall(unix.SYS_IOCTL, 0, unix.TIOCSCTTY, 0); e != 0 {
			goto failed
		}
	}
	step = stepDeathSignal
	if _, _, e = syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0, 0); e != 0 {
		goto failed
	}
	if r, _, _ = syscall.RawSyscall(unix.SYS_GETPPID, 0, 0, 0); int(r) != c.keeper {
		e = syscall.ESRCH
		goto failed
	}
	step = stepDir
	if _, _, e = syscall.RawSyscall(unix.SYS_CHDIR, uintptr(unsafe.Pointer(c.dir)), 0, 0); e != 0 {
		goto failed
	}
	step = stepFiles
	if c.lastFD == 0 {
		if _, _, e = syscall.RawSyscall(unix.SYS_CLOSE_RANGE, 3, uintptr(^uint32(0)), unix.CLOSE_RANGE_CLOEXEC); e != 0 {
			goto failed
		}
	}
	for fd := 3; fd <= c.lastFD; fd++ {
		_, _, e = syscall.RawSyscall(unix.SYS_FCNTL, uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC)
		if e != 0 && e != unix.EBADF {
			goto failed
		}
	}
	step = stepGroup
	if c.group > 0 {
		itself := byte('0')
		if _, _, e = syscall.RawSyscall(unix.SYS_WRITE, uintptr(c.group), uintptr(unsafe.Pointer(&itself)), 1); e != 0 {
			goto failed
		}
	}
	step = stepDomain
	if c.signals >= 0 {
		if _, _, e = syscall.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(c.signals), uintptr(c.flags), 0); e != 0 {
			goto failed
		}
	}
	step = stepLimit
	for i := 0; i < len(c.limits); i++ {
		_, _, e = syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, uintptr(c.limits[i].resource), uintptr(unsafe.Pointer(&c.limits[i].limit)), 0, 0, 0)
		if e != 0 {
			goto failed
		}
	}
	step = stepSignals
	if e = kernel.DefaultSignals(); e != 0 {
		goto failed
	}
	step = stepExec
	e = execFirst(c)
failed:
	answer := [2]uint32{step, uint32(e)}
	_, _, _ = syscall.RawSyscall(unix.SYS_WRITE, uintptr(c.report), uintptr(unsafe.Pointer(&answer)), unsafe.Sizeof(answer))
	for {
		// This must not be exit_group: the filter sends that call to the broker, so it fails if
		// codeagent has died, and the keeper's thread would wait for ever. The child has no other
		// thread.
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT, sandbox.ExitCannotConfine, 0, 0)
	}
}

// execFirst executes the first candidate that can be executed. Like execvp(3) it skips missing
// files, and returns EACCES if one was refused.
//
//go:nosplit
//go:norace
func execFirst(c *childPlan) syscall.Errno {
	result := syscall.ENOENT
	for i := 0; i < len(c.paths)-1; i++ {
		_, _, e := syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(c.paths[i])),
			uintptr(unsafe.Pointer(&c.argv[0])), uintptr(unsafe.Pointer(&c.envv[0])))
		switch e {
		case syscall.ENOENT, syscall.ENOTDIR:
		case syscall.EACCES:
			result = e
		default:
			return e
		}
	}
	return result
}
