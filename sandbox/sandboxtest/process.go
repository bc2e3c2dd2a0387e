package sandboxtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"codeagent/internal/fileworker"
	"codeagent/sandbox"
)

// status: exits and signals are distinguished and reported unchanged.
func status(s *suite) {
	dir := s.dir()
	for _, row := range []struct {
		script string
		want   sandbox.Status
	}{
		{"exit 0", sandbox.Status{}},
		{"exit 7", sandbox.Status{Exit: 7}},
		{"exit 125", sandbox.Status{Exit: 125}},
		{"exit 126", sandbox.Status{Exit: 126}},
		{"exit 127", sandbox.Status{Exit: 127}},
		{"exit 255", sandbox.Status{Exit: 255}},
		{"exit 137", sandbox.Status{Exit: 137}},
		{"kill -9 $$", sandbox.Status{Exit: -1, Signal: 9}},
		{"kill -15 $$", sandbox.Status{Exit: -1, Signal: 15}},
	} {
		if got := s.run(sandbox.ReadOnly(), shell(dir, row.script)).status; got != row.want {
			s.Errorf("%s: %+v, want %+v", row.script, got, row.want)
		}
	}
	limited := sandbox.Policy{Limits: sandbox.Limits{FileSize: 1000, OpenFiles: 20}}
	if out := s.run(limited, shell(dir, "ulimit -n")).out; strings.TrimSpace(out) != "20" {
		s.Errorf("open files limit: %q, want 20", out)
	}
}

// inheritance: a command gets only its three files, its environment, its folder, its arguments and
// its own session.
func inheritance(s *suite) {
	dir := s.dir()
	plant(s)
	cmd := s.probeCommand(dir, "fds", "cwd", "env", "args", "group", "terminal", "stdin")
	cmd.Env = []string{"A=1", "B=two words", "C=", "D=\xff\xfe", "PATH=/bin", NoPause}
	cmd.Args = append(cmd.Args, step("say", "with space"), step("say", "\xff"))
	bare := lines(s.bare(cmd))
	if bare[0] == "ok: 0 1 2" {
		s.Fatalf("the planted descriptors did not reach a plain child: %s", bare[0])
	}
	got := lines(s.run(sandbox.ReadOnly(), cmd).out)
	// Their order does not matter.
	variables := slices.Sorted(slices.Values(strings.Split(strings.TrimPrefix(got[2], "ok: "), separator)))
	if s.excuse("no variable is added") {
		variables = slices.DeleteFunc(variables, func(kv string) bool { return !slices.Contains(cmd.Env, kv) })
	}
	got[2] = "ok: " + strings.Join(variables, separator)
	slices.Sort(cmd.Env)
	for i, want := range map[int]string{
		0: "ok: 0 1 2", 1: "ok: " + dir, 2: "ok: " + strings.Join(cmd.Env, separator),
		3: "ok: " + strconv.Quote(strings.Join(cmd.Args, " ")), 6: "ok", 7: "ok: with space", 8: "ok: \xff",
	} {
		if got[i] != want {
			s.Errorf("%q: %q, want %q", cmd.Args[1+i], got[i], want)
		}
	}
	if got[4] == "ok: "+strconv.Itoa(syscall.Getpgrp()) {
		s.Error("the command shares the caller's process group")
	}
	if !refused(got[5]) {
		s.Error("the command has a controlling terminal")
	}
	r, w, err := os.Pipe()
	if err != nil {
		s.Fatal(err)
	}
	if _, err := w.WriteString("from the pipe"); err != nil {
		s.Fatal(err)
	}
	w.Close()
	cmd = s.probeCommand(dir, "stdin")
	cmd.Stdin = r
	if got := s.run(sandbox.ReadOnly(), cmd).out; got != "ok: from the pipe\n" {
		s.Errorf("stdin: %q", got)
	}
	r.Close()
}

// plant opens descriptors that a plain child inherits.
func plant(s *suite) {
	s.Helper()
	f, err := os.Open(os.DevNull)
	if err != nil {
		s.Fatal(err)
	}
	defer f.Close()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		s.Fatal(err)
	}
	for _, fd := range []int{9, 251, 2000} {
		if uint64(fd) >= uint64(limit.Cur) {
			s.Logf("descriptor %d is above the limit of %d and was not planted", fd, limit.Cur)
			continue
		}
		if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0); errno == 0 {
			continue // already in use
		}
		if err := dupTo(int(f.Fd()), fd); err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() { syscall.Close(fd) })
	}
}

