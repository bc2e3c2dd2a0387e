package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/exec"
	"codeagent/hostfile"
	"codeagent/sandbox"
)

// try is one action that a command could try against the policy. doctor first does it
// outside the sandbox, to see that it works, and then in the sandbox with this same program:
// a denial then comes from the sandbox.
type try struct {
	// name is the argument that selects it, what its description.
	name, what string
	// allowed: it must work in the sandbox too.
	allowed bool
	// weakness is the ID of the weakness that is reported where it works.
	weakness string
	do       func(target string) error
}

// TryArgument makes codeagent do one try and nothing else, so that no other program is
// needed.
const TryArgument = "__try"

var tries = []try{
	{name: "write-temp", what: "write in the temporary folder", allowed: true, do: writeFile},
	{name: "write", what: "write a file outside the roots", do: writeFile},
	{name: "mode", what: "change the mode of a file outside", weakness: "metadata", do: func(path string) error { return os.Chmod(path, tryMode) }},
	{name: "tcp", what: "connect to a server of this machine", do: dial("tcp")},
	{name: "udp", what: "send a datagram to it", do: dial("udp")},
	{name: "unix", what: "connect to a socket file", do: dial("unix")},
	{name: "signal", what: "signal codeagent", weakness: "signals", do: func(pid string) error {
		n, err := strconv.Atoi(pid)
		if err != nil {
			return err
		}
		return syscall.Kill(n, trySignal)
	}},
	{name: "linger", what: "leave a process behind", do: linger},
}

// tryMode differs from the mode that writeFile sets.
const tryMode = 0o640

// trySignal has no effect on a process that does not handle it.
const trySignal = syscall.SIGCONT

func writeFile(path string) error { return os.WriteFile(path, []byte("x"), 0o600) }

// dial sends one byte: a connection alone does not show that data arrives.
func dial(network string) func(string) error {
	return func(address string) error {
		conn, err := net.DialTimeout(network, address, 2*time.Second)
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Write([]byte("x"))
		return err
	}
}

