//go:build linux

package kernel

import (
	"errors"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// vfork is clone(2) for a child that shares the memory and the stack of its parent until it
// executes a program. The parent's thread waits until then. A copy of the memory would cost a third
// of a millisecond in page faults.
func vfork(trap, flags, stack, id uintptr) (r1, errno uintptr)

// Child is a process from its fork to its exec. All that it does is planned before the fork: until
// the exec it has no runtime, so it makes raw system calls only. It allocates no memory, takes no
// lock and cannot grow its stack.
type Child struct {
	// Name is the step that failed if the fork failed.
	Name string
	// Flags are those of clone(2), in addition to those of every Child.
	Flags uintptr
	// ID is the pidfd if Flags has CLONE_PIDFD.
	ID int32
	// Group is the descriptor of the control group in which the child is born; 0: that of its parent.
	Group int
	// Next is started by this child after its calls, as another child of the same parent. This
	// child then ends. Without Next it executes the program of Exec, if there is one.
	Next *Child
	// Result is that of the last call.
	Result uintptr

	args              [11]uint64 // of clone3
	calls             []Call
	pinned            []unsafe.Pointer
	paths, argv, envv []*byte
	// failed is the call that failed with errno: an index into calls, -1 for the fork, len(calls) for
	// the exec. The child writes it into the memory that it shares with the parent.
	failed int
	errno  syscall.Errno
}

// Call is a system call of a Child.
type Call struct {
	// UpTo repeats the call with each larger first argument up to UpTo.
	UpTo uintptr
	// Want is the result that the call must have; 0 accepts any.
	Want uintptr
	// Ignore is an errno that does not count as a failure.
	Ignore syscall.Errno

	step string
	trap uintptr
	args [4]uintptr
}

// Call adds a system call. step names it in an error. Inlined, it would make the helper larger.
//
//go:noinline
func (c *Child) Call(step string, trap uintptr, args ...uintptr) *Call {
	call := Call{step: step, trap: trap}
	copy(call.args[:], args)
	c.calls = append(c.calls, call)
	return &c.calls[len(c.calls)-1]
}

// Pin returns p as an argument of a call, and keeps what it points to in place.
func (c *Child) Pin(p unsafe.Pointer) uintptr {
	c.pinned = append(c.pinned, p)
	return uintptr(p)
}

// Exec makes the child give every signal its default action, block none, and execute the first of
// paths that can be executed. It comes after the last Call.
func (c *Child) Exec(paths, argv, envv []string) (err error) {
	zero := c.Pin(unsafe.Pointer(new([4]uint64))) // a kernel sigaction with SIG_DFL, and an empty set of signals
	each := c.Call("signals", unix.SYS_RT_SIGACTION, 1, zero, 0, 8)
	each.UpTo, each.Ignore = 64, unix.EINVAL // SIGKILL and SIGSTOP
	c.Call("signals", unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, zero, 0, 8)
	if c.paths, err = pointers(paths); err == nil {
		c.argv, err = pointers(argv)
	}
	if err == nil {
		c.envv, err = pointers(envv)
	}
	return err
}

// pointers converts strings for execve(2), with a final nil.
func pointers(list []string) ([]*byte, error) {
	out := make([]*byte, 0, len(list)+1)
	for _, s := range list {
		p, err := unix.BytePtrFromString(s)
		if err != nil {
			return nil, errors.New("the command contains a NUL byte")
		}
		out = append(out, p)
	}
	return append(out, nil), nil
}

// Start returns after the exec, with the pid of the process that made it. Otherwise no process is left;
// errno is set if something failed, and step names it. Step "exec" is the exec itself.
func (c *Child) Start() (pid int, step string, errno unix.Errno) {
	runtime.LockOSThread()
	// No signal handler of Go may run in the child.
	all, old := ^uint64(0), uint64(0)
	sigprocmask(&all, &old)
	first, failed := fork(c)
	sigprocmask(&old, nil)
	runtime.UnlockOSThread()
	if failed != 0 {
		return 0, c.Name, syscall.Errno(failed)
	}
	step, errno = c.failure()
	pid = int(first)
	if c.Next != nil {
		Wait(int(first))
		if pid = int(c.Next.ID); pid == 0 && errno == 0 {
			step, errno = c.Next.Name, unix.ESRCH // the child was killed before that fork
		}
	}
	if last := c.last(); pid > 0 && (errno != 0 || last.paths == nil) {
		Wait(pid)
	}
	runtime.KeepAlive(c)
	return pid, step, errno
}

func (c *Child) last() *Child {
	if c.Next != nil {
		return c.Next
	}
	return c
}

// failure is the step that failed; errno is 0 if none did.
func (c *Child) failure() (step string, errno unix.Errno) {
	for ; c.errno == 0; c = c.Next {
		if c.Next == nil {
			return "", 0
		}
	}
	switch c.failed {
	case -1:
		return c.Name, c.errno
	case len(c.calls):
		return "exec", c.errno
	}
	return c.calls[c.failed].step, c.errno
}

// Wait collects a child of this process.
func Wait(pid int) {
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
			return
		}
	}
}

