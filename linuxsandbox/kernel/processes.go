//go:build linux

package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// This is how to kill a tree of processes without a namespace or a Landlock scope: stop all
// descendants of a process until no new one appears, then kill them. A stopped process cannot fork.

// Process is one line of the process table.
type Process struct {
	PID, Parent int
	// State is a letter of proc_pid_stat(5): Z is a zombie, X is dead.
	State byte
	// Start, in clock ticks since boot, distinguishes a process from a later one with the same pid.
	Start uint64
	// Forked: it has executed no program since it was forked (PF_FORKNOEXEC of the kernel's sched.h).
	Forked bool
	// Comm is its name, which it may have chosen itself.
	Comm string
}

const forkNoExec = 0x40

// sweepRounds bounds one sweep: the next sweep continues with a fork bomb that is faster.
const sweepRounds = 50

// Sweep stops and then kills all processes that pick returns, and returns them. pick gets the whole
// process table.
func Sweep(pick func([]Process) []Process) []Process {
	stopped := map[Process]bool{}
	for range sweepRounds {
		fresh := 0
		for _, p := range pick(Processes()) {
			p = Process{PID: p.PID, Start: p.Start}
			if !stopped[p] {
				stopped[p] = true
				fresh++
				signalProcess(p, unix.SIGSTOP)
			}
		}
		if fresh == 0 {
			break
		}
	}
	var found []Process
	for p := range stopped {
		signalProcess(p, unix.SIGKILL)
		found = append(found, p)
	}
	return found
}

// Descendants picks all descendants of root except zombies.
func Descendants(root int) func([]Process) []Process {
	return func(table []Process) []Process { return Below(table, map[int]bool{root: true}) }
}

// Below returns the descendants of roots.
func Below(table []Process, roots map[int]bool) []Process {
	children := map[int][]Process{}
	for _, p := range table {
		children[p.Parent] = append(children[p.Parent], p)
	}
	var out []Process
	var todo []int
	for pid := range roots {
		todo = append(todo, pid)
	}
	for len(todo) > 0 {
		next := children[todo[0]]
		todo = todo[1:]
		for _, p := range next {
			todo = append(todo, p.PID)
			if p.State != 'Z' && p.State != 'X' {
				out = append(out, p)
			}
		}
	}
	return out
}

// signalProcess signals p if the pid still belongs to that process.
func signalProcess(p Process, sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := ReadProcess(p.PID); ok && now.Start == p.Start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

func Processes() []Process {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var out []Process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := ReadProcess(pid); ok {
			out = append(out, p)
		}
	}
	return out
}

// ReadProcess reads /proc/PID/stat. The program's name is in parentheses and may contain anything,
// so fields are counted from the last parenthesis.
func ReadProcess(pid int) (Process, bool) {
	data, err := ReadSmall("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Process{}, false
	}
	begin, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if begin < 0 || end < begin {
		return Process{}, false
	}
	fields := bytes.Fields(data[end+1:]) // fields[0] is field 3 of proc_pid_stat(5)
	if len(fields) < 20 {
		return Process{}, false
	}
	state := fields[0][0]
	if threads, err := strconv.Atoi(string(fields[17])); err == nil && threads > 1 && state == 'Z' {
		state = 'S' // its first thread has ended, but others have not
	}
	ppid, err1 := strconv.Atoi(string(fields[1]))
	start, err2 := strconv.ParseUint(string(fields[19]), 10, 64)
	flags, err3 := strconv.ParseUint(string(fields[6]), 10, 32)
	return Process{PID: pid, Parent: ppid, State: state, Start: start, Forked: flags&forkNoExec != 0, Comm: string(bytes.ToValidUTF8(data[begin+1:end], []byte("?")))}, err1 == nil && err2 == nil && err3 == nil
}

// Pause waits between two rounds of killing, 20 ms.
func Pause() { _, _ = unix.Poll(nil, 20) }

// StatusField is the value of a line of /proc/PID/status or a similar file; "" if there is no such
// line. name includes the colon.
func StatusField(status []byte, name string) string {
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			return string(bytes.TrimSpace(rest))
		}
	}
	return ""
}

// ReadSmall reads a file of /proc of at most 16 KiB.
func ReadSmall(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	buf := make([]byte, 16<<10)
	size := 0
	for size < len(buf) {
		n, err := unix.Read(fd, buf[size:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if n == 0 {
			return buf[:size], nil
		}
		size += n
	}
	return nil, errors.New(path + " is too large")
}

// ProcessOf is the pid of the process to which a thread belongs, or 0.
func ProcessOf(tid int) int {
	status, err := ReadSmall("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(StatusField(status, "Tgid:"))
	return pid
}

// InsideNumbers are the pid and tid of the thread tid in its own PID namespace.
func InsideNumbers(tid int) (process, thread int) {
	status, err := ReadSmall("/proc/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return 0, 0
	}
	return innermost(StatusField(status, "NStgid:")), innermost(StatusField(status, "NSpid:"))
}

// innermost is the last of a process's numbers; it has one for each namespace.
func innermost(numbers string) int {
	list := strings.Fields(numbers)
	if len(list) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(list[len(list)-1])
	return n
}
