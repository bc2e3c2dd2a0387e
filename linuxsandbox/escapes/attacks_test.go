//go:build linux

package escapes

import (
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/linuxsandbox/filter"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// confineSelf installs the filter on the calling thread for good.
func confineSelf() error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog, err := filter.Program(runtime.GOARCH, filter.Options{User: uint32(os.Getuid()), Group: uint32(os.Getgid())})
	if err != nil {
		return err
	}
	_, err = filter.Install(prog, false)
	return err
}

// victimArg makes this test binary a victim.
const victimArg = "-test.run=^TestAttackVictim$"

// TestAttackVictim is the body of every victim: this test binary, started anew.
func TestAttackVictim(t *testing.T) {
	if os.Getenv(attack.EnvAttack) == "" {
		attack.BodyOf(t, "TestAttacks")
	}
	attack.RunVictim(func() error {
		if os.Getenv(backendtest.EnvFilter) == "" {
			return nil
		}
		return confineSelf()
	})
	// The attacks left this process in a bad state, so exit at once. os.Exit would wait a second
	// with the race detector.
	syscall.Exit(0)
}

// victims make attacks on a stage.
type victims struct{ backendtest.Stage }

// props are the files and ports that an attack needs, new for each.
type props struct {
	kind  attack.Stdin
	stdin *os.File
	port  int
	close []func()
}

func (p *props) done() {
	for _, f := range slices.Backward(p.close) {
		f()
	}
}

func (p *props) file(fd int, name string) *os.File {
	f := os.NewFile(uintptr(fd), name)
	p.close = append(p.close, func() { _ = f.Close() })
	return f
}

// newProps opens what kind names, and a listener if an attack needs sockets.
func newProps(t *testing.T, kind attack.Stdin) *props {
	t.Helper()
	p := &props{kind: kind}
	var err error
	switch kind {
	case attack.StdinNull:
		p.stdin, err = os.Open(os.DevNull)
		p.close = append(p.close, func() { _ = p.stdin.Close() })
	case attack.StdinConsole:
		if fd, missing := unix.Open("/dev/tty1", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0); missing == nil {
			p.stdin = p.file(fd, "console")
			break
		}
		p.stdin, err = p.terminal()
	case attack.StdinTerminal:
		p.stdin, err = p.terminal()
	default:
		err = p.socket(kind)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// terminal returns the far end of a new pseudo-terminal.
func (p *props) terminal() (*os.File, error) {
	near, far, err := pty.Open()
	if err == nil {
		p.close = append(p.close, func() { _ = near.Close() }, func() { _ = far.Close() })
	}
	return far, err
}

func (p *props) socket(kind attack.Stdin) error {
	typ := unix.SOCK_STREAM
	if kind == attack.StdinUDP {
		typ = unix.SOCK_DGRAM
	}
	listener, port, err := p.bound(typ)
	if err != nil {
		return err
	}
	p.port = port
	if kind == attack.StdinListener {
		p.stdin = listener
	}
	fd, err := unix.Socket(unix.AF_INET, typ|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	other := p.file(fd, "socket")
	if kind != attack.StdinListener {
		p.stdin = other
		return nil
	}
	return unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
}

func (p *props) bound(typ int) (*os.File, int, error) {
	fd, err := unix.Socket(unix.AF_INET, typ|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, 0, err
	}
	f := p.file(fd, "listener")
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return nil, 0, err
	}
	if typ == unix.SOCK_STREAM {
		if err := unix.Listen(fd, 8); err != nil {
			return nil, 0, err
		}
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return nil, 0, err
	}
	return f, name.(*unix.SockaddrInet4).Port, nil
}

// answer is the result of a victim's call: its errno (0 means success), or the signal that ended
// the victim.
type answer struct {
	errno  syscall.Errno
	signal syscall.Signal
}

func (a answer) String() string {
	switch {
	case a.signal != 0:
		return unix.SignalName(a.signal)
	case a.errno == 0:
		return "works"
	}
	return unix.ErrnoName(a.errno)
}

// wanted is what the sandbox must answer.
func wanted(a attack.Attack) answer {
	if a.Want == 0 {
		return answer{signal: unix.SIGSYS}
	}
	return answer{errno: a.Want}
}

// attempt makes attacks with the same standard input in one victim, and returns their results. run
// starts the victim.
func (s victims) attempt(t *testing.T, run func(env []string, p *props) (out string, end syscall.Signal), attacks ...attack.Attack) map[string]answer {
	t.Helper()
	p := newProps(t, attacks[0].Stdin)
	defer p.done()
	service, err := net.Listen("unix", filepath.Join(s.Dir, attack.ServiceName))
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	at := filepath.Join(s.Dir, attack.MessagesName)
	messages, err := net.ListenPacket("unixgram", at)
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(at)
	defer messages.Close()
	var names []string
	for _, a := range attacks {
		names = append(names, a.Name)
	}
	out, end := run([]string{
		attack.EnvAttack + "=" + strings.Join(names, "\n"), attack.EnvDir + "=" + s.Dir, attack.EnvPort + "=" + strconv.Itoa(p.port),
		"TMPDIR=" + s.Dir, "PATH=/usr/bin:/bin",
	}, p)
	results, err := attack.Results(out)
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]answer{}
	for _, a := range attacks {
		errno, told := results[a.Name]
		switch {
		case told:
			answers[a.Name] = answer{errno: errno}
		case end != 0:
			answers[a.Name] = answer{signal: end}
		default:
			t.Fatalf("the victim reports nothing about %s:\n%s", a.Name, out)
		}
	}
	return answers
}

// trial has a victim make the attack's harmless call without a sandbox.
func (s victims) trial(a attack.Attack) machine.Trial {
	return machine.Trial{What: a.Name, Do: func(t testing.TB) error {
		cmd := exec.Command(s.Binary, victimArg)
		cmd.Env = []string{attack.EnvAttack + "=" + attack.HarmlessPrefix + a.Name, attack.EnvDir + "=" + s.Dir, "TMPDIR=" + s.Dir, "PATH=/usr/bin:/bin"}
		cmd.Dir = "/"
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if err != nil {
			_, died, _ := strings.Cut(string(out), "[signal ") // as the Go runtime tells it
			died, _, _ = strings.Cut(died, " addr=")
			return fmt.Errorf("a harmless call of the same kind ends the process: %v %s", err, died)
		}
		results, err := attack.Results(string(out))
		if errno, told := results[attack.HarmlessPrefix+a.Name]; err != nil || !told {
			t.Fatalf("%s: %v\n%s", a.Name, err, out)
		} else if errno != 0 {
			return errno
		}
		return nil
	}}
}

// process starts a victim as an ordinary child of the test.
func (s victims) process(t *testing.T, extra ...string) func([]string, *props) (string, syscall.Signal) {
	return func(env []string, p *props) (string, syscall.Signal) {
		t.Helper()
		cmd := exec.Command(s.Binary, victimArg)
		cmd.Env = append(env, extra...)
		cmd.Dir = "/"
		cmd.Stdin = p.stdin
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: p.kind == attack.StdinTerminal}
		out, err := cmd.CombinedOutput()
		if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
			return string(out), ws.Signal()
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out), 0
	}
}