// network: no connection that works without a sandbox works inside.
func network(s *suite) {
	dir, outside := s.dir(), s.dir()
	listeners := listen(s, dir)
	var attempts []string
	for _, l := range listeners {
		attempts = append(attempts, step("dial", l.network, l.address))
	}
	attempts = append(attempts, step("listen", "unix", outside+"/new.sock"))
	outward := len(attempts)
	attempts = append(attempts, step("listen", "tcp", "127.0.0.1:0"),
		step("socket", strconv.Itoa(syscall.AF_INET), strconv.Itoa(syscall.SOCK_DGRAM)),
		step("socket", strconv.Itoa(syscall.AF_INET6), strconv.Itoa(syscall.SOCK_STREAM)))
	for i, line := range lines(s.bare(s.probeCommand(dir, attempts...))) {
		if refused(line) {
			s.Fatalf("%q does not work without a sandbox: %s", attempts[i], line)
		}
		if i < len(listeners) && listeners[i].packets != nil && !listeners[i].arrived(s) {
			s.Fatalf("%q sends nothing without a sandbox", attempts[i])
		}
	}
	os.Remove(outside + "/new.sock")
	p := sandbox.Policy{Write: []sandbox.Root{{Path: dir}}}
	e, err := Enforcement(s.b, p)
	if err != nil {
		s.Fatal(err)
	}
	// In the session's own network a command may create sockets, which lead nowhere else, and so it may where
	// the broker makes each connection of theirs.
	own := slices.Contains(e.Active(), "netns") || slices.Contains(e.Active(), "connect")
	for i, line := range lines(s.run(p, s.probeCommand(dir, attempts...)).out) {
		passed := !refused(line)
		if own && i < len(listeners) && listeners[i].packets != nil {
			passed = listeners[i].arrived(s)
		}
		if passed != (own && i >= outward) && !(strings.HasPrefix(attempts[i], "socket") && s.excuse("make a socket")) {
			s.Errorf("with a network of its own: %v: %q: %s", own, attempts[i], line)
		}
	}
	p.Network = sandbox.Network{Mode: sandbox.NetworkAllow} // an empty list means nothing, never everything
	for i, line := range lines(s.run(p, s.probeCommand(dir, attempts[:1]...)).out) {
		if !refused(line) {
			s.Errorf("with an empty list of hosts: %q: %s", attempts[i], line)
		}
	}
	p.Network = sandbox.Network{Mode: sandbox.NetworkFull}
	if out := lines(s.run(p, s.probeCommand(dir, attempts[0])).out); refused(out[0]) {
		s.Errorf("with the full network: %s", out[0])
	}
	host := sandbox.HostPort{Host: "127.0.0.1", Port: listeners[0].port}
	p.Network = sandbox.Network{Mode: sandbox.NetworkAllow, Hosts: []sandbox.HostPort{host}}
	if _, err := Enforcement(s.b, p); err != nil {
		if !strings.Contains(err.Error(), host.String()) {
			s.Errorf("the refusal does not name %s: %v", host, err)
		}
		return
	}
	for i, line := range lines(s.run(p, s.probeCommand(dir, attempts...)).out) {
		passed := !refused(line)
		if i < len(listeners) && listeners[i].packets != nil {
			passed = listeners[i].arrived(s)
		}
		if allowed := i == 0; i < len(listeners) && passed != allowed {
			s.Errorf("with %s allowed: %q: %s", host, attempts[i], line)
		}
	}
}

// signals: a command may signal itself and its descendants, and no process outside.
func signals(s *suite) {
	dir := s.dir()
	victim := again("sleep")
	if err := victim.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = victim.Process.Kill(); _, _ = victim.Process.Wait() })
	attempt := step("signal", strconv.Itoa(victim.Process.Pid))
	if line := lines(s.bare(s.probeCommand(dir, attempt)))[0]; refused(line) {
		s.Fatalf("does not work without a sandbox: %s", line)
	}
	p := sandbox.ReadOnly()
	out := lines(s.run(p, s.probeCommand(dir, attempt, step("signal", strconv.Itoa(os.Getpid())), "pids")).out)
	s.judge(p, "signal another process of the user", "signals", refused(out[0]))
	s.judge(p, "signal codeagent", "signals", refused(out[1]))
	if got := s.run(p, shell(dir, "sleep 1000 & kill -0 $! && kill $! && wait; echo done")).out; got != "done\n" {
		s.Errorf("a command cannot signal its own child: %q", got)
	}
}

// ends: Kill, Signal and the end of the context all end the command.
func ends(s *suite) {
	dir := s.dir()
	killed := sandbox.Status{Exit: -1, Signal: 9}
	proc := s.begin(dir, "sleep")
	proc.Kill()
	proc.Kill()
	s.ended("Kill", proc, killed)
	proc.Kill() // also after the end

	ctx, cancel := context.WithCancel(context.Background())
	proc, err := Start(s.b, ctx, sandbox.ReadOnly(), s.probeCommand(dir, "sleep"), nil)
	if err != nil {
		s.Fatal(err)
	}
	cancel()
	s.ended("end of the context", proc, killed)

	proc = s.begin(dir, "sleep")
	if err := proc.Signal(int(syscall.SIGTERM)); err != nil {
		s.Error(err)
	}
	st, err := proc.Wait()
	// SIGTERM ends a Go probe by the signal.
	if want := (sandbox.Status{Exit: -1, Signal: 15}); err != nil || st != want {
		s.Errorf("after SIGTERM: %+v, %v, want %+v", st, err, want)
	}
	if err := proc.Signal(0); err == nil {
		s.Error("signal 0 is accepted")
	}
}

