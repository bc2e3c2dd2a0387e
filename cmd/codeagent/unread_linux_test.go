package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/internal/scripted"

	"golang.org/x/sys/unix"
)

// TestAReaderThatStopsReadingHoldsNothingUp: the pipe of stdout is full and stays open; a signal
// and the time limit end codeagent all the same.
func TestAReaderThatStopsReadingHoldsNothingUp(t *testing.T) {
	t.Parallel() // waits for seconds
	u := newUser(t, "self", -1)
	server, err := scripted.Start(t.Context(), scripted.Always(scripted.Reply{Text: strings.Repeat("much ", 100_000), Piece: 1 << 20}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	for _, c := range []struct {
		name   string
		flags  []string
		signal syscall.Signal // 0: none
		want   int
	}{
		{"the answer, TERM", nil, syscall.SIGTERM, 143},
		{"the SDK's lines, TERM", []string{"--experimental-json"}, syscall.SIGTERM, 143},
		{"lines, the time limit", []string{"--json", "--timeout=1s"}, 0, 124},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // each waits for seconds
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer w.Close()
			cmd := u.codeagent(append([]string{"exec", "go"}, c.flags...)...)
			cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=scripted")
			cmd.Stdout = w
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			over := make(chan struct{})
			go func() { defer close(over); _ = cmd.Wait() }()
			for deadline := time.Now().Add(time.Minute); c.signal != 0; time.Sleep(10 * time.Millisecond) {
				room := []unix.PollFd{{Fd: int32(w.Fd()), Events: unix.POLLOUT}}
				if n, err := unix.Poll(room, 0); n == 0 && err == nil {
					_ = cmd.Process.Signal(c.signal)
					break
				}
				if time.Now().After(deadline) {
					t.Error("the pipe is never full")
					break
				}
			}
			select {
			case <-over:
			case <-time.After(time.Minute):
				_ = cmd.Process.Kill()
				<-over
				t.Fatal("codeagent waits for its reader")
			}
			if got := cmd.ProcessState.ExitCode(); got != c.want {
				t.Errorf("status %d, want %d", got, c.want)
			}
		})
	}
}
