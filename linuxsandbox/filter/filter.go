//go:build linux

// Package filter is the seccomp filter of every command: which system calls are
// refused, which the broker is asked about, which are allowed. It imports nothing of
// ours and touches nothing but the calling thread, on which it puts the filter. Start
// with table.go, which is the whole of the policy; programs.go is generated from it.
package filter

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Options are what the policy and the machine open in the filter. The zero value
// opens nothing and asks about nothing.
type Options struct {
	// AllowInet opens INET sockets: the command's network is the host's, which the
	// policy grants ("full"), or the session's own.
	AllowInet bool
	// AllowUnix opens AF_UNIX stream sockets. The broker then makes each of their
	// connections.
	AllowUnix bool
	// Ask leaves changes of files, by name and of metadata, to the broker.
	Ask bool
	// AskSends shows the broker the receiver of each datagram, in the session's own
	// network.
	AskSends bool
	// AskLocks leaves flock to the broker, which can copy descriptors.
	AskLocks bool
}

// Brokered reports whether the filter needs a broker that answers.
func (o Options) Brokered() bool { return o.AllowUnix || o.Ask }

// Program is the filter for goarch, "amd64" or "arm64", under o.
//
// One program is generated for each architecture. In it a jump stands before each
// row that holds for some Options only, with the row's conditions in Jt, which the
// kernel does not read in an unconditional jump. Where o meets them the jump goes
// to the next instruction, else past the row.
func Program(goarch string, o Options) ([]bpf.RawInstruction, error) {
	for _, p := range programs {
		if p.goarch == goarch {
			return choose(p.code, o), nil
		}
	}
	return nil, fmt.Errorf("no filter for %q", goarch)
}

// choose sets the jumps of a generated program for o.
func choose(generated []bpf.RawInstruction, o Options) []bpf.RawInstruction {
	code := slices.Clone(generated)
	for i := range code {
		jump := &code[i]
		if jump.Op != jumpAlways || jump.Jt == 0 {
			continue
		}
		if scope(jump.Jt).covers(o) {
			jump.K = 0
		}
		jump.Jt = 0
	}
	return code
}

// jumpAlways is the code of an unconditional jump (linux/bpf_common.h).
const jumpAlways = unix.BPF_JMP | unix.BPF_JA

// generated is one of programs.
type generated struct {
	goarch string
	code   []bpf.RawInstruction
}

// Asked lists the calls about which the filter asks the broker under o, for all
// values of their arguments or for some. Whoever answers must know each of them.
func Asked(o Options) []string {
	var out []string
	for _, r := range table {
		if r.do == ask && r.only.covers(o) {
			out = append(out, r.calls...)
		}
	}
	return out
}

// Install puts prog on the calling thread and on nothing else. The caller has
// locked the thread to its goroutine and has set no_new_privs. Whatever the thread
// starts from then on inherits the filter, and no process can take it off again.
// Install reads back from the kernel that the filter is there: a command must not
// run because a call reported success that it did not have.
//
// With listen the filter gets a listener, which is returned; else the result is -1.
func Install(prog []bpf.RawInstruction, listen bool) (listener int, err error) {
	before, nested := seccompState{}, false
	// Asking for the mode is faster than reading the file, and there is mostly no filter.
	if mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); err != nil || mode != unix.SECCOMP_MODE_DISABLED {
		nested = true
		if before, err = readSeccomp(); err != nil {
			return -1, err
		}
	}
	code := make([]unix.SockFilter, len(prog))
	for i, ins := range prog {
		code[i] = unix.SockFilter{Code: ins.Op, Jt: ins.Jt, Jf: ins.Jf, K: ins.K}
	}
	if len(code) == 0 {
		return -1, fmt.Errorf("install filter: %w", unix.EINVAL)
	}
	fprog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	flags := uintptr(0)
	if listen {
		// Once the broker has received a call only a fatal signal interrupts it
		// (Linux 5.19). Without the flag a signal would have the caller repeat what
		// the broker has done.
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return -1, fmt.Errorf("install filter: %w", errno)
	}
	listener = -1
	if listen {
		listener = int(fd) // close-on-exec
	}
	// Each name looked up below /proc/PID/task/TID costs once more when the thread
	// ends: the kernel then removes it, and the reaper of the process waits for that.
	// Where there was no filter before, the mode alone shows that there is one now.
	after := seccompState{filters: -1}
	if nested {
		after, err = readSeccomp()
	} else {
		after.mode, err = unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	}
	if err != nil {
		return -1, err
	}
	if after.mode != unix.SECCOMP_MODE_FILTER {
		return -1, fmt.Errorf("install filter: the kernel reports mode %d, not %d", after.mode, unix.SECCOMP_MODE_FILTER)
	}
	// Before Linux 5.9 the kernel does not count.
	if after.filters >= 0 && after.filters != before.filters+1 {
		return -1, fmt.Errorf("install filter: %d filters before, %d after", before.filters, after.filters)
	}
	return listener, nil
}

// seccompState is what the kernel reports of the calling thread; filters is -1 where
// it does not count them.
type seccompState struct{ mode, filters int }

// readSeccomp reads /proc/thread-self/status.
func readSeccomp() (seccompState, error) {
	const file = "/proc/thread-self/status"
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return seccompState{}, fmt.Errorf("open %s: %w", file, err)
	}
	defer unix.Close(fd)
	var text []byte
	for {
		// A user in many groups has a long line of group numbers.
		text = slices.Grow(text, 8192)
		n, err := unix.Read(fd, text[len(text):cap(text)])
		if err != nil {
			return seccompState{}, fmt.Errorf("read %s: %w", file, err)
		}
		if n == 0 {
			break
		}
		text = text[:len(text)+n]
	}
	s := seccompState{mode: -1, filters: -1}
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(":\t"))
		switch string(name) {
		case "Seccomp":
			s.mode, err = strconv.Atoi(string(value))
		case "Seccomp_filters":
			s.filters, err = strconv.Atoi(string(value))
		}
		if err != nil {
			return seccompState{}, fmt.Errorf("read %s: %w", file, err)
		}
	}
	if s.mode < 0 {
		return seccompState{}, fmt.Errorf("read %s: no line about seccomp", file)
	}
	return s, nil
}