// batches groups the attacks that one victim can make: they need the same standard input and do not
// end the victim.
func batches(all []attack.Attack) [][]attack.Attack {
	together := map[attack.Stdin][]attack.Attack{}
	var out [][]attack.Attack
	for _, a := range all {
		if a.Want == 0 {
			out = append(out, []attack.Attack{a})
		} else {
			together[a.Stdin] = append(together[a.Stdin], a)
		}
	}
	return slices.AppendSeq(out, maps.Values(together))
}

// tally counts the results of attacks without a sandbox.
type tally struct {
	worked, reached int
	// alike are the attacks that prove nothing, by reason.
	alike map[string][]string
}

// shown is how far an attempt got without a sandbox.
type shown int

const (
	alike   shown = iota // the kernel alone gives the sandbox's answer: proves nothing
	reached              // the kernel gave an answer of its own: the call reaches it
	worked
)

func (c *tally) add(name string, best shown, why string) {
	switch best {
	case worked:
		c.worked++
	case reached:
		c.reached++
	default:
		c.alike[why] = append(c.alike[why], name)
	}
}

// bare judges the result of an attack without a sandbox: it must succeed, or give an answer for
// which the row has a reason.
func bare(t *testing.T, a attack.Attack, got answer) (shown, string) {
	t.Helper()
	if got == (answer{}) {
		return worked, ""
	}
	i := slices.IndexFunc(a.Bare, func(b attack.Answer) bool { return b.Errno == got.errno })
	if got.signal != 0 || i < 0 {
		t.Errorf("%s (%s) as uid %d without a sandbox: %v", a.Name, a.Escape, os.Getuid(), got)
		return alike, "no reason is known"
	}
	if got == wanted(a) {
		return alike, a.Bare[i].Why
	}
	return reached, a.Bare[i].Why
}

