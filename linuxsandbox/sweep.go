//go:build linux

package linuxsandbox

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Killing a tree without a namespace or a Landlock scope: stop everything that
// descends from a process until nothing new appears, then kill it. A process
// that is stopped cannot fork.

// proc is one line of the process table.
type proc struct {
	pid, ppid int
	state     byte
	// start, in clock ticks since boot, tells a pid from its next owner.
	start uint64
}

// sweepRounds bounds one sweep: a fork bomb that outruns it meets the next one.
const sweepRounds = 50

// sweep stops and then kills all processes that pick returns, and returns those.
// pick gets the whole process table.
func sweep(pick func([]proc) []proc) []proc {
	stopped := map[proc]bool{}
	for range sweepRounds {
		fresh := 0
		for _, p := range pick(processes()) {
			p.state, p.ppid = 0, 0
			if !stopped[p] {
				stopped[p] = true
				fresh++
				signalProc(p, unix.SIGSTOP)
			}
		}
		if fresh == 0 {
			break
		}
	}
	var found []proc
	for p := range stopped {
		signalProc(p, unix.SIGKILL)
		found = append(found, p)
	}
	return found
}

// descendants picks everything below root, zombies left out.
func descendants(root int) func([]proc) []proc {
	return func(table []proc) []proc { return below(table, map[int]bool{root: true}) }
}

// below returns the processes whose line of parents meets one of roots.
func below(table []proc, roots map[int]bool) []proc {
	children := map[int][]proc{}
	for _, p := range table {
		children[p.ppid] = append(children[p.ppid], p)
	}
	var out []proc
	var todo []int
	for pid := range roots {
		todo = append(todo, pid)
	}
	for len(todo) > 0 {
		next := children[todo[0]]
		todo = todo[1:]
		for _, p := range next {
			todo = append(todo, p.pid)
			if p.state != 'Z' && p.state != 'X' {
				out = append(out, p)
			}
		}
	}
	return out
}

// signalProc signals p if it is still that process.
func signalProc(p proc, sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := readProc(p.pid); ok && now.start == p.start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

func processes() []proc {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var out []proc
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := readProc(pid); ok {
			out = append(out, p)
		}
	}
	return out
}

// readProc reads /proc/PID/stat. The program's name stands in parentheses and
// may contain anything, so fields are counted from the last one.
func readProc(pid int) (proc, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return proc{}, false
	}
	fields := bytes.Fields(data[end+1:]) // fields[0] is field 3 of proc_pid_stat(5)
	if len(fields) < 20 {
		return proc{}, false
	}
	state := fields[0][0]
	if threads, err := strconv.Atoi(string(fields[17])); err == nil && threads > 1 && state == 'Z' {
		state = 'S' // its first thread has ended, and others have not
	}
	ppid, err1 := strconv.Atoi(string(fields[1]))
	start, err2 := strconv.ParseUint(string(fields[19]), 10, 64)
	return proc{pid: pid, ppid: ppid, state: state, start: start}, err1 == nil && err2 == nil
}
