//go:build !linux

package main

// keepClosed does nothing: here the program's entry point cannot be chosen.
func keepClosed() error { return nil }

// openFiles is the limit of open files with which codeagent was started; here it is not known.
func openFiles() uint64 { return 0 }
