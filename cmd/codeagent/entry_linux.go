package main

import (
	"os"
	"syscall"
)

// Before any Go code of ours runs, Go's runtime changes two things. It opens /dev/null in place of a
// closed standard stream: `codeagent exec >&-` would lose its answer and exit with 0. And it raises
// the limit of open files. Therefore the program starts at entry, which looks first. The Makefile
// passes entry to the linker (-E).

// stdoutAtStart is what fcntl(1, F_GETFD) returned before the runtime began: negative
// if stdout was closed. It stays 0 in a program that was linked without -E.
var stdoutAtStart int64

// filesAtStart is the soft and the hard limit of open files (prlimit(2)). Commands get the soft one back:
// programs that use select(2), or that close every number up to the limit, rely on it. It stays 0 like
// stdoutAtStart.
var filesAtStart [2]uint64

// openFiles is the limit of open files with which codeagent was started, 0 if it is not known.
func openFiles() uint64 { return filesAtStart[0] }

// entry is the program's entry point (entry_*.s).
func entry()

var _ = entry

// keepClosed makes writes to a closed stdout fail, for codeagent and its commands: it
// replaces stdout by the reading end of a pipe.
func keepClosed() error {
	if stdoutAtStart >= 0 {
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	defer w.Close()
	return syscall.Dup3(int(r.Fd()), 1, 0)
}
