//go:build linux

// Package filter is the seccomp filter of every command: which system calls are refused, which go
// to the broker, which are allowed. It imports nothing of ours and affects nothing but the calling
// thread, on which it installs the filter. Start with table.go, which is the entire policy;
// programs.go is generated from it.
package filter

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Options are what the policy and the machine open in the filter. The zero value opens nothing and
// sends nothing to the broker.
type Options struct {
	// AllowInet opens INET sockets: the command's network is the session's own, or the host's if
	// the policy grants that ("full").
	AllowInet bool
	// AskInet opens TCP and UDP sockets of codeagent's own network. The broker makes each call that gives
	// one an address: no such call ever proceeds. It requires AskSends.
	AskInet bool
	// AllowUnix opens AF_UNIX stream sockets. The broker then makes each of their connections.
	AllowUnix bool
	// Ask sends changes of files, of names and of metadata, to the broker.
	Ask bool
	// AskSends opens AF_UNIX datagram sockets. The broker then sends each message that could have an address, and
	// sees who listens. It requires AllowUnix and a broker that can copy descriptors.
	AskSends bool
	// AskLocks sends flock and ftruncate to the broker; it requires a broker that can copy descriptors.
	AskLocks bool
	// AskReads sends the opens that only read too; it requires Ask.
	AskReads bool
	// AskLooks shows the broker each name that is looked up, but for those that AskPrograms shows; it requires Ask.
	AskLooks bool
	// AskPrograms shows the broker each start of a program; it requires Ask.
	AskPrograms bool
	// AskSignals shows the broker the process that a signal is for; it requires Ask.
	AskSignals bool
	// OwnIPC opens shared memory, semaphores and queues that have a number: the command has an IPC
	// namespace of its own.
	OwnIPC bool
	// Traces opens ptrace, which Landlock then keeps inside the command's domain; it requires Ask.
	Traces bool
	// Empties: the kernel's Landlock does not confine calls that empty a file (below ABI 3).
	Empties bool
	// User and Group are the ids of the command.
	User, Group uint32
}

// Brokered reports whether the filter needs a broker that answers.
func (o Options) Brokered() bool { return o.AllowUnix || o.Ask }

// Program is the filter under o for goarch, "amd64" or "arm64".
//
// There is one generated program for each architecture. In it, a jump stands before each row that
// holds only for some Options. The row's conditions are in the jump's Jt and Jf, which the kernel does
// not read in an unconditional jump. Program removes what o does not need: the kernel takes longer to
// install a longer filter.
func Program(goarch string, o Options) ([]bpf.RawInstruction, error) {
	for _, p := range programs {
		if p.goarch == goarch {
			return link(p.code, o)
		}
	}
	return nil, fmt.Errorf("no filter for %q", goarch)
}

