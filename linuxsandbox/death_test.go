//go:build linux

package linuxsandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/control"
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/plan"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// roleVariable makes the test binary act as codeagent: it starts one command in the sandbox with
// its own three files and prints how the command ended.
const roleVariable = "LINUXSANDBOX_TEST_ROLE"

// waitsVariable gives that command a Holder that prints "asked" and never answers.
const waitsVariable = "LINUXSANDBOX_TEST_WAITS"

// playRole is called by TestMain.
func playRole() {
	role := os.Getenv(roleVariable)
	if role == "" {
		return
	}
	signal.Ignore(syscall.SIGINT)
	b, err := New(Options{Helper: os.Getenv(attack.EnvHelper)})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if role != "foreground-contained" && role != "contained" {
		b.plain = errPlain
	}
	var h sandbox.Holder
	if os.Getenv(waitsVariable) != "" {
		h = waiting{}
	}
	ws := os.Getenv("WS")
	p := sandbox.Policy{Write: []sandbox.Root{{Path: ws}}, Protected: sandbox.ProtectedNames{Own: []string{filepath.Join(ws, "bin", "codeagent")}}}
	proc, err := sandboxtest.Start(b, context.Background(), p, sandbox.Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", os.Getenv("SCRIPT")}, Dir: ws, Env: []string{"PATH=/bin:/usr/bin"},
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Foreground: strings.HasPrefix(role, "foreground"),
	}, h)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	st, err := proc.Wait()
	fmt.Println("ended", st.Exit, st.Signal, err)
	os.Exit(0)
}

// waiting is a user who never answers.
type waiting struct{}

func (waiting) Asks(sandbox.Denial) bool { return true }

func (waiting) Hold(ctx context.Context, _ sandbox.Denial) (sandbox.Grant, bool) {
	fmt.Println("asked")
	<-ctx.Done()
	return sandbox.Grant{}, false
}

func agentIn(t *testing.T, role, script string) (*exec.Cmd, string) {
	t.Helper()
	ws := t.TempDir()
	if err := os.Mkdir(filepath.Join(ws, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(ws, "bin", "codeagent"), []byte(programText), 0o755); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, "WS="+ws, "SCRIPT="+script, attack.EnvHelper+"="+tests.Helper(t), sandboxtest.NoPause)
	return cmd, ws
}

// alive reports whether pid is a process that has not ended.
func alive(pid int) bool {
	p, ok := kernel.ReadProcess(pid)
	return ok && p.State != 'Z' && p.State != 'X'
}

