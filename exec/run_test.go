package exec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"codeagent/exec"
	"codeagent/hostfile"
	"codeagent/sandbox"
)

// plain returns a runner without a sandbox, and a canonical empty folder.
func plain(t testing.TB) (*exec.Runner, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return exec.New(exec.Options{
		Backend:  exec.Plain{},
		None:     exec.Plain{},
		SpillDir: filepath.Join(dir, "spill"),
		Environ:  []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere", "PWD=/stale", "API_KEY=secret", "CODEAGENT_X=1"},
		Files:    exec.OS{},
	}), dir
}

func sh(dir, script string) exec.Command {
	return exec.Command{Argv: []string{"/bin/sh", "-c", script}, Dir: dir}
}

func run(t testing.TB, r *exec.Runner, c exec.Command) exec.Outcome {
	t.Helper()
	o, err := r.Run(context.Background(), sandbox.FullAccess(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestRunTellsExitFromSignal(t *testing.T) {
	r, dir := plain(t)
	for script, want := range map[string]sandbox.Status{
		"exit 0":        {},
		"exit 3":        {Exit: 3},
		"exit 137":      {Exit: 137},
		"kill -9 $$":    {Exit: -1, Signal: 9},
		"kill -TERM $$": {Exit: -1, Signal: 15},
	} {
		if o := run(t, r, sh(dir, script)); o.Status != want || o.TimedOut || o.Interrupted {
			t.Errorf("%s: %+v, want %+v", script, o, want)
		}
	}
}

// Output is captured in the order in which it was printed, across both streams.
func TestRunKeepsTheOrderOfBothStreams(t *testing.T) {
	r, dir := plain(t)
	var want strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&want, "out %d\nerr %d\n", i, i)
	}
	o := run(t, r, sh(dir, "i=0; while [ $i -lt 2000 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done; echo last >&2"))
	if o.Output.Total != int64(want.Len()+len("last\n")) || !strings.HasPrefix(want.String(), string(o.Output.Head)) || !strings.HasSuffix(want.String()+"last\n", string(o.Output.Tail)) {
		t.Errorf("%d bytes, %.60q … %q", o.Output.Total, o.Output.Head, o.Output.Tail[max(0, len(o.Output.Tail)-60):])
	}
}

func TestRunTellsStreamsApart(t *testing.T) {
	r, dir := plain(t)
	var mu sync.Mutex
	got := ""
	next := int64(0)
	sink := func(offset int64, data []byte) {
		mu.Lock()
		defer mu.Unlock()
		if offset != next {
			t.Errorf("piece at %d, want %d", offset, next)
		}
		next = offset + int64(len(data))
		got += string(data)
	}
	c := sh(dir, "echo one; echo two >&2; pwd")
	c.Apart = true
	out := ""
	c.Tap = func(data []byte) { out += string(data) }
	o, err := r.Run(context.Background(), sandbox.FullAccess(), c, sink)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got, "one\n") || !strings.Contains(got, "two\n") || !strings.Contains(got, dir+"\n") {
		t.Errorf("sink got %q", got)
	}
	if out != "one\n"+dir+"\n" {
		t.Errorf("stdout was %q", out)
	}
	if text := o.Output.Text(); !strings.Contains(text, "one\n") || !strings.Contains(text, "two\n") || int64(len(text)) != next || string(o.Output.Errors) != "two\n" || o.Output.Skipped != 0 || o.Output.Spill != "" {
		t.Errorf("output %q, %+v", text, o.Output)
	}
}

