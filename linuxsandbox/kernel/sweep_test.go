//go:build linux

package kernel

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// sweeper is set in the process that TestSweep starts.
const sweeper = "KERNEL_TEST_SWEEPER"

func TestMain(m *testing.M) {
	sandboxtest.Main()
	if os.Getenv(sweeper) != "" {
		playSweeper()
	}
	os.Exit(m.Run())
}

// TestSweep: without a Landlock scope the sweep walks the tree, and catches processes that keep
// forking.
func TestSweep(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// This parent adopts the orphans below it.
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), sweeper+"=1", sandboxtest.NoPause)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "nothing left") {
		t.Errorf("%v\n%s", err, out)
	}
}

// playSweeper starts processes that keep forking, and sweeps them.
func playSweeper() {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	r, w, err := os.Pipe()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	exe, err := os.Executable()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for range 4 {
		// The suite's probe: each process starts the next one and ends.
		c := &exec.Cmd{Path: exe, Args: []string{"sandboxtest-probe", fmt.Sprintf("hydra\x1f%d", sandboxtest.HydraLives)}, Stdout: w, Stderr: w}
		if err := c.Run(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	w.Close()
	// As in the keeper, another thread reaps meanwhile. Without it the process table fills with
	// zombies, each read of it takes longer, and finally the machine has no pid left. The reaper
	// knows when no process is left; the sweep cannot know, because a process that forks and ends
	// during the read of the table may have a child that is not in the table.
	gone := make(chan bool)
	go func() {
		defer close(gone)
		for {
			if _, err := unix.Wait4(-1, nil, 0, nil); err == unix.ECHILD {
				return
			}
		}
	}()
	swept := 0
	for more := true; more; {
		swept += len(Sweep(Descendants(os.Getpid())))
		select {
		case <-gone:
			more = false
		default:
			Pause()
		}
	}
	// The pipe that all of them held is at its end.
	fd := int(r.Fd()) // once: Fd makes reading block
	_ = unix.SetNonblock(fd, true)
	n, err := unix.Read(fd, make([]byte, 1))
	r.Close()
	if n != 0 || err != nil || swept < 4 {
		fmt.Println("somebody is left, or nobody was there", n, err, swept)
		os.Exit(1)
	}
	fmt.Println("nothing left")
	os.Exit(0)
}
