//go:build linux

package linuxsandbox

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

// filterTable says what is refused. The programs made of it are generated into
// filter_programs.go, and tests hold every answer of theirs to the table:
// assembling them anew for each command would double what the filter costs.

// filterOptions says what the policy opens in the deny filter. The zero value
// opens nothing.
type filterOptions struct {
	// AllowInet opens the network that the command is in: the host's (policy network
	// "full") or the session's own.
	AllowInet bool
	// AllowUnix opens AF_UNIX stream sockets; the broker then makes every
	// connection of theirs.
	AllowUnix bool
	// Ask leaves changes of files to the broker: by name, and of metadata.
	Ask bool
	// AskSends lets the broker see whom datagrams are for, in the session's own
	// network.
	AskSends bool
	// AskLocks leaves flock to the broker, which can take copies of descriptors.
	AskLocks bool
}

// brokered reports whether the filter needs a broker to answer.
func (o filterOptions) brokered() bool { return o.AllowUnix || o.Ask }

// filterProgram is the deny filter for goarch, "amd64" or "arm64". The caller
// must not change it.
func filterProgram(goarch string, o filterOptions) ([]bpf.RawInstruction, error) {
	for _, p := range filterPrograms {
		if p.goarch == goarch && p.options == o {
			return p.code, nil
		}
	}
	return nil, fmt.Errorf("no deny filter for %q", goarch)
}

// madeFilter is one of filterPrograms.
type madeFilter struct {
	goarch  string
	options filterOptions
	code    []bpf.RawInstruction
}

// installFilter puts prog on the calling thread alone; the caller has locked
// it to its goroutine and has set no_new_privs. What the thread starts from
// then on inherits it. That it really stands is read back from the kernel.
//
// With listen, the filter gets a listener, which is returned; else the result
// is -1.
func installFilter(prog []bpf.RawInstruction, listen bool) (listener int, err error) {
	before, nested := seccompState{}, false
	// Reading the file takes longer than asking, and mostly there is nothing.
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
		// Once a call is received only a fatal signal interrupts it: what the
		// broker has done is not done twice (Linux 5.19).
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
	// A name looked up below /proc/PID/task/TID is more than the time to read it:
	// the kernel clears it away when the thread ends, and whoever reaps the
	// process spins until that is done. From no filter to one, the mode says all.
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
		return -1, fmt.Errorf("install filter: the kernel says mode %d, not %d", after.mode, unix.SECCOMP_MODE_FILTER)
	}
	// Before Linux 5.9 the kernel does not count.
	if after.filters >= 0 && after.filters != before.filters+1 {
		return -1, fmt.Errorf("install filter: %d filters before, %d after", before.filters, after.filters)
	}
	return listener, nil
}

// seccompState is what the kernel says about the calling thread; filters is -1
// where it does not say.
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
		// A user in many groups has a long line of them.
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
