package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
)

// Commands of the scripts about the ends of a run: its streams, and signals.

// scriptOpen runs a command whose stdin is a pipe that nobody writes to or closes, and
// compares its exit status: open N CMD...
func scriptOpen(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: open N CMD...")
	}
	r, w, err := os.Pipe()
	ts.Check(err)
	defer w.Close()
	cmd, out, errs := scriptCommand(ts, args[1:])
	cmd.Stdin = r
	scriptEnd(ts, args[0], cmd.Run(), cmd, r)
	_, _ = io.WriteString(ts.Stdout(), out.String())
	_, _ = io.WriteString(ts.Stderr(), errs.String())
}

// scriptGone runs a command whose stdout is a pipe without a reader, and compares its exit
// status: gone N CMD...
func scriptGone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: gone N CMD...")
	}
	r, w, err := os.Pipe()
	ts.Check(err)
	r.Close()
	cmd, _, errs := scriptCommand(ts, args[1:])
	cmd.Stdout = w
	scriptEnd(ts, args[0], cmd.Run(), cmd, w)
	_, _ = io.WriteString(ts.Stderr(), errs.String())
}

// scriptTerminal runs a command on a terminal, and compares its exit status: terminal N CMD...
// TYPED is typed there, with a space for each Enter. What the terminal got is then checked with stdout.
func scriptTerminal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: terminal N CMD...")
	}
	cmd, out, _ := scriptCommand(ts, args[1:])
	cmd.Stdout, cmd.Stderr = nil, nil
	tty, err := pty.Start(cmd)
	ts.Check(err)
	_, err = io.WriteString(tty, strings.ReplaceAll(ts.Getenv("TYPED"), " ", "\n"))
	ts.Check(err)
	_, _ = io.Copy(out, tty) // ends with an error when the program has ended
	cmd.Stdout = out
	scriptEnd(ts, args[0], cmd.Wait(), cmd, tty)
	_, _ = io.WriteString(ts.Stdout(), out.String())
}

var signals = map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT, "KILL": syscall.SIGKILL}

// scriptSignal sends a signal to a command at a certain point, makes the file signalled, and
// compares the exit status: signal NAME POINT ARG N CMD... The points are:
//
//	asked COUNT   the model of this script has had so many requests
//	made FILE     the file is there
//	says TEXT     stdout or stderr has the text
//	reads BYTES   it has read so many bytes, more than a pipe holds, from a stdin that stays open
func scriptSignal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 5 || signals[args[0]] == 0 {
		ts.Fatalf("usage: signal INT|TERM|HUP|QUIT|KILL asked|made|says|reads ARG N CMD...")
	}
	point, arg := args[1], args[2]
	cmd, out, errs := scriptCommand(ts, args[4:])
	var stdin io.WriteCloser
	if point == "reads" {
		var err error
		stdin, err = cmd.StdinPipe()
		ts.Check(err)
		defer stdin.Close()
	}
	ts.Check(cmd.Start())
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	reached := func() bool { return true }
	switch point {
	case "asked":
		want, err := strconv.ParseInt(arg, 10, 64)
		ts.Check(err)
		count, _ := asked.Load(ts.Getenv("MODEL"))
		reached = func() bool { return count.(*atomic.Int64).Load() >= want }
	case "made":
		reached = func() bool {
			_, err := os.Lstat(ts.MkAbs(arg))
			return err == nil
		}
	case "says":
		reached = func() bool { return strings.Contains(out.String()+errs.String(), arg) }
	case "reads":
		n, err := strconv.Atoi(arg)
		ts.Check(err)
		_, err = stdin.Write(make([]byte, n)) // returns when almost all of it has been read
		ts.Check(err)
	default:
		ts.Fatalf("there is no point %q", point)
	}
	for !reached() {
		select {
		case err := <-over:
			ts.Fatalf("it ended before %s %s: %v\nstdout: %s\nstderr: %s", point, arg, err, out, errs)
		case <-time.After(2 * time.Millisecond): // there is no event for what other programs do
		}
	}
	ts.Check(cmd.Process.Signal(signals[args[0]]))
	ts.Check(os.WriteFile(ts.MkAbs("signalled"), nil, 0o644))
	scriptEnd(ts, args[3], <-over, cmd)
	_, _ = io.WriteString(ts.Stdout(), out.String())
	_, _ = io.WriteString(ts.Stderr(), errs.String())
}

// scriptCommand prepares a command as exec does in a script.
func scriptCommand(ts *testscript.TestScript, argv []string) (cmd *exec.Cmd, out, errs *buffer) {
	name, err := exec.LookPath(filepath.Join(ts.Getenv("BIN"), argv[0]))
	if err != nil {
		name, err = exec.LookPath(argv[0])
	}
	ts.Check(err)
	cmd = exec.Command(name, argv[1:]...)
	cmd.Dir = ts.MkAbs(".")
	// testscript does not hand out the environment of its commands.
	ts.Check(ts.Exec("sh", "-c", `env -0 >"$WORK/.env"`))
	cmd.Env = strings.Split(strings.TrimSuffix(ts.ReadFile(ts.Getenv("WORK")+"/.env"), "\x00"), "\x00")
	out, errs = new(buffer), new(buffer)
	cmd.Stdout, cmd.Stderr = out, errs
	return cmd, out, errs
}

// scriptEnd closes files and compares an exit status.
func scriptEnd(ts *testscript.TestScript, want string, err error, cmd *exec.Cmd, files ...*os.File) {
	for _, f := range files {
		f.Close()
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		ts.Fatalf("%v", err)
	}
	if got := fmt.Sprint(cmd.ProcessState.ExitCode()); got != want {
		ts.Fatalf("exit status %s, want %s\nstdout: %s\nstderr: %s", got, want, cmd.Stdout, cmd.Stderr)
	}
}

// buffer is a strings.Builder that can be read while it is written to.
type buffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
