//go:build linux

package keeper

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"unsafe"

	"codeagent/linuxsandbox/control"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// The keeper forks the command itself, and not through package syscall, for one reason: the child
// must restrict itself once more between fork and exec (signalRuleset). A process may signal every
// process in its Landlock domain. Without its own domain the command could kill the keeper's
// thread, and with it the keeper.

// spawn starts the command of s on the calling thread and returns when the exec is done. The thread
// must be restricted, and must live as long as the command: when it ends, the command gets its
// death signal. Only descriptors 0 to 2 are open in the command, because any other one could be a
// way out.
func spawn(s *task, r *restriction) (pid, pidfd int, bad *spec.Failure) {
	c, names, err := planChild(s, r)
	if err != nil {
		return 0, -1, fail("command", err)
	}
	pid, step, errno := c.Start()
	if errno == 0 {
		return pid, int(c.ID), nil
	}
	if c.ID >= 0 && step != c.Name { // a fork that fails closes the descriptor itself
		unix.Close(int(c.ID))
	}
	switch step {
	case "exec":
		return 0, -1, execFailure(s.Command.Path, names, errno)
	case stepDir:
		return 0, -1, fail(step, &fs.PathError{Op: "chdir", Path: s.Command.Dir, Err: errno})
	}
	return 0, -1, fail(step, errno)
}

// execFailure is the failure of the exec. It has the exit codes of env(1): 127 if the program does
// not exist, else 126.
func execFailure(path string, names []string, errno unix.Errno) *spec.Failure {
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

const stepDir = "working directory"

// planChild plans the child, and returns the paths that it tries to execute.
func planChild(s *task, r *restriction) (c *kernel.Child, names []string, err error) {
	c = &kernel.Child{Name: "fork", Flags: unix.CLONE_PIDFD, ID: -1}
	if !s.Command.Foreground {
		c.Call("session", unix.SYS_SETSID)
	}
	if s.Command.Idle {
		c.Call("priority", unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, 19)
	}
	if s.Command.Terminal {
		// Without force, the call does not take the terminal from another session, and it succeeds
		// only for a session leader without a terminal.
		c.Call("terminal", unix.SYS_IOCTL, 0, unix.TIOCSCTTY)
	}
	c.Call("death signal", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL))
	c.Call("death signal", unix.SYS_GETPPID).Want = uintptr(os.Getpid()) // another parent means that the keeper died during the fork
	dir, err := unix.BytePtrFromString(s.Command.Dir)
	if err != nil {
		return nil, nil, err
	}
	c.Call(stepDir, unix.SYS_CHDIR, c.Pin(unsafe.Pointer(dir)))
	c.Call("files", unix.SYS_CLOSE_RANGE, 3, uintptr(^uint32(0)), unix.CLOSE_RANGE_CLOEXEC)
	roomForFiles(c)
	if s.Group > 0 {
		itself := []byte{'0'}
		c.Call("cgroup", unix.SYS_WRITE, uintptr(s.Group), c.Pin(unsafe.Pointer(&itself[0])), 1)
	}
	if r.signals >= 0 {
		c.Call("landlock", unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.signals), uintptr(restrictFlags(r.facts.LandlockABI)))
	}
	if err := limitChild(c, s.Limits, s.OpenFiles); err != nil {
		return nil, nil, err
	}
	args := s.Command.Args
	names = sandbox.Programs(s.Command.Path, s.Command.Env)
	if s.Command.Path == sandbox.FileWorker {
		names, args = []string{"/proc/self/exe"}, []string{control.HelperName, spec.FileWorkerArg}
	}
	return c, names, c.Exec(names, args, s.Command.Env)
}

// roomForFiles gives the child a table for 1,024 descriptors. The kernel begins with 64 and enlarges
// the table when it is full. In a process with threads it then waits for an RCU grace period,
// often 15 ms, in which no thread can open a file (expand_fdtable). Node passes 64 and 128 when it
// loads modules. The child is alone in its table, so it does not wait; its table survives the exec.
func roomForFiles(c *kernel.Child) {
	const last = 1023
	c.Call("files", unix.SYS_DUP3, 0, last, unix.O_CLOEXEC).Ignore = unix.EBADF // beyond RLIMIT_NOFILE
}

// limitChild sets the command's resource limits. None is above the keeper's own. openFiles is a soft
// limit, 0 for none.
func limitChild(c *kernel.Child, l sandbox.Limits, openFiles uint64) error {
	seconds, files := uint64(max(l.CPUSeconds, 0)), uint64(max(l.OpenFiles, 0))
	same := func(value int64) [2]uint64 { return [2]uint64{uint64(max(value, 0)), uint64(max(value, 0))} }
	for _, want := range []struct {
		resource int
		limit    [2]uint64 // soft and hard; 0: as the keeper's
	}{
		{unix.RLIMIT_CPU, [2]uint64{seconds, seconds + 1}}, // SIGXCPU first, SIGKILL a second later
		{unix.RLIMIT_AS, same(l.Memory)},
		{unix.RLIMIT_NPROC, same(l.Processes)},
		{unix.RLIMIT_NOFILE, [2]uint64{min(cmp.Or(files, openFiles), cmp.Or(openFiles, files)), files}},
		{unix.RLIMIT_FSIZE, same(l.FileSize)},
	} {
		soft, hard := want.limit[0], want.limit[1]
		if soft == 0 {
			continue
		}
		var have unix.Rlimit
		if err := unix.Getrlimit(want.resource, &have); err != nil {
			return fmt.Errorf("getrlimit %d: %w", want.resource, err)
		}
		hard = min(cmp.Or(hard, have.Max), have.Max)
		limit := &unix.Rlimit{Cur: min(soft, hard), Max: hard}
		c.Call("limits", unix.SYS_PRLIMIT64, 0, uintptr(want.resource), c.Pin(unsafe.Pointer(limit)))
	}
	return nil
}

// limitOf is the limit of l for which the kernel sent the signal that ended a process, or "". The
// kernel sends SIGXCPU at the soft CPU limit and SIGKILL at the hard one, a second later
// (setrlimit(2)). It enforces the limit by a clock that counts ticks, which on a busy machine runs
// ahead of the usage that it reports. So limitOf attributes a SIGKILL to the limit if that usage
// has reached the soft limit.
func limitOf(l sandbox.Limits, signal unix.Signal, used *unix.Rusage) sandbox.Limit {
	switch {
	case signal == unix.SIGXCPU && l.CPUSeconds > 0:
		return sandbox.LimitCPU
	case signal == unix.SIGKILL && l.CPUSeconds > 0 && cpuMillis(used) >= l.CPUSeconds*1000:
		return sandbox.LimitCPU
	case signal == unix.SIGXFSZ && l.FileSize > 0:
		return sandbox.LimitFileSize
	}
	return ""
}

func cpuMillis(u *unix.Rusage) int64 {
	return u.Utime.Sec*1000 + int64(u.Utime.Usec)/1000 + u.Stime.Sec*1000 + int64(u.Stime.Usec)/1000
}

// closeOnExec marks every descriptor of the keeper from the control socket on. A descriptor that stays open across
// execve(2) could be a way out of the sandbox.
func closeOnExec() error {
	err := unix.CloseRange(spec.ControlFD, ^uint(0)>>32, unix.CLOSE_RANGE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("close_range(2), which closes other files to the command: %w; the filter of a container may be older than that call", err)
	}
	return nil
}
