package main

import (
	"os"
	"syscall"
	"testing"
	"time"

	"codeagent/cmd/codeagent/cli"
	"codeagent/exec"
)

// TestLastResortWithoutATerminalThatTakesText: a second signal ends codeagent although nobody
// reads what it writes.
func TestLastResortWithoutATerminalThatTakesText(t *testing.T) {
	t.Parallel() // it waits, and does nothing meanwhile
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close() // ends the write that blocks
	if err := w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for { // fill it
		if _, err := w.Write(make([]byte, 4096)); err != nil {
			break
		}
	}
	if err := w.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	code := 0
	lastResort(cli.Stdio{Err: w}, syscall.SIGTERM, exec.TerminalState{}, make(chan struct{}), func(n int) { code = n })
	if code != 128+int(syscall.SIGTERM) {
		t.Errorf("the status is %d", code)
	}
}