// sigprocmask sets the signals that the calling thread blocks. old may be nil.
func sigprocmask(set, old *uint64) {
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK,
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
}

const vforkFlags = unix.CLONE_VM | unix.CLONE_VFORK | uintptr(unix.SIGCHLD)

// fork forks and, in the child, carries out c. It follows the rules of package syscall's
// forkAndExecInChild: the race detector must not instrument the child, and the child never returns
// from this frame, whose memory it shares with the parent. The parent returns at once and reads
// nothing from this frame that the child may have written.
//
//go:noinline
//go:norace
func fork(c *Child) (pid, errno uintptr) {
	trap, flags, size, id := c.clone(0)
	pid, errno = vfork(trap, flags, size, id)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	c.perform()
	if c.errno == 0 && c.Next != nil {
		c = c.Next
		trap, flags, size, id = c.clone(unix.CLONE_PARENT | unix.CLONE_PARENT_SETTID)
		pid, errno = vfork(trap, flags, size, id)
		switch {
		case errno != 0:
			c.failed, c.errno = -1, syscall.Errno(errno)
		case pid == 0:
			c.perform()
		}
	}
	if c.errno == 0 && c.Next == nil && pid == 0 && c.paths != nil {
		c.execute()
	}
	for {
		// This must not be exit_group: a filter may send that call to the broker, so it fails if
		// codeagent has died, and the parent's thread would wait for ever. The child has no other
		// thread.
		_, _, _ = syscall.RawSyscall6(unix.SYS_EXIT, 1, 0, 0, 0, 0, 0)
	}
}

// clone returns the arguments of vfork: those of clone(2), or with a Group those of clone3 (struct clone_args and its size).
//
//go:nosplit
//go:norace
func (c *Child) clone(more uintptr) (trap, flags, size, id uintptr) {
	flags, id = vforkFlags|c.Flags|more, uintptr(unsafe.Pointer(&c.ID))
	if c.Group == 0 {
		return unix.SYS_CLONE, flags, 0, id
	}
	signal := flags & 0xff // CSIGNAL
	if more&unix.CLONE_PARENT != 0 {
		signal = 0 // the parent's, as clone(2) does by itself
	}
	c.args = [11]uint64{0: uint64(flags&^0xff) | unix.CLONE_INTO_CGROUP, 1: uint64(id), 3: uint64(id), 4: uint64(signal), 10: uint64(c.Group)}
	return unix.SYS_CLONE3, uintptr(unsafe.Pointer(&c.args)), unsafe.Sizeof(c.args), 0
}

// perform makes the calls until one fails.
//
//go:nosplit
//go:norace
func (c *Child) perform() {
	for i := 0; i < len(c.calls); i++ {
		for call := &c.calls[i]; ; call.args[0]++ {
			r, _, e := syscall.RawSyscall6(call.trap, call.args[0], call.args[1], call.args[2], call.args[3], 0, 0)
			c.Result = r
			if e == 0 && call.Want != 0 && r != call.Want {
				e = syscall.ESRCH
			}
			if e != 0 && e != call.Ignore {
				c.failed, c.errno = i, e
				return
			}
			if call.args[0] >= call.UpTo {
				break
			}
		}
	}
}

// execute executes the first path that can be executed. Like execvp(3) it skips missing files, and
// fails with EACCES if one was refused. It returns only after a failure.
//
//go:nosplit
//go:norace
func (c *Child) execute() {
	result := syscall.ENOENT
	for i := 0; i < len(c.paths)-1; i++ {
		_, _, e := syscall.RawSyscall6(unix.SYS_EXECVE, uintptr(unsafe.Pointer(c.paths[i])),
			uintptr(unsafe.Pointer(&c.argv[0])), uintptr(unsafe.Pointer(&c.envv[0])), 0, 0, 0)
		if e == syscall.ENOENT || e == syscall.ENOTDIR {
			continue
		}
		result = e
		if e != syscall.EACCES {
			break
		}
	}
	c.failed, c.errno = len(c.calls), result
}