// wantAttacks is the number of attacks, so that none is lost.
var wantAttacks = map[string]int{"amd64": 142, "arm64": 135}

// leastShown is how many attacks must succeed without a sandbox; the others depend on the kernel's
// build options. Only root with all capabilities can distinguish every attack from its refusal.
func leastShown(s attack.Setting) int {
	if s.Name == "root" {
		return 95
	}
	return 60
}

// TestAttacks makes every attack without a sandbox, where it must succeed. Then it makes them under
// the deny filter alone, by the same program with the same capabilities, so that only the filter
// can refuse. Then it makes them as a command of the real backend under workspace-write. It does so
// in every setting. What the setting itself already refuses is reported with the reason.
func TestAttacks(t *testing.T) {
	if os.Getuid() == 0 {
		tests.InEachSetting(t, "^TestAttacksInSetting$")
	} else {
		attackAll(t, attack.ThisUser)
	}
}

// TestAttacksInSetting is the body of TestAttacks, in a process of the setting.
func TestAttacksInSetting(t *testing.T) {
	attackAll(t, attack.CurrentSetting(t, "TestAttacks"))
}

func attackAll(t *testing.T, in attack.Setting) {
	uid := os.Getuid()
	s := victims{backendtest.NewStage(t, uid)}
	b := backendtest.New(t)
	defer b.Close()
	free, filtered, boxed := map[string]answer{}, map[string]answer{}, map[string]answer{}
	possible := slices.DeleteFunc(attack.All(), func(a attack.Attack) bool {
		return a.Harmless != nil && !s.trial(a).Works(t)
	})
	for _, a := range possible {
		maps.Copy(free, s.attempt(t, s.process(t), a))
	}
	for _, batch := range batches(possible) {
		maps.Copy(filtered, s.attempt(t, s.process(t, backendtest.EnvFilter+"=attack"), batch...))
		maps.Copy(boxed, s.attempt(t, s.command(t, b), batch...))
	}
	e, err := sandboxtest.Enforcement(b, sandbox.ReadOnly())
	if err != nil {
		t.Fatal(err)
	}
	// The socket is in the command's own network, or the broker makes its connections.
	ownNet := sandboxtest.HasLayer(t, b, "netns") || sandboxtest.HasLayer(t, b, "connect")
	count := tally{alike: map[string][]string{}}
	all := attack.All()
	for _, a := range possible {
		how, why := bare(t, a, free[a.Name])
		if free[a.Name].errno != unix.ENOSYS || e.LandlockABI >= 7 { // older kernels lack calls, and answer as the filter does
			count.add(a.Name, how, why)
		}
		t.Logf("%-4s %-46s uid %-4d bare %v %s; filter %v, sandbox %v", a.Escape, a.Name, uid, free[a.Name], why, filtered[a.Name], boxed[a.Name])
		want := wanted(a)
		if got := boxed[a.Name]; got != want && a.Network && ownNet && got.signal == 0 &&
			(got.errno == 0 || slices.ContainsFunc(a.Bare, func(b attack.Answer) bool { return b.Errno == got.errno })) {
			boxed[a.Name] = want // the kernel answered, as it would without a sandbox
		}
		if got := boxed[a.Name]; a.Own != "" && sandboxtest.HasLayer(t, b, a.Own) && got.signal == 0 &&
			(got.errno == 0 || slices.ContainsFunc(a.Bare, func(b attack.Answer) bool { return b.Errno == got.errno })) {
			boxed[a.Name] = want // it reached only the command's own
		}
		if filtered[a.Name] != want || boxed[a.Name] != want {
			t.Errorf("%s (%s) as uid %d: filter %v, sandbox %v, want %v", a.Name, a.Escape, uid, filtered[a.Name], boxed[a.Name], want)
		}
	}
	t.Logf("%s, uid %d: %d attacks: %d work without a sandbox, %d get as far as the kernel", in.Name, uid, len(possible), count.worked, count.reached)
	for why, names := range count.alike {
		t.Logf("%d cannot be shown here (%s): %s", len(names), why, strings.Join(names, ", "))
	}
	if len(all) != wantAttacks[runtime.GOARCH] {
		t.Errorf("%d attacks, want %d", len(all), wantAttacks[runtime.GOARCH])
	}
	if least := leastShown(in); count.worked < least || in.Name == "root" && len(count.alike) > 0 {
		t.Errorf("%s: %d attacks work, want at least %d, and as root all can be told from their refusal", in.Name, count.worked, least)
	}
}
