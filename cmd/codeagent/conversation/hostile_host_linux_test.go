package conversation

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"codeagent/internal/attack"
	"codeagent/mcp"
)

// hostileHost acts as the user's machine.
type hostileHost struct {
	t        *testing.T
	base     string
	tcp, udp int
	abstract string
	boxed    bool // the attempt is made by a server of a session

	preyIn  io.WriteCloser
	preyOut *bufio.Reader
}

func newHostileHost(t *testing.T) *hostileHost {
	t.Helper()
	base, err := os.MkdirTemp(os.Getenv(attack.EnvStage), "host")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { attack.RemoveAll(base) })
	h := &hostileHost{t: t, base: base, abstract: fmt.Sprintf("codeagent-hostile-%d", os.Getpid())}
	h.tcp = h.listen("tcp", "127.0.0.1:0").(*net.TCPAddr).Port
	h.listen("unix", "@"+h.abstract)
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	h.udp = c.LocalAddr().(*net.UDPAddr).Port
	go func() { // ends with the socket
		for buf := make([]byte, 100); ; {
			_, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = c.WriteTo([]byte(hostileSecret), from)
		}
	}()
	return h
}

// listen answers each connection with the secret.
func (h *hostileHost) listen(network, address string) net.Addr {
	h.t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { l.Close() })
	go func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, hostileSecret)
			c.Close()
		}
	}()
	return l.Addr()
}

// scene furnishes a home folder, a workspace and a folder beside them.
func (h *hostileHost) scene(kind string) *hostileScene {
	h.t.Helper()
	at := filepath.Join(h.base, kind)
	s := &hostileScene{Home: at + "/home", Work: at + "/work", Out: at + "/out", Host: os.Getpid(), TCP: h.tcp, UDP: h.udp,
		Abstract: h.abstract, Mark: "mark-" + kind + filepath.Base(h.base), Unix: at + "/out/service"}
	s.State, s.Config = s.Home+"/.local/state/codeagent", s.Home+"/.config/codeagent"
	put := func(text string, names ...string) {
		for _, name := range names {
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	put(hostileSecret, s.Home+"/.ssh/id_ed25519", s.Home+"/.ssh/id_rsa", s.Home+"/.aws/credentials", s.Home+"/.netrc", s.Work+"/code")
	for _, name := range silentNames {
		put(hostileSecret, s.Home+"/.ssh/"+name)
	}
	for _, name := range append(keyPlaces, ".config/x/key", ".config/y/key", ".linked", ".moved") {
		put(hostileSecret, s.Home+"/"+name)
	}
	for _, folder := range []string{"undo", "history", "output", "sign-ins", "answers"} {
		put(hostileSecret, s.State+"/"+folder+"/old")
	}
	put(hostileSecret, s.State+"/sessions/old.jsonl")
	put("", s.Out+"/precious", s.Work+"/.git/hooks/sample", s.Work+"/.git/HEAD", s.Work+"/.git/config")
	h.listen("unix", s.Unix)
	return s
}

// victim waits until the other server of a scene has kept its secret.
func (h *hostileHost) victim(s *hostileScene) {
	h.t.Helper()
	if s.Victim = hostileProcess(hostileName, "victim"+s.Mark); s.Victim == 0 {
		h.t.Fatal("the other server does not run")
	}
}

// prey starts a process of the user for one attempt.
func (h *hostileHost) prey(s *hostileScene) (end func()) {
	h.t.Helper()
	cmd := exec.Command("/proc/self/exe", hostilePrey)
	in, err := cmd.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	s.Prey, h.preyIn, h.preyOut = cmd.Process.Pid, in, bufio.NewReader(out)
	if h.preyEnded() { // and it is ready now
		h.t.Fatal("the process of the user does not run")
	}
	return func() {
		in.Close()
		_ = cmd.Wait() // it may have been killed
	}
}

func (h *hostileHost) preyEnded() bool {
	_, err1 := io.WriteString(h.preyIn, "?\n")
	_, err2 := h.preyOut.ReadString('\n')
	return err1 != nil || err2 != nil
}

const (
	hostilePrey  = "hostile-prey"
	hostileTrace = "hostile-trace"
)

// hostilePreyMain takes over the process if it was started as the prey. It lets everybody trace it,
// and repeats its lines.
func hostilePreyMain() {
	if len(os.Args) < 2 || os.Args[1] != hostilePrey && os.Args[1] != hostileTrace {
		return
	}
	if os.Args[1] == hostileTrace {
		runtime.LockOSThread()
		pid, err := strconv.Atoi(os.Args[2])
		if err == nil {
			err = unix.PtraceSeize(pid)
		}
		if err != nil {
			fmt.Println(err)
			unix.Exit(1)
		}
		unix.Exit(0)
	}
	_ = unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0) // without Yama everybody may anyway
	_, _ = io.Copy(os.Stdout, os.Stdin)
	unix.Exit(0)
}

// args are the arguments of the hostile server.
func hostileArgs(ways ...string) []string { return append([]string{hostileName}, ways...) }

// bare starts the hostile server as a plain child. A second one is the other server.
func (h *hostileHost) bare(s *hostileScene, ways ...string) *mcp.Client {
	h.t.Helper()
	s.Own = filepath.Join(h.base, "bare/own-"+ways[0])
	if err := os.MkdirAll(s.Own, 0o700); err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", hostileArgs(ways...)...)
	cmd.Env, cmd.Dir = append(os.Environ(), "CODEAGENT_SERVER_DIR="+s.Own, "V_SECRET="+hostileSecret), s.Work
	in, err := cmd.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	c, err := mcp.OverPipes(h.t.Context(), out, in, mcp.Options{Name: "bare", Startup: time.Minute, Call: time.Minute})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		c.Close()
		_ = cmd.Wait()
	})
	return c
}