// begin starts a probe that prints a word, and returns when the word has arrived.
func (s *suite) begin(dir string, steps ...string) sandbox.Process {
	s.Helper()
	proc, _, _ := s.beginReading(dir, append([]string{step("say", "here")}, steps...)...)
	return proc
}

func (s *suite) beginReading(dir string, steps ...string) (sandbox.Process, string, *os.File) {
	s.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		s.Fatal(err)
	}
	cmd := s.probeCommand(dir, steps...)
	cmd.Stdout, cmd.Stderr = w, w
	proc := s.start(sandbox.ReadOnly(), cmd)
	w.Close()
	s.Cleanup(func() { r.Close() })
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		s.Fatalf("the probe printed nothing: %v", err)
	}
	return proc, strings.TrimSpace(line), r
}

func (s *suite) ended(what string, proc sandbox.Process, want sandbox.Status) {
	s.Helper()
	if st, err := proc.Wait(); err != nil || st != want {
		s.Errorf("%s: %+v, %v, want %+v", what, st, err, want)
	}
}

// nothingLeft: when Wait returns, all descendants of the command are gone, whether it ended by
// itself or was killed.
func nothingLeft(s *suite) {
	dir := s.dir()
	for _, kill := range []bool{false, true} {
		steps := []string{"scatter"}
		if kill {
			steps = append(steps, "sleep")
		}
		proc, line, r := s.beginReading(dir, steps...)
		if pids := strings.Fields(strings.TrimPrefix(line, "ok: ")); len(pids) != 3 {
			s.Fatalf("scatter: %q", line)
		}
		if kill {
			proc.Kill()
		}
		if _, err := proc.Wait(); err != nil {
			s.Error(err)
		}
		s.atEnd(fmt.Sprintf("killed %v", kill), r)
	}
	r, w, err := os.Pipe()
	if err != nil {
		s.Fatal(err)
	}
	defer r.Close()
	cmd := s.probeCommand(dir, "hydra")
	cmd.Stdout = w
	proc := s.start(sandbox.ReadOnly(), cmd)
	w.Close()
	if line, err := bufio.NewReader(r).ReadString('\n'); err != nil || line != "running\n" {
		s.Fatalf("hydra: %q, %v", line, err)
	}
	proc.Kill()
	s.ended("Kill of processes that keep forking", proc, sandbox.Status{Exit: -1, Signal: 9})
	s.atEnd("hydra", r)
}

// atEnd checks that nobody holds the other end of r any more. Pids would not prove that: they may
// belong to another PID namespace.
func (s *suite) atEnd(what string, r *os.File) {
	s.Helper()
	fd := int(r.Fd()) // only once: Fd makes reading block
	if err := syscall.SetNonblock(fd, true); err != nil {
		s.Fatal(err)
	}
	if n, err := syscall.Read(fd, make([]byte, 1)); n != 0 || err != nil {
		s.Errorf("%s: after Wait somebody still holds the output: %d, %v", what, n, err)
	}
}

// fileWorker: the policy applies to the worker as to any command.
func fileWorker(s *suite) {
	ws, outside := s.dir(), s.dir()
	inR, inW, err := os.Pipe()
	if err != nil {
		s.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		s.Fatal(err)
	}
	proc := s.start(sandbox.Policy{Write: []sandbox.Root{{Path: ws}}}, sandbox.Command{
		Path: sandbox.FileWorker, Args: []string{"file-worker"}, Dir: ws, Stdin: inR, Stdout: outW,
	})
	inR.Close()
	outW.Close()
	client := fileworker.NewClient(inW, outR)
	s.write(ws+"/f", "content")
	if data, _, err := client.ReadFile(ws+"/f", 0, 100); err != nil || string(data) != "content" {
		s.Errorf("read: %q, %v", data, err)
	}
	if err := client.Mkdir(ws+"/made", 0o755, false); err != nil || !exists(ws+"/made") {
		s.Errorf("mkdir inside: %v", err)
	}
	if err := client.Mkdir(outside+"/made", 0o755, false); err == nil || exists(outside+"/made") {
		s.Errorf("mkdir outside: %v", err)
	}
	inW.Close()
	if rest, err := io.ReadAll(outR); err != nil || len(rest) != 0 {
		s.Errorf("at the end: %q, %v", rest, err)
	}
	s.ended("end of file", proc, sandbox.Status{})
	if got, want := fmt.Sprint(slices.Sorted(names(s, outside))), "[]"; got != want {
		s.Errorf("outside: %s", got)
	}
}
