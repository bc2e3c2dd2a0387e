package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childrenOf are the processes whose parent is pid.
func childrenOf(t *testing.T, pid int) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, name := range stats {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
		if parent, _ := strconv.Atoi(fields[1]); parent == pid {
			child, _ := strconv.Atoi(strings.Split(name, "/")[2])
			out = append(out, child)
		}
	}
	return out
}

// TestAStoppedKeeperHoldsNothingUp: a signal, the command's time limit and a second signal end
// codeagent, although the helper that should end the command was stopped. The helper is
// killed, and the command with it.
func TestAStoppedKeeperHoldsNothingUp(t *testing.T) {
	t.Parallel() // waits for seconds
	for _, c := range []struct {
		name    string
		flags   []string
		signals []syscall.Signal
		want    int
	}{
		{"TERM", nil, []syscall.Signal{syscall.SIGTERM}, 143},
		{"INT twice", nil, []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, 130},
		{"time limit", []string{"--timeout=10s"}, nil, 124},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // each waits for seconds
			eachUser(t, func(t *testing.T, u user) {
				args := append(append([]string{"sandbox"}, c.flags...), "--", "sh", "-c", "echo go; exec sleep 1000")
				cmd := u.codeagent(args...)
				out, err := cmd.StdoutPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Fatal(err)
				}
				r := bufio.NewReader(out)
				if line, err := r.ReadString('\n'); line != "go\n" {
					t.Fatalf("%q, %v", line, err)
				}
				stopped := 0
				for _, keeper := range childrenOf(t, cmd.Process.Pid) {
					// A child that only prepared the command may have ended.
					if err := syscall.Kill(keeper, syscall.SIGSTOP); err == nil {
						stopped++
					} else if err != syscall.ESRCH {
						t.Fatal(err)
					}
				}
				if stopped == 0 {
					t.Fatal("codeagent has no helper to stop")
				}
				for _, s := range c.signals {
					if err := cmd.Process.Signal(s); err != nil {
						t.Fatal(err)
					}
				}
				late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
				defer late.Stop()
				// Every process of the command holds the pipe, so its end means that all are gone.
				if _, err := io.Copy(io.Discard, r); err != nil {
					t.Error(err)
				}
				if err := cmd.Wait(); cmd.ProcessState.ExitCode() != c.want {
					t.Errorf("ended with %v, want status %d", fmt.Sprint(err), c.want)
				}
			})
		})
	}
}