// linger starts a process that holds a lock on path and does not end by itself.
func linger(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	_, err = os.StartProcess(selfPath(), []string{"codeagent", TryArgument, lingering, path}, &os.ProcAttr{
		// It reads from a pipe whose write end it holds itself.
		Files: []*os.File{read, nil, nil, f, write}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	write.Close()
	return err
}

// lingering is the process name of linger.
const lingering = "lingering"

// lives reports whether a process of linger still holds the lock on path.
func lives(path string) bool {
	f, err := hostfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

// The output of a try in the sandbox: one of these, and after the second the reason.
const (
	tryWorked  = "worked"
	tryRefused = "refused: "
)

// ServeTry makes one try, in the sandbox.
func ServeTry(name, target string) int {
	if name == lingering {
		_, _ = os.Stdin.Read(make([]byte, 1))
		return 0
	}
	i := slices.IndexFunc(tries, func(t try) bool { return t.name == name })
	if i < 0 {
		return cli.ExitUsage
	}
	if err := tries[i].do(target); err != nil {
		fmt.Println(tryRefused + reason(err))
		return 1
	}
	fmt.Println(tryWorked)
	return 0
}

// reason returns the errno's text if there is one.
func reason(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}

// ground holds the targets of the tries.
type ground struct {
	dir  string // outside every write root
	temp string // the session's temporary folder
	// These accept connections and record what arrives.
	tcp, unix listener
	udp       *net.UDPConn
	signals   chan os.Signal
}

type listener interface {
	net.Listener
	SetDeadline(time.Time) error
}

func newGround(b *workspace.Workspace) (g *ground, err error) {
	// Prefer the folder of codeagent's own records: the sandbox may have its own /tmp.
	parent := filepath.Dir(b.Paths.State)
	if b.Policy.JudgeWrite(parent).Allowed {
		parent = os.TempDir()
	}
	g = &ground{temp: b.Policy.Temp, signals: make(chan os.Signal, 1)}
	signal.Notify(g.signals, trySignal)
	if parent, err = b.Ground().Resolve("/", parent); err == nil {
		g.dir, err = hostfile.MkdirTemp(parent, "codeagent-doctor-")
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	if err = writeFile(g.target("mode")); err != nil {
		return g, err
	}
	local := net.IPv4(127, 0, 0, 1)
	if g.tcp, err = net.ListenTCP("tcp", &net.TCPAddr{IP: local}); err != nil {
		return g, err
	}
	if g.udp, err = net.ListenUDP("udp", &net.UDPAddr{IP: local}); err != nil {
		return g, err
	}
	// Without this listener the try finds that it cannot connect outside either.
	if l, err := net.ListenUnix("unix", &net.UnixAddr{Name: g.target("unix")}); err == nil {
		g.unix = l
	}
	return g, nil
}

func (g *ground) close() {
	signal.Stop(g.signals)
	for _, c := range []io.Closer{g.tcp, g.unix, g.udp} {
		if c != nil {
			c.Close()
		}
	}
	hostfile.RemoveAll(g.dir)
}

func (g *ground) target(name string) string {
	switch name {
	case "tcp":
		return g.tcp.Addr().String()
	case "udp":
		return g.udp.LocalAddr().String()
	case "signal":
		return strconv.Itoa(os.Getpid())
	case "write-temp", "linger":
		return filepath.Join(g.temp, "codeagent-doctor-"+name)
	}
	return filepath.Join(g.dir, name)
}

// reached reports whether the try of that name had an effect on its target, and waits for it
// up to wait. The try's own report is not enough: inside its own network or PID namespace it
// may have reached another target.
func (g *ground) reached(name string, wait time.Duration) bool {
	path := g.target(name)
	switch name {
	case "tcp", "unix":
		l := map[string]listener{"tcp": g.tcp, "unix": g.unix}[name]
		_ = l.SetDeadline(time.Now().Add(wait))
		conn, err := l.Accept()
		if err == nil {
			conn.Close()
		}
		return err == nil
	case "udp":
		_ = g.udp.SetReadDeadline(time.Now().Add(wait))
		_, _, err := g.udp.ReadFrom(make([]byte, 1))
		return err == nil
	case "signal":
		select {
		case <-g.signals:
			return true
		case <-time.After(wait):
			return false
		}
	case "mode":
		info, err := hostfile.Lstat(path)
		return err == nil && info.Mode().Perm() == tryMode
	case "linger":
		return lives(path)
	}
	_, err := hostfile.Lstat(path)
	return err == nil
}

// tryAll makes the tries that apply under the policy, and returns how many had a wrong
// result that no weakness explains.
func tryAll(ctx context.Context, b *workspace.Workspace, w io.Writer) (failed int, err error) {
	fmt.Fprintln(w, "\ntried just now, each first without the sandbox")
	if b.Policy.Unconfined || b.Enforcement.Weak("unconfined") {
		paragraph(w, "  ", "nothing: commands run without a sandbox, and may do all that the user may")
		return 0, nil
	}
	g, err := newGround(b)
	if err != nil {
		return 0, err
	}
	defer g.close()
	for _, t := range tries {
		if grants(b, t, g) {
			continue
		}
		verdict, how, ok := tryOne(ctx, b, t, g)
		if !ok {
			failed++
		}
		paragraph(w, fmt.Sprintf("  %-8s  %-36s  ", verdict, t.what), how)
	}
	return failed, nil
}

// grants reports whether the policy allows t, or gives it no place to write.
func grants(b *workspace.Workspace, t try, g *ground) bool {
	switch t.name {
	case "tcp", "udp":
		return b.Policy.Network.Mode == sandbox.NetworkFull
	case "write-temp", "linger":
		return g.temp == ""
	}
	return false
}

// Time for the effect of a try to arrive: outside, where nothing is in between; inside for a
// try that reports success; and inside for others.
const (
	arrivalOutside = 10 * time.Second
	arrival        = 2 * time.Second
	glance         = 10 * time.Millisecond
)

func tryOne(ctx context.Context, b *workspace.Workspace, t try, g *ground) (verdict, how string, ok bool) {
	target := g.target(t.name)
	if t.name != "linger" { // outside nothing would end it
		err := t.do(target)
		if err == nil && !g.reached(t.name, arrivalOutside) {
			err = errors.New("it does not arrive")
		}
		restore(t, target)
		if err != nil {
			return "unknown", "not without the sandbox either: " + reason(err), true
		}
	}
	said, err := inside(ctx, b, t, target)
	wait := glance
	if said == tryWorked {
		wait = arrival
	}
	reached := g.reached(t.name, wait)
	restore(t, target)
	refusal, refused := strings.CutPrefix(said, tryRefused)
	switch {
	case err != nil:
		return "FAILED", err.Error(), false
	case t.allowed && reached:
		return "works", "as it must", true
	case t.allowed:
		return "FAILED", "it must work: " + refusal, false
	case reached && b.Enforcement.Weak(t.weakness):
		return "open", "see " + t.weakness + " below", true
	case reached:
		return "FAILED", "it went through", false
	case refused:
		return "refused", refusal, true
	case t.name == "linger":
		return "refused", "it was ended with the command", true
	}
	return "refused", "it did not arrive: there is another one in the sandbox", true
}

// inside makes the try in the sandbox and returns what it printed.
func inside(ctx context.Context, b *workspace.Workspace, t try, target string) (string, error) {
	p := b.Policy.Clone()
	p.Limits = sandbox.Limits{} // limits are not tested here, and some are too low for this program
	if len(p.Read) > 0 {
		// This program must be readable to start.
		p.Read = append(p.Read, sandbox.Root{Path: selfPath()})
	}
	o, err := b.System().Run(ctx, p, exec.Command{Argv: []string{selfPath(), TryArgument, t.name, target}, Dir: b.Folder, Timeout: time.Minute}, nil)
	if err != nil {
		return "", err
	}
	said := strings.TrimSpace(o.Output.Text())
	if said != tryWorked && !strings.HasPrefix(said, tryRefused) {
		return "", fmt.Errorf("the try itself did not run (exit %d): %.60q", o.Status.Exit, said)
	}
	return said, nil
}

func restore(t try, target string) {
	switch t.name {
	case "write", "write-temp", "linger":
		_ = hostfile.Remove(target)
	case "mode":
		_ = hostfile.Chmod(target, 0o600)
	}
}
