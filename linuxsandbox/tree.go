//go:build linux

package linuxsandbox

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// stopRounds bounds Stop, with the pause between them, to about two seconds.
const stopRounds = 1000

// Stop is part of sandbox.Tree. The keeper itself runs on: when codeagent ends, it kills the tree. A
// stopped process cannot fork: a look that finds none running has found all.
func (p *process) Stop() (resume func(), err error) {
	var stopped []kernel.Process
	resume = func() {
		for _, one := range stopped {
			signalTo(one, unix.SIGCONT)
		}
	}
	for range stopRounds {
		runs := false
		for _, one := range kernel.Descendants(p.keeper.pid)(kernel.Processes()) {
			if still(one.PID) {
				continue
			}
			runs = true
			one.State, one.Parent = 0, 0
			if !slices.Contains(stopped, one) {
				stopped = append(stopped, one)
			}
			signalTo(one, unix.SIGSTOP)
		}
		if !runs {
			return resume, nil
		}
		_, _ = unix.Poll(nil, 2)
	}
	resume()
	return nil, errors.New("a process does not stop: a call of it waits for an answer, or it hangs in the kernel")
}

// signalTo signals a process if the pid still belongs to it.
func signalTo(p kernel.Process, sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := kernel.ReadProcess(p.PID); ok && now.Start == p.Start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// still reports whether no thread of a process runs or waits: each is stopped or has ended.
func still(pid int) bool {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task/"
	names, err := os.ReadDir(tasks)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	for _, name := range names {
		data, err := os.ReadFile(tasks + name.Name() + "/stat")
		end := bytes.LastIndexByte(data, ')')
		if err == nil && (end < 0 || len(data) < end+3 || !bytes.ContainsRune([]byte("TtZX"), rune(data[end+2]))) {
			return false
		}
	}
	return true
}

// mostHeld bounds the descriptors and mappings that are examined in one tree.
const mostHeld = 1 << 16

// Holds is part of sandbox.Tree. Threads may have descriptors of their own (CLONE_FILES), so each is
// examined.
func (p *process) Holds(below func(string) bool) (files []string, all bool) {
	h := &held{below: below, left: mostHeld, all: true}
	for _, one := range kernel.Descendants(p.keeper.pid)(kernel.Processes()) {
		dir := "/proc/" + strconv.Itoa(one.PID)
		h.maps(dir)
		tasks, err := os.ReadDir(dir + "/task")
		h.all = h.all && err == nil
		for _, task := range tasks {
			h.descriptors(dir + "/task/" + task.Name())
		}
	}
	slices.Sort(h.files)
	return slices.Compact(h.files), h.all
}

type held struct {
	below func(string) bool
	files []string
	left  int
	all   bool
}

// one counts an entry, and reports whether more may be examined.
func (h *held) one() bool {
	h.left--
	h.all = h.all && h.left > 0
	return h.left > 0
}

// descriptors examines those of a thread.
func (h *held) descriptors(dir string) {
	names, err := os.ReadDir(dir + "/fd")
	if err != nil {
		h.all = false
		return
	}
	for _, name := range names {
		if !h.one() {
			return
		}
		info, err := kernel.ReadSmall(dir + "/fdinfo/" + name.Name())
		flags, bad := strconv.ParseUint(kernel.StatusField(info, "flags:"), 8, 64)
		path, gone := os.Readlink(dir + "/fd/" + name.Name())
		if err != nil || bad != nil || gone != nil {
			h.all = false
			continue
		}
		// Descriptors that were sent through a socket and not received are in nobody's table.
		if n := kernel.StatusField(info, "scm_fds:"); n != "" && n != "0" {
			h.all = false
		}
		var st unix.Stat_t
		switch {
		case flags&unix.O_ACCMODE == unix.O_RDONLY || flags&unix.O_PATH != 0 || !h.below(path):
		case unix.Stat(dir+"/fd/"+name.Name(), &st) != nil:
			h.all = false
		case st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink > 0:
			h.files = append(h.files, path)
		}
	}
}

// maps examines the mappings of a process. One that is shared and not writable may become writable
// again (mprotect), so each shared one counts.
func (h *held) maps(dir string) {
	data, err := os.ReadFile(dir + "/maps")
	if err != nil {
		h.all = false
	}
	for line := range bytes.Lines(data) {
		if !h.one() {
			return
		}
		fields := strings.Fields(string(line))
		if len(fields) < 6 || len(fields[1]) < 4 || fields[1][3] != 's' {
			continue
		}
		_, path, _ := strings.Cut(strings.TrimRight(string(line), "\n"), "/")
		if path = "/" + path; h.below(path) && !strings.HasSuffix(path, " (deleted)") {
			h.files = append(h.files, path)
		}
	}
}
