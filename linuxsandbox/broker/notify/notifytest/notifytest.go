//go:build linux

// Package notifytest makes system calls that wait for an answer, for the tests of handlers: a
// thread of the test process makes the call under a filter of its own.
package notifytest

import (
	"runtime"
	"testing"

	"codeagent/linuxsandbox/broker/notify"
	"codeagent/linuxsandbox/filter"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Result is what a call returned.
type Result struct {
	Value uintptr
	Errno unix.Errno
}

// Call lets a thread make the call, and returns it as it waits, and a function that gives it the
// answer and returns what the thread got. It is answered at the latest when the test ends.
func Call(t *testing.T, nr uintptr, args ...uintptr) (*notify.Notification, func(notify.Reply) Result) {
	t.Helper()
	var all [6]uintptr
	copy(all[:], args)
	type opened struct {
		listener int
		err      error
	}
	ready, ended := make(chan opened, 1), make(chan Result, 1)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		listener, err := -1, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			listener, err = filter.Install([]bpf.RawInstruction{
				{Op: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number
				{Op: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(nr)},
				{Op: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
				{Op: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
			}, true)
		}
		ready <- opened{listener, err}
		if err == nil {
			value, _, errno := unix.Syscall6(nr, all[0], all[1], all[2], all[3], all[4], all[5])
			ended <- Result{value, errno}
		}
	}()
	o := <-ready
	if o.err != nil {
		t.Fatal(o.err)
	}
	t.Cleanup(func() { unix.Close(o.listener) }) // a call that still waits fails with ENOSYS
	n := new(notify.Notification)
	for {
		// ENOENT: a signal of Go's scheduler came first, and the thread makes the call again.
		if err := n.Receive(o.listener); err == nil {
			break
		} else if err != unix.ENOENT {
			t.Fatal(err)
		}
	}
	return n, func(a notify.Reply) Result {
		if err := n.Answer(a); err != nil {
			t.Fatal(err)
		}
		return <-ended
	}
}