// link makes the program for o from a generated one. It removes the jumps of scopes, each branch
// whose two targets give the same answer, and unreachable instructions.
func link(code []bpf.RawInstruction, o Options) ([]bpf.RawInstruction, error) {
	// next is the first instruction with an effect that control reaches from an instruction: itself
	// or a later one. All jumps go forward, so the loop computes later entries first.
	next := make([]int, len(code))
	for i := len(code) - 1; i >= 0; i-- {
		next[i] = i
		yes, no := successors(i, code[i])
		switch {
		case isScope(code[i]) && scopeOf(code[i]).covers(o):
			next[i] = next[i+1]
		case isScope(code[i]):
			next[i] = next[yes]
		case code[i].Op != jumpAlways && code[i].Op != returns && sameAnswer(code[next[yes]], code[next[no]]):
			next[i] = next[no]
		}
	}
	// at is the new index of a reachable instruction, else -1.
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
		switch {
		case ins.Op == equals && ins.K == ownUser:
			ins.K = o.User
		case ins.Op == equals && ins.K == ownGroup:
			ins.K = o.Group
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

// isScope reports whether ins is the jump before a row with conditions.
func isScope(ins bpf.RawInstruction) bool { return ins.Op == jumpAlways && scopeOf(ins) != 0 }

// scopeOf returns the conditions of the row behind the jump ins.
func scopeOf(ins bpf.RawInstruction) scope { return scope(ins.Jf)<<8 | scope(ins.Jt) }

// sameAnswer reports whether both instructions end the program with the same answer.
func sameAnswer(a, b bpf.RawInstruction) bool { return a.Op == returns && a == b }

// successors are the instructions that can follow the one at i, which does not end the program.
// They are equal if it does not branch.
func successors(i int, ins bpf.RawInstruction) (yes, no int) {
	switch {
	case ins.Op == jumpAlways:
		return i + 1 + int(ins.K), i + 1 + int(ins.K)
	case isJump(ins):
		return i + 1 + int(ins.Jt), i + 1 + int(ins.Jf)
	}
	return i + 1, i + 1
}

// These are codes of instructions (linux/bpf_common.h).
const (
	jumpAlways = unix.BPF_JMP | unix.BPF_JA
	equals     = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	returns    = unix.BPF_RET | unix.BPF_K
)

// archProgram is one element of programs.
type archProgram struct {
	goarch string
	code   []bpf.RawInstruction
}

// Asked lists the calls that the filter sends to the broker under o, for all or some values of
// their arguments. The broker must have a handler for each of them.
func Asked(o Options) []string {
	var out []string
	for _, r := range table {
		if r.do == ask && r.only.covers(o) {
			out = append(out, r.calls...)
		}
	}
	return out
}

// Install installs prog on the calling thread only. The caller has locked the thread to its
// goroutine and has set no_new_privs. Everything that the thread starts later inherits the filter,
// and no process can remove it. Install reads back from the kernel that the filter is installed: a
// command must not run because a call falsely reported success.
//
// With listen the filter gets a listener, and Install returns it; otherwise it returns -1.
func Install(prog []bpf.RawInstruction, listen bool) (listener int, err error) {
	before, status := seccompState{}, -1
	// The mode is faster to get than the file, and most threads have no filter yet.
	if mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); err != nil || mode != unix.SECCOMP_MODE_DISABLED {
		// With prog the open could wait for the broker.
		if status, err = unix.Open(statusFile, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return -1, fmt.Errorf("open %s: %w", statusFile, err)
		}
		defer unix.Close(status)
		if before, err = readSeccomp(status); err != nil {
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
		// With this flag, only a fatal signal interrupts a call that the broker has received (Linux
		// 5.19). Without it, another signal would make the caller repeat what the broker has done.
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
	// Each name looked up below /proc/PID/task/TID costs time again when the thread ends: the
	// kernel removes it then, and the reaper of the process waits for that. If there was no filter
	// before, the mode alone proves that there is one now.
	after := seccompState{filters: -1}
	if status >= 0 {
		after, err = readSeccomp(status)
	} else {
		after.mode, err = unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	}
	if err != nil {
		return -1, err
	}
	if after.mode != unix.SECCOMP_MODE_FILTER {
		return -1, fmt.Errorf("install filter: the kernel reports mode %d, not %d", after.mode, unix.SECCOMP_MODE_FILTER)
	}
	// Before Linux 5.9 the kernel reports no count.
	if after.filters >= 0 && after.filters != before.filters+1 {
		return -1, fmt.Errorf("install filter: %d filters before, %d after", before.filters, after.filters)
	}
	return listener, nil
}

// seccompState is what the kernel reports about the calling thread. filters is -1 if the kernel
// reports no count.
type seccompState struct{ mode, filters int }

const statusFile = "/proc/thread-self/status"

// readSeccomp reads the present content of statusFile, which is open as fd.
func readSeccomp(fd int) (seccompState, error) {
	text := make([]byte, 16<<10) // a list of groups can make it long
	n, err := unix.Pread(fd, text, 0)
	if err != nil {
		return seccompState{}, fmt.Errorf("read %s: %w", statusFile, err)
	}
	text = text[:n]
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
			return seccompState{}, fmt.Errorf("read %s: %w", statusFile, err)
		}
	}
	if s.mode < 0 {
		return seccompState{}, fmt.Errorf("read %s: no line about seccomp", statusFile)
	}
	return s, nil
}
