//go:build linux

package alike

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// TestTerminal tests a command with its own terminal, in every setting.
func TestTerminal(t *testing.T) { tests.InSettings(t, "^TestTerminalInSetting$") }

// TestTerminalInSetting is the body of TestTerminal, in a process of the setting.
func TestTerminalInSetting(t *testing.T) {
	attack.CurrentSetting(t, "TestTerminal")
	b := backendtest.New(t)
	defer b.Close()
	t.Run("it is the command's own", func(t *testing.T) { ownTerminal(t, b) })
	t.Run("Ctrl+C ends the job and not the shell", func(t *testing.T) { jobControl(t, b) })
	t.Run("no other is reached", func(t *testing.T) { othersTerminal(t, b) })
	t.Run("it hangs up", func(t *testing.T) { hangUp(t, b) })
	if backendtest.Facts(t, b).Namespaces {
		t.Run("in the foreground", func(t *testing.T) { foregroundTerminal(t, b) })
	}
}

// screen is the near end of a terminal.
type screen struct {
	t    *testing.T
	near *os.File
	in   *bufio.Reader
}

// newScreen reads with a deadline, so its descriptor must not block.
func newScreen(t *testing.T, near *os.File) *screen {
	t.Helper()
	fd, err := unix.FcntlInt(near.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	near.Close()
	near = os.NewFile(uintptr(fd), near.Name())
	t.Cleanup(func() { near.Close() })
	return &screen{t, near, bufio.NewReader(near)}
}

// onTerminal starts bash with its own terminal.
func onTerminal(t *testing.T, b *linuxsandbox.Backend, args ...string) (*screen, sandbox.Process) {
	t.Helper()
	near, far := attack.OpenTerminal(t)
	defer far.Close()
	ws := t.TempDir()
	proc, err := sandboxtest.Start(b, t.Context(), sandbox.WorkspaceWrite(ws), sandbox.Command{
		Path: "bash", Args: append([]string{"bash", "--norc", "--noprofile"}, args...), Dir: ws,
		Env: []string{"PATH=" + attack.Path, "TERM=dumb", `PS1=>\n`}, Stdin: far, Stdout: far, Stderr: far, Terminal: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return newScreen(t, near), proc
}

// until reads up to and including a line that ends in want, and returns everything read.
func (s *screen) until(want string) string {
	s.t.Helper()
	all := ""
	if err := s.near.SetReadDeadline(time.Now().Add(attack.Patience)); err != nil {
		s.t.Fatal(err)
	}
	for {
		line, err := s.in.ReadString('\n')
		all += line
		if strings.HasSuffix(strings.TrimRight(line, "\r\n"), want) {
			return all
		}
		if err != nil {
			s.t.Fatalf("no %q: %v\n%s", want, err, all)
		}
	}
}

// fd is the near end's descriptor, which stays non-blocking.
func (s *screen) fd() (fd int) {
	s.t.Helper()
	conn, err := s.near.SyscallConn()
	if err == nil {
		err = conn.Control(func(number uintptr) { fd = int(number) })
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return fd
}

// number is the terminal's number in /dev/pts.
func (s *screen) number() int {
	s.t.Helper()
	n, err := unix.IoctlGetInt(s.fd(), unix.TIOCGPTN)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *screen) typed(text string) {
	s.t.Helper()
	if _, err := s.near.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

func ownTerminal(t *testing.T, b *linuxsandbox.Backend) {
	s, proc := onTerminal(t, b, "-c", `for f in /dev/tty /dev/stdout /dev/stderr /proc/self/fd/0; do echo "by $f" >$f; done; stty -echo; read -r x </dev/tty; echo "read $x"; echo all`)
	s.typed("a line\n")
	out := s.until("all")
	for _, want := range []string{"by /dev/tty\r\n", "by /dev/stdout\r\n", "by /dev/stderr\r\n", "by /proc/self/fd/0\r\n", "read a line\r\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in %q", want, out)
		}
	}
	if st, err := proc.Wait(); st.Exit != 0 || err != nil {
		t.Errorf("%+v, %v", st, err)
	}
	if denials := proc.Trace().Denials; len(denials) != 0 {
		t.Errorf("refused: %+v", denials)
	}
}

func jobControl(t *testing.T, b *linuxsandbox.Backend) {
	s, proc := onTerminal(t, b, "-i")
	s.typed("stty -echo; echo re''ady\n")
	if out := s.until("ready"); strings.Contains(out, "no job control") {
		t.Errorf("the shell cannot control jobs: %q", out)
	}
	s.typed("sh -c 'read -r x; echo \"got $x\"; read -r x'\n")
	s.typed("it\n")
	s.until("got it") // it runs, and reads
	s.typed("\x03")
	s.until(">") // the shell is back; anything typed earlier is lost
	s.typed("echo status $?\n")
	s.until("status 130")
	s.typed("exit 7\n")
	if st, err := proc.Wait(); st.Exit != 7 || err != nil {
		t.Errorf("%+v, %v", st, err)
	}
}

// othersTerminal: a command cannot write to the user's terminal or to that of another command by
// any name, nor make it its controlling terminal.
func othersTerminal(t *testing.T, b *linuxsandbox.Backend) {
	near, far := attack.OpenTerminal(t)
	defer far.Close()
	person := newScreen(t, near)
	victim, other := onTerminal(t, b, "-c", "read -r x; echo end")
	n := victim.number()
	names := []string{far.Name(), attack.ProcOf(os.Getpid(), "fd/"+strconv.Itoa(int(far.Fd()))), attack.ProcOf(os.Getpid(), "root"+far.Name())}
	script := func(names ...string) string {
		return "for f in " + strings.Join(names, " ") + `; do
	echo "pwned by $f" >$f
	setsid -c sh -c 'echo pwned as its own >/dev/tty' <$f
done 2>/dev/null
echo done`
	}
	// sees returns what the user's terminal shows while do runs.
	sees := func(do func()) string {
		do()
		if _, err := far.WriteString("so far\n"); err != nil {
			t.Fatal(err)
		}
		return person.until("so far")
	}

	out := sees(func() {
		cmd := exec.Command("bash", "-c", script(names...))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	})
	for _, want := range append([]string{"pwned as its own"}, names...) {
		if !strings.Contains(out, want) {
			t.Errorf("without a sandbox %q does not land either: %q", want, out)
		}
	}
	out = sees(func() {
		tries := append(names, fmt.Sprintf("/dev/pts/%d", n), attack.ProcOf(os.Getpid(), "fd/"+strconv.Itoa(victim.fd())))
		s, proc := onTerminal(t, b, "-c", script(tries...))
		s.until("done")
		if _, err := proc.Wait(); err != nil {
			t.Fatal(err)
		}
	})
	if strings.Contains(out, "pwned") {
		t.Errorf("E40: the person's terminal shows %q", out)
	}
	victim.typed("\n")
	if out := victim.until("end"); strings.Contains(out, "pwned") {
		t.Errorf("E40: another command's terminal shows %q", out)
	}
	if _, err := other.Wait(); err != nil {
		t.Error(err)
	}
}

// hangUp: when codeagent closes its end, the command gets SIGHUP, as from any terminal.
func hangUp(t *testing.T, b *linuxsandbox.Backend) {
	s, proc := onTerminal(t, b, "-c", "echo ready; exec sleep 1000")
	s.until("ready")
	s.near.Close()
	if st, err := proc.Wait(); st.Signal != int(unix.SIGHUP) || err != nil {
		t.Errorf("%+v, %v", st, err)
	}
}

// foregroundTerminal: a command that shares the user's terminal also has terminals of its own, and
// can find the name of the shared one.
func foregroundTerminal(t *testing.T, b *linuxsandbox.Backend) {
	near, far := attack.OpenTerminal(t)
	person := newScreen(t, near)
	ws := t.TempDir()
	const script = `echo "mine: $(script -qec tty /dev/null | tr -d '\r')"
echo "shared: $(tty)"
for f in $(tty) $1; do (echo "pwned by $f" >$f) 2>/dev/null; done
echo "by its file"; echo done`
	proc, err := sandboxtest.Start(b, t.Context(), sandbox.WorkspaceWrite(ws), sandbox.Command{
		Path: "bash", Args: []string{"bash", "-c", script, "bash", far.Name()}, Dir: ws,
		Env: []string{"PATH=" + attack.Path, "TERM=dumb"}, Stdin: far, Stdout: far, Stderr: far, Foreground: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := person.until("done")
	for _, want := range []string{"mine: /dev/pts/0\r\n", "shared: /dev/console\r\n", "by its file\r\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in %q", want, out)
		}
	}
	if strings.Contains(out, "pwned") {
		t.Errorf("E40: opened by its name: %q", out)
	}
	if st, err := proc.Wait(); st.Exit != 0 || err != nil {
		t.Errorf("%+v, %v", st, err)
	}
}
