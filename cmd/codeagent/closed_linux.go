package main

import (
	"os"
	"syscall"
)

// Go's runtime opens /dev/null in place of a closed standard stream, before any Go code
// runs: `codeagent exec >&-` would lose its answer and exit with 0. Therefore the program
// starts at entry, which checks first. The Makefile passes entry to the linker (-E).

// stdoutAtStart is what fcntl(1, F_GETFD) returned before the runtime began: negative
// if stdout was closed. It stays 0 in a program that was linked without -E.
var stdoutAtStart int64

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
