package main

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptServe listens on a socket with a path until the end: serve PATH.
func scriptServe(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve PATH")
	}
	l, err := net.Listen("unix", ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Defer(func() { l.Close() })
}

// socketClient is a program that connects to a socket with a path.
func socketClient() {
	if c, err := net.Dial("unix", os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		syscall.Exit(1)
	} else {
		c.Close()
	}
}