// TestEachOfOursKilled: whichever of our processes gets a SIGKILL while a command runs, nothing of
// the command survives, nothing outside has changed, and codeagent's own file in the workspace is
// unchanged. The namespaces of a session have no process to kill: descriptors of codeagent keep
// them alive.
func TestEachOfOursKilled(t *testing.T) {
	// A process that loses its parent becomes this process's child, so this process can wait for
	// it.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
	for role, b := range map[string]*Backend{"background": newPlainBackend(t), "contained": newBackend(t)} {
		e, err := sandboxtest.Enforcement(b, sandbox.WorkspaceWrite(t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; ; n++ {
			name, more := killOneOfOurs(t, role, n)
			t.Logf("%-20s killed: uid %d %s", name, os.Getuid(), strings.Join(e.Active(), "+"))
			if !more {
				break
			}
		}
		b.Close()
	}
}

// killOneOfOurs starts a command, kills the n-th process of its tree and checks the result. It
// returns that process's name, and whether there is another one.
func killOneOfOurs(t *testing.T, role string, n int) (name string, more bool) {
	t.Helper()
	outside := t.TempDir()
	for _, file := range []string{"file", "other"} {
		if err := os.WriteFile(filepath.Join(outside, file), []byte("data"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	look := func() string {
		var b strings.Builder
		attack.Describe(&b, outside)
		return b.String()
	}
	before := look()
	// One process keeps trying, in its own session.
	cmd, ws := agentIn(t, role, `echo evil > bin/codeagent; sleep 1000 &
(cd `+outside+`; setsid sh -c 'while :; do chmod 777 file; echo evil > new; mv other taken; done' 2>/dev/null &)
exec sh -c 'echo started; sleep 1000; :'`)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	if line, err := r.ReadString('\n'); line != "started\n" {
		t.Fatalf("%q, %v", line, err)
	}
	ours, names := oursBelow(t, cmd.Process.Pid)
	if err := unix.Kill(ours[n], unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// Every process of the command holds the pipe.
	if rest, err := io.ReadAll(r); err != nil {
		t.Errorf("%s killed: %q, %v", names[n], rest, err)
	}
	_ = cmd.Wait()
	for i, pid := range ours {
		// Wait for those that became children of this process; their parents waited for the others.
		if _, err := unix.Wait4(pid, nil, 0, nil); err == nil {
			continue
		}
		if alive(pid) {
			t.Errorf("%s killed: %s outlives it", names[n], names[i])
		}
	}
	if after := look(); after != before {
		t.Errorf("%s killed: outside there is\n%s\nbefore\n%s", names[n], after, before)
	}
	if data, err := os.ReadFile(filepath.Join(ws, "bin", "codeagent")); err != nil || string(data) != programText {
		t.Errorf("%s killed: codeagent's own file is %q, %v", names[n], data, err)
	}
	return names[n], n+1 < len(ours)
}

// oursBelow are the processes of a codeagent with a running command: codeagent itself, its helpers,
// and the command.
func oursBelow(t *testing.T, agent int) (pids []int, names []string) {
	t.Helper()
	table := kernel.Processes()
	pids, names = []int{agent}, []string{"codeagent"}
	helpers := map[int]bool{}
	for _, p := range kernel.Below(table, map[int]bool{agent: true}) {
		if line, err := os.ReadFile(attack.ProcOf(p.PID, "cmdline")); err == nil && strings.HasPrefix(string(line), HelperName+"\x00") {
			helpers[p.PID] = true
			pids, names = append(pids, p.PID), append(names, "its keeper")
		}
	}
	for _, p := range table {
		if helpers[p.Parent] && !helpers[p.PID] {
			if line, err := os.ReadFile(attack.ProcOf(p.PID, "cmdline")); err == nil && strings.HasPrefix(string(line), "sh\x00-c\x00echo started;") {
				pids, names = append(pids, p.PID), append(names, "the command")
			}
		}
	}
	if len(pids) != 3 {
		t.Fatalf("want codeagent, a keeper and a command, got %v", names)
	}
	return pids, names
}

// TestKeeperKilled: if the keeper itself is killed, Wait returns and no process is left.
func TestKeeperKilled(t *testing.T) {
	const (
		sleeping = "(setsid sh -c 'sleep 1000 & sleep 1000' &)"
		// Each process starts the next one and ends, for as many generations as a hydra has: a read
		// of the process table may find none of them.
		forking = `export H='[ $1 -le 0 ] || setsid sh -c "$H" h $(($1 - 1)) & exit 0'; for i in 1 2 3 4; do sh -c "$H" h 5000; done`
		// The first thread of a process ends, and another one keeps sleeping.
		headless = `setsid python3 -c 'import ctypes, threading, time
threading.Thread(target=time.sleep, args=(1000,)).start(); ctypes.CDLL(None).syscall(EXIT, 0)' & p=$!
until grep -q '^State:.Z' /proc/$p/status; do :; done`
	)
	attack.Need(t, "python3")
	ending := strings.Replace(headless, "EXIT", strconv.Itoa(unix.SYS_EXIT), 1)
	for _, row := range []struct{ name, script string }{{"that sleep", sleeping}, {"that fork on", forking}, {"without their first thread", ending}} {
		t.Run("plain, processes "+row.name, func(t *testing.T) { keeperKilled(t, newPlainBackend(t), row.script) })
		t.Run("contained, processes "+row.name, func(t *testing.T) { keeperKilled(t, newBackend(t), row.script) })
	}
}

func keeperKilled(t *testing.T, b *Backend, script string) {
	defer b.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	proc, err := sandboxtest.Start(b, context.Background(), sandbox.ReadOnly(), sandbox.Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", script + "\nsleep 1000 & echo $PPID $!; sleep 1000"},
		Dir: "/", Env: []string{"PATH=/bin:/usr/bin"}, Stdout: w,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	in := bufio.NewReader(r)
	line, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if len(strings.Fields(line)) != 2 {
		t.Fatalf("the command says %q", line)
	}
	if err := unix.Kill(proc.(*process).keeper.pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if st, err := proc.Wait(); err != nil || st != (sandbox.Status{Exit: -1, Signal: 9}) {
		t.Errorf("wait: %+v, %v", st, err)
	}
	fd := int(r.Fd()) // only once: Fd makes reading block
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	if n, err := unix.Read(fd, make([]byte, 1)); n != 0 || err != nil {
		t.Errorf("after Wait somebody still holds the output: %d, %v", n, err)
	}
}

// TestDeadBeforeTheProgram: codeagent dies when a keeper is about to execute a missing program. No
// process is left.
func TestDeadBeforeTheProgram(t *testing.T) {
	b := newBackend(t)
	defer b.Close()
	p := sandbox.WorkspaceWrite(t.TempDir())
	f, err := b.factsFor(sandboxtest.Resolved(p))
	if err != nil {
		t.Fatal(err)
	}
	ready, err := plan.New(sandboxtest.Resolved(p), f)
	if err != nil {
		t.Fatal(err)
	}
	order, cmd := ready.Spec, sandbox.Command{Path: "/missing", Args: []string{"missing"}, Dir: "/", Evidence: sandbox.EvidenceFull}
	if order.Command, err = newCommand(cmd); err != nil {
		t.Fatal(err)
	}
	if ready.Mounts != nil {
		ready.Mounts.ForCommand(cmd)
	}
	files, closeNull, err := standardFiles(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer closeNull()
	fds, err := numbers(files[:])
	if err != nil {
		t.Fatal(err)
	}
	k, err := b.startKeeper(fds, false, &order, nil, -1)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(k.sendSpec(t.Context(), order), k.send(control.FrameGo, nil))
	if err != nil {
		t.Fatal(err)
	}
	_, listener, err := k.confined(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if listener < 0 && f.Broker {
		t.Fatal("the filter asks nobody")
	}
	if listener >= 0 {
		unix.Close(listener)
	}
	k.close()
	ended := make(chan bool)
	go func() { _, over := k.reap(); ended <- over }()
	select {
	case <-ended:
	case <-time.After(attack.Patience):
		_ = unix.Kill(k.pid, unix.SIGKILL)
		t.Error("the keeper has not ended")
		<-ended
	}
}

// TestCommandCannotReachKeeper: a command cannot signal any thread of the keeper, nor read its
// memory, environment and descriptors.
func TestCommandCannotReachKeeper(t *testing.T) {
	b := newBackend(t)
	defer b.Close()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	proc, err := sandboxtest.Start(b, context.Background(), sandbox.ReadOnly(), sandbox.Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", `
			for t in /proc/$PPID/task/*; do n=$((n+1)); kill -9 ${t##*/} 2>/dev/null && echo killed; kill -STOP ${t##*/} 2>/dev/null && echo stopped; done
			for f in environ mem maps fd/3 cwd exe; do (: < /proc/$PPID/$f) 2>/dev/null && echo read $f; done
			echo $n threads`},
		Dir: "/", Env: []string{"PATH=/bin:/usr/bin"}, Stdout: out, Stderr: out,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	st, err := proc.Wait()
	text, _ := os.ReadFile(out.Name())
	if err != nil || st.Exit != 0 || strings.Count(string(text), "\n") != 1 || !strings.HasSuffix(string(text), " threads\n") || strings.HasPrefix(string(text), "0") {
		t.Errorf("status %+v, %v, the command says: %s", st, err, text)
	}
	if os.Getuid() == 0 {
		tests.AsUser(t, "^TestCommandCannotReachKeeper$")
	}
}

// TestForeground: the command reads from the terminal and receives its Ctrl+C. The keeper survives
// and reports.
func TestForeground(t *testing.T) {
	for _, role := range []string{"foreground", "foreground-contained"} {
		t.Run(role, func(t *testing.T) { foreground(t, role) })
	}
}

func foreground(t *testing.T, role string) {
	master, slave := attack.OpenTerminal(t)
	cmd, _ := agentIn(t, role, `tty; read x; echo "got $x"; echo ready; exec sleep 1000`)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	if _, err := master.WriteString("a line\n"); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(master)
	expect := func(want string) {
		t.Helper()
		for {
			line, err := in.ReadString('\n')
			if strings.Contains(line, want) {
				return
			}
			if err != nil {
				t.Fatalf("no %q: %v", want, err)
			}
		}
	}
	// Where mounts work, /dev/pts contains only the command's own terminals.
	b := newBackend(t)
	defer b.Close()
	if role == "foreground-contained" && sandboxtest.HasLayer(t, b, "mountns") {
		expect(spec.ConsoleDev)
	} else {
		expect(slave.Name())
	}
	expect("got a line")
	expect("ready")
	if _, err := master.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	expect("ended -1 2 <nil>")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