func TestRunEnvironment(t *testing.T) {
	r, dir := plain(t)
	p := sandbox.FullAccess()
	p.Temp = dir
	p.Env.Set = map[string]string{"A": "b"}
	o, err := r.Run(context.Background(), p, exec.Command{Argv: []string{"env"}, Dir: dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := "\n" + o.Output.Text()
	for _, want := range []string{"\nPWD=" + dir + "\n", "\nTMPDIR=" + dir + "\n", "\nHOME=/nowhere\n", "\nA=b\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
	for _, never := range []string{"secret", "CODEAGENT_X", "/stale"} {
		if strings.Contains(text, never) {
			t.Errorf("%q is in %s", never, text)
		}
	}
}

// TestOutsideEnvironment: a command that was allowed outside the sandbox gets the user's own caches,
// temporary folder and search path, and nothing that leads to where commands may write. Without the
// ground it gets the session's.
func TestOutsideEnvironment(t *testing.T) {
	_, dir := plain(t)
	own := t.TempDir()
	p := sandbox.WorkspaceWrite(dir)
	p.Unconfined, p.Temp = true, filepath.Join(dir, "temp")
	p.Env.Set = map[string]string{"GOCACHE": filepath.Join(dir, "cache"), "A": "b"}
	link := filepath.Join(dir, "link") // leads elsewhere now, and a command can change that
	if err := os.Symlink("/usr/bin", link); err != nil {
		t.Fatal(err)
	}
	o := exec.Options{None: exec.Plain{}, Files: exec.OS{}, Environ: []string{
		"PATH=" + dir + "/bin:/usr/bin:" + link + ":/bin", "GOCACHE=" + own + "/go", "TMPDIR=" + own, "HOME=" + own, "VIRTUAL_ENV=" + dir + "/venv", "PWD=/x",
	}}
	run := func() string {
		out, err := exec.New(o).Run(context.Background(), p, exec.Command{Argv: []string{"/usr/bin/env"}, Dir: dir}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return "\n" + out.Output.Text()
	}
	if text := run(); !strings.Contains(text, "\nGOCACHE="+dir+"/cache\n") || !strings.Contains(text, "\nTMPDIR="+dir+"/temp\n") {
		t.Errorf("without the ground: %s", text)
	}
	o.Ground = func() hostfile.Ground { return hostfile.Ground{}.WithPolicy(p) }
	text := run()
	for _, want := range []string{"PATH=/usr/bin:/bin", "GOCACHE=" + own + "/go", "TMPDIR=" + own, "HOME=" + own, "A=b", "PWD=" + dir} {
		if strings.Count(text, "\n"+want+"\n") != 1 {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	if strings.Count(text, dir) != 1 {
		t.Errorf("it leads to what commands can write: %s", text)
	}
}

func TestRunStartErrors(t *testing.T) {
	r, dir := plain(t)
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		c    exec.Command
		code int
	}{
		{exec.Command{Dir: dir}, sandbox.ExitCannotConfine},
		{exec.Command{Argv: []string{"true"}, Dir: "relative"}, sandbox.ExitCannotConfine},
		{exec.Command{Argv: []string{"a\x00b"}, Dir: dir}, sandbox.ExitCannotConfine},
		{exec.Command{Argv: []string{"no-such-program"}, Dir: dir}, sandbox.ExitNotFound},
		{exec.Command{Argv: []string{"./no-such-program"}, Dir: dir}, sandbox.ExitNotFound},
		{exec.Command{Argv: []string{"./script"}, Dir: dir}, sandbox.ExitCannotExec},
		{exec.Command{Argv: []string{dir}, Dir: dir}, sandbox.ExitCannotExec},
		{exec.Command{Argv: []string{"true"}, Dir: filepath.Join(dir, "gone")}, sandbox.ExitCannotExec},
	} {
		_, err := r.Run(context.Background(), sandbox.FullAccess(), row.c, nil)
		var start *sandbox.StartError
		if !errors.As(err, &start) || start.Code != row.code {
			t.Errorf("%v: error %v, want code %d", row.c.Argv, err, row.code)
		}
	}
	none := exec.New(exec.Options{Files: exec.OS{}})
	if _, err := none.Run(context.Background(), sandbox.ReadOnly(), sh(dir, "true"), nil); err == nil {
		t.Error("a command ran without any backend")
	}
	if _, err := none.Enforcement(sandbox.ReadOnly()); err == nil {
		t.Error("no backend, and no error")
	}
}

// Only 0, 1 and 2 are open, stdin is empty, and there is no terminal.
func TestRunInheritsNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc/self/fd")
	}
	r, dir := plain(t)
	leak, err := os.Open("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	fd, err := syscall.Dup(int(leak.Fd())) // without close-on-exec, as a careless library would
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	o := run(t, r, sh(dir, `ls /proc/self/fd | tr '\n' ' '; readlink /proc/self/fd/0; cat; (: </dev/tty) 2>/dev/null && echo terminal; exit 0`))
	// ls itself holds 3, the folder it reads.
	if text := o.Output.Text(); text != "0 1 2 3 /dev/null\n" {
		t.Errorf("got %q", text)
	}
	o = run(t, r, sh(dir, `read -r _ _ _ _ _ sid _ </proc/self/stat; echo $sid $$`))
	if f := strings.Fields(o.Output.Text()); len(f) != 2 || f[0] != f[1] {
		t.Errorf("session and process %q, want the same", f)
	}
}

func TestRunTimesOut(t *testing.T) {
	r, dir := plain(t)
	c := sh(dir, "echo begun; sleep 1000 & wait")
	var o exec.Outcome
	// The machine may be too slow to start a shell in so short a time.
	for c.Timeout = 50 * time.Millisecond; c.Timeout < time.Minute && o.Output.Text() == ""; c.Timeout *= 4 {
		o = run(t, r, c)
		if !o.TimedOut || o.Interrupted || !o.Failed() {
			t.Errorf("outcome %+v", o)
		}
	}
	if o.Output.Text() != "begun\n" {
		t.Errorf("what it printed until then is %q", o.Output.Text())
	}
	p := sandbox.FullAccess()
	p.Limits.WallMillis = 50
	o, err := r.Run(context.Background(), p, sh(dir, "sleep 1000"), nil)
	if err != nil || !o.TimedOut {
		t.Errorf("outcome %+v, %v", o, err)
	}
}

func TestRunIsInterrupted(t *testing.T) {
	_, dir := plain(t)
	for script, grace := range map[string]time.Duration{
		"echo begun; sleep 1000": time.Minute,
		"trap 'echo tidy; exit 7' TERM; echo begun; while :; do sleep 0.01; done": time.Minute,
		"trap '' TERM INT HUP; echo begun; while :; do sleep 0.01; done":          0,
		"trap '' TERM; echo begun; kill -STOP $$":                                 0,
	} {
		r := exec.New(exec.Options{Backend: exec.Plain{}, None: exec.Plain{}, Grace: grace, Files: exec.OS{}})
		ctx, cancel := context.WithCancel(context.Background())
		o, err := r.Run(ctx, sandbox.FullAccess(), sh(dir, script), func(int64, []byte) { cancel() })
		if err != nil || !o.Interrupted || o.TimedOut {
			t.Errorf("%s: %+v, %v", script, o, err)
		}
		if tidy := strings.Contains(o.Output.Text(), "tidy"); tidy != strings.Contains(script, "tidy") {
			t.Errorf("%s: output %q", script, o.Output.Text())
		}
		cancel()
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	r, dir := plain(t)
	ctx := expiring{context.Background(), make(chan struct{})}
	expire := sync.OnceFunc(func() { close(ctx.done) })
	o, err := r.Run(ctx, sandbox.FullAccess(), sh(dir, "echo begun; sleep 1000"), func(int64, []byte) { expire() })
	if err != nil || !o.TimedOut || o.Interrupted {
		t.Errorf("deadline of the context: %+v, %v", o, err)
	}
	if _, err := r.Run(ctx, sandbox.FullAccess(), sh(dir, "touch ran"), nil); err == nil {
		t.Error("a command started under a context that had ended")
	}
}

// expiring is a context whose deadline passes when the test says so.
type expiring struct {
	context.Context
	done chan struct{}
}

func (e expiring) Done() <-chan struct{} { return e.done }

func (e expiring) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// alive reports whether the process still runs. A zombie does not, if all of its threads have
// ended.
func alive(pid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return runtime.GOOS != "linux" && syscall.Kill(pid, 0) == nil
	}
	return !strings.Contains(string(status), "\nState:\tZ") || !strings.Contains(string(status), "\nThreads:\t1\n")
}

// Processes of a command's session, and those whose parents live, are killed with it, and do not keep Run waiting.
func TestRunLeavesNothingBehind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	r, dir := plain(t)
	const told = `; while ! [ -s pid ]; do sleep 0.01; done; cat pid`
	for name, start := range map[string]string{
		"background job that holds the pipes": `sleep 1000 & echo $!`,
		"a group of its own":                  `timeout 1000 sh -c 'echo $$ >pid; exec sleep 1000' & :` + told,
		"double fork":                         `((echo $(exec sh -c "echo \$PPID") >pid; exec sleep 1000) &)` + told,
		"its own session, its parent lives":   `(setsid sh -c 'echo $$ >pid; exec sleep 1000'; :) & :` + told,
		"its own session, until told to end":  `setsid sh -c 'echo $$ >pid; exec sleep 1000' & :` + told,
		"deaf to every signal":                `sh -c 'trap "" TERM HUP INT; echo $$ >pid; while :; do sleep 1; done' & :` + told,
	} {
		for _, end := range []string{"exit 0", "kill -9 $$", "echo timeout; sleep 1000"} {
			if strings.HasSuffix(name, "told to end") && !strings.Contains(end, "timeout") {
				continue // it outlives its parent
			}
			c := sh(dir, start+"\n"+end)
			c.Timeout = patience
			ctx, cancel := context.WithCancel(context.Background())
			o, err := r.Run(ctx, sandbox.FullAccess(), c, func(_ int64, data []byte) {
				if bytes.Contains(data, []byte("timeout")) {
					cancel()
				}
			})
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(o.Output.Text(), "\n")
			pid, err := strconv.Atoi(first)
			if err != nil {
				t.Errorf("%s, %s: output %q", name, end, o.Output.Text())
				continue
			}
			if alive(pid) {
				t.Errorf("%s, %s: process %d is still there", name, end, pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			_ = os.Remove(filepath.Join(dir, "pid"))
		}
	}
}

// If a process outside the tree holds the pipe, Run still returns.
func TestRunDoesNotWaitForAForeignPipeHolder(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc/PID/fd")
	}
	r, dir := plain(t)
	var held *os.File
	sink := func(_ int64, data []byte) {
		if held == nil {
			held, _ = os.OpenFile("/proc/"+strings.TrimSpace(string(data))+"/fd/1", os.O_WRONLY, 0)
			if err := os.WriteFile(filepath.Join(dir, "held"), nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	o, err := r.Run(context.Background(), sandbox.FullAccess(), sh(dir, "echo $$; while ! [ -e held ]; do sleep 0.01; done; echo end"), sink)
	if err != nil || held == nil {
		t.Fatal(err, held)
	}
	defer held.Close()
	if !strings.HasSuffix(o.Output.Text(), "end\n") {
		t.Errorf("output %q", o.Output.Text())
	}
}

func TestRunCutsAndSpillsLongOutput(t *testing.T) {
	r, dir := plain(t)
	o := run(t, r, sh(dir, "seq 1 100000"))
	var all bytes.Buffer
	for i := 1; i <= 100000; i++ {
		fmt.Fprintln(&all, i)
	}
	out := o.Output
	if out.Total != int64(all.Len()) || out.Skipped != out.Total-20<<10 || out.Spilled != out.Total {
		t.Errorf("counts %d, %d, %d of %d", out.Total, out.Skipped, out.Spilled, all.Len())
	}
	if !bytes.HasPrefix(all.Bytes(), out.Head) || len(out.Head) != 10<<10 {
		t.Errorf("the head has %d bytes and ends with %q", len(out.Head), out.Head[max(0, len(out.Head)-100):])
	}
	if !bytes.HasSuffix(all.Bytes(), out.Tail) || len(out.Tail) != 10<<10 {
		t.Errorf("the tail has %d bytes and begins with %q", len(out.Tail), out.Tail[:min(100, len(out.Tail))])
	}
	spilled, err := os.ReadFile(out.Spill)
	if err != nil || !bytes.Equal(spilled, all.Bytes()) {
		t.Errorf("the spill holds %d bytes, %v", len(spilled), err)
	}
	fi, err := os.Stat(out.Spill)
	if err != nil || fi.Mode() != 0o600 {
		t.Errorf("spill mode %v, %v", fi.Mode(), err)
	}
	if fi, err := os.Stat(filepath.Dir(out.Spill)); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("spill folder mode %v, %v", fi.Mode(), err)
	}
	if text := out.Text(); !strings.Contains(text, "bytes cut, whole output in "+out.Spill) || len(text) > 21<<10 {
		t.Errorf("text of %d bytes without its notice", len(text))
	}

	p := sandbox.FullAccess()
	p.Limits.Output = 30000
	o, err = r.Run(context.Background(), p, sh(dir, "seq 1 100000"), nil)
	if err != nil || o.Output.Spilled != 30000 || !strings.Contains(o.Output.Text(), "first 30000 bytes of the output in") {
		t.Errorf("limited: %d, %v", o.Output.Spilled, err)
	}
	if o := run(t, r, sh(dir, "echo short")); o.Output.Spill != "" {
		t.Error("a short output was spilled")
	}
}

func TestRunRefusesASpillFolderOthersMayWrite(t *testing.T) {
	_, dir := plain(t)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	r := exec.New(exec.Options{None: exec.Plain{}, SpillDir: dir, Files: exec.OS{}})
	if _, err := r.Run(context.Background(), sandbox.FullAccess(), sh(dir, "true"), nil); err == nil {
		t.Error("spilled into a folder that anybody may write")
	}
}

// The sink pauses while the command prints more than any buffer holds.
func TestSlowSinkDoesNotStopTheCommand(t *testing.T) {
	r, dir := plain(t)
	done := filepath.Join(dir, "done")
	var last int64
	gaps := false
	sink := func(offset int64, data []byte) {
		for { // nothing moves until the command has printed it all
			if _, err := os.Stat(done); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		gaps = gaps || offset > last
		last = offset + int64(len(data))
	}
	o, err := r.Run(context.Background(), sandbox.FullAccess(), sh(dir, "head -c 5000000 /dev/zero; touch done; echo end"), sink)
	if err != nil || o.Output.Total != 5000004 {
		t.Fatal(o.Output.Total, err)
	}
	if last != o.Output.Total || !gaps {
		t.Errorf("the sink received up to %d, with gaps: %v", last, gaps)
	}
}

func TestForegroundHandsFilesThrough(t *testing.T) {
	r, dir := plain(t)
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, []byte("typed"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdin, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	o := run(t, r, exec.Command{Argv: []string{"/bin/sh", "-c", "cat; ps -o pgid= -p $$ | tr -d ' '; exit 4"}, Dir: dir, Foreground: true, Stdin: stdin, Stdout: stdout})
	got, err := os.ReadFile(out)
	if want := fmt.Sprintf("typed%d\n", syscall.Getpgrp()); err != nil || string(got) != want || o.Status.Exit != 4 || o.Output.Total != 0 {
		t.Errorf("got %q, %v, %+v, want %q", got, err, o, want)
	}
}

// TestWorkdirs: a command starts only in a listed folder, whatever link leads out of it.
func TestWorkdirs(t *testing.T) {
	r, dir := plain(t)
	for _, sub := range []string{"a/b", "ab"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../ab", filepath.Join(dir, "a", "out")); err != nil {
		t.Fatal(err)
	}
	p := sandbox.FullAccess()
	for in, starts := range map[string]bool{"a": true, "a/b": true, "a/..": false, "ab": false, "a/out": false, "a/missing/..": true} {
		if _, err := r.Run(t.Context(), p, sh(filepath.Join(dir, in), "exit 0"), nil); err != nil {
			t.Fatalf("%s without a list: %v", in, err)
		}
		p.Workdirs = []string{filepath.Join(dir, "a")}
		_, err := r.Run(t.Context(), p, sh(filepath.Join(dir, in), "exit 0"), nil)
		if start := (*sandbox.StartError)(nil); err != nil != !starts || err != nil && (!errors.As(err, &start) || !strings.Contains(err.Error(), "allowed_workdirs")) {
			t.Errorf("%s: %v, want a start: %t", in, err, starts)
		}
		p.Workdirs = nil
	}
}
