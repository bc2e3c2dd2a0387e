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
// kernel does not read in an unconditional jump. Program leaves out what o has no use
// for: the time that the kernel takes to install a filter grows with its length.
func Program(goarch string, o Options) ([]bpf.RawInstruction, error) {
	for _, p := range programs {
		if p.goarch == goarch {
			return link(p.code, o)
		}
	}
	return nil, fmt.Errorf("no filter for %q", goarch)
}

// link makes the program for o of a generated one: it leaves out the jumps of scopes,
// each branch whose two ends give the same answer, and what is no longer reached.
func link(code []bpf.RawInstruction, o Options) ([]bpf.RawInstruction, error) {
	// next is where control gets to from an instruction without doing anything: to the
	// instruction itself, or past it. All jumps go forward, so what comes later is known.
	next := make([]int, len(code))
	for i := len(code) - 1; i >= 0; i-- {
		next[i] = i
		yes, no := successors(i, code[i])
		switch {
		case isScope(code[i]) && scope(code[i].Jt).covers(o):
			next[i] = next[i+1]
		case isScope(code[i]):
			next[i] = next[yes]
		case code[i].Op != jumpAlways && code[i].Op != returns && sameAnswer(code[next[yes]], code[next[no]]):
			next[i] = next[no]
		}
	}
	// at is the new place of an instruction that is reached, else -1.
	at, size := make([]int, len(code)), 0
	used := make([]bool, len(code))
	used[next[0]] = true
	for i, ins := range code {
		at[i] = -1
		if !used[i] {
			continue
		}
		at[i] = size
		size++
		if ins.Op != returns {
			yes, no := successors(i, ins)
			used[next[yes]], used[next[no]] = true, true
		}
	}
	out := make([]bpf.RawInstruction, 0, size)
	for i, ins := range code {
		if !used[i] {
			continue
		}
		if ins.Op != returns {
			yes, no := successors(i, ins)
			skipYes, skipNo := at[next[yes]]-at[i]-1, at[next[no]]-at[i]-1
			switch {
			case ins.Op == jumpAlways:
				ins.K = uint32(skipYes)
			case isJump(ins) && skipYes <= 255 && skipNo <= 255:
				ins.Jt, ins.Jf = uint8(skipYes), uint8(skipNo)
			case isJump(ins) || skipNo != 0:
				return nil, fmt.Errorf("bug: instruction %d of the filter does not reach the next", i)
			}
		}
		out = append(out, ins)
	}
	return out, nil
}

func isJump(ins bpf.RawInstruction) bool { return ins.Op&7 == unix.BPF_JMP } // the low bits are the class

// isScope reports the jump that stands before a row with conditions.
func isScope(ins bpf.RawInstruction) bool { return ins.Op == jumpAlways && ins.Jt != 0 }

// sameAnswer reports two instructions that both end the program, and alike.
func sameAnswer(a, b bpf.RawInstruction) bool { return a.Op == returns && a == b }

// successors are the instructions that can come after the one at i, which does not end
// the program. They are the same one where there is no choice.
func successors(i int, ins bpf.RawInstruction) (yes, no int) {
	switch {
	case ins.Op == jumpAlways:
		return i + 1 + int(ins.K), i + 1 + int(ins.K)
	case isJump(ins):
		return i + 1 + int(ins.Jt), i + 1 + int(ins.Jf)
	}
	return i + 1, i + 1
}

// Codes of instructions (linux/bpf_common.h).
const (
	jumpAlways = unix.BPF_JMP | unix.BPF_JA
	returns    = unix.BPF_RET | unix.BPF_K
)

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
