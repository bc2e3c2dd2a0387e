//go:build linux

package escapes

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/netns"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// host acts as codeagent and the rest of the machine: it starts the victims, and owns the listeners
// that they try to reach and the processes that they try to harm.
type host struct {
	t       *testing.T
	binary  string
	base    string
	backend *linuxsandbox.Backend
	// rows are those that are tried: a policy names no folder of others.
	rows machine.Rows

	// served are the addresses of the listeners, for flush.
	served []net.Addr
	// hosts are the host's own parts in waiting rows, by the row's folder.
	hosts map[string]func() error
	// terminals are the near ends of the rows' terminals, by the row's folder.
	terminals map[string]*os.File

	// trusted are the paths that git's settings name, by the row's folder in the workspace.
	trusted map[string][]string
	// denials are the denials of the last command.
	denials []sandbox.Denial

	mu  sync.Mutex
	got map[string]bool // what reached a listener; guarded by mu
	// turned decides which address the next lookup of turnedName gets; guarded by mu.
	turned bool
	news   chan struct{} // gets an element when something was added to got
}

// newHost makes a host whose files are not on a temporary file system: a sandbox that gives
// commands their own /tmp would hide them there.
func newHost(t *testing.T) *host {
	t.Helper()
	dir, err := os.MkdirTemp(os.Getenv(attack.EnvStage), "rows")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { attack.RemoveAll(dir) })
	h := &host{t: t, rows: machine.Rows{Every: 1}, binary: os.Args[0], base: dir, hosts: map[string]func() error{}, terminals: map[string]*os.File{}, trusted: map[string][]string{}, got: map[string]bool{}, news: make(chan struct{}, 1)}
	h.backend = newBackend(t, h.lookup)
	t.Cleanup(func() {
		if err := h.backend.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// bare runs a victim as a plain child.
func (h *host) bare(s scene, _ string) string {
	cmd := exec.Command(h.binary)
	cmd.Args = []string{victimName}
	cmd.Env, cmd.Dir = h.env(s), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.CombinedOutput()
	if err != nil && len(s.Rows) > 1 {
		h.t.Errorf("victim: %v\n%s", err, out)
	}
	h.flush()
	h.receive(s, words(string(out)))
	return string(out)
}

// receive waits for what victims report to have sent. Without a sandbox it does arrive, but if it
// comes from another processor it may arrive after what flush sends.
func (h *host) receive(s scene, said map[string]string) {
	late := time.After(attack.Patience)
	for i, a := range escapes() {
		for a.sends && said[a.name] == "ok" && !h.heard(s.place(i).in) {
			select {
			case <-h.news:
			case <-late:
				return
			}
		}
	}
}

// boxed runs a victim as a command of the backend.
func (h *host) boxed(s scene, p sandbox.Policy) string {
	_, out, denials := sandboxtest.Traced(h.t, h.backend, p, sandbox.Command{
		Path: h.binary, Args: []string{victimName}, Dir: filepath.Join(s.Base, "ws"), Env: h.env(s),
	})
	h.denials = denials
	h.flush()
	return out
}

func (h *host) env(s scene) []string {
	text, err := json.Marshal(s)
	if err != nil {
		h.t.Fatal(err)
	}
	return []string{envScene + "=" + string(text), "PATH=/usr/bin:/bin"}
}

// furnish creates a row's folders, with what its kind needs: out contains file, program, dir/file
// and empty/, ws contains mine and sub/, secret contains file and dir/file.
func furnish(t *testing.T, h *host, a attempt, p place) {
	t.Helper()
	for _, dir := range []string{p.out, p.in + "/sub"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h.put(p.in+"/mine", "data\n", 0o644)
	if a.policy == "reads" || a.policy == "roots" {
		h.put(p.secret+"/file", attack.HostSecret, 0o644)
		h.put(p.secret+"/dir/file", attack.HostSecret, 0o644)
	}
	if a.policy == "" && a.before == nil || a.policy == "roots" || a.weakness == "metadata" || a.weakness == "set-user-id" {
		h.put(p.out+"/file", "data\n", 0o644)
		h.put(p.out+"/dir/file", "data\n", 0o644)
		h.put(p.out+"/program", "#!/bin/sh\necho ran\n", 0o755)
		if err := os.Mkdir(p.out+"/empty", 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// put writes a file and creates the folders above it.
func (h *host) put(path, text string, mode os.FileMode) {
	h.t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), mode)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// picture describes everything visible in a row's folders outside, and the watched paths in the
// workspace.
func picture(p place, watch []string) string {
	var b strings.Builder
	attack.Describe(&b, p.out)
	attack.Describe(&b, p.secret)
	for _, w := range watch {
		attack.Describe(&b, filepath.Join(p.in, w))
	}
	return b.String()
}

// hears records that something reached a listener.
func (h *host) hears(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got[text] = true
	select {
	case h.news <- struct{}{}:
	default:
	}
}

// flush waits until the listeners have received everything that was sent: what the host itself
// sends last arrives last.
func (h *host) flush() {
	h.t.Helper()
	for i, addr := range h.served {
		c, err := net.Dial(addr.Network(), addr.String())
		if err != nil {
			h.t.Fatal(err)
		}
		marker := fmt.Sprintf("flush %d", i)
		if _, err := c.Write([]byte(marker)); err != nil {
			h.t.Fatal(err)
		}
		c.Close()
		for !h.heard(marker) {
			<-h.news
		}
	}
	for i := range h.served {
		h.forget(fmt.Sprintf("flush %d", i))
	}
}

func (h *host) heard(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.got[text]
}

func (h *host) forget(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.got, text)
}

// listen opens the listeners that every row may try to reach.
func (h *host) listen(s *scene) {
	h.t.Helper()
	var err error
	if s.Net, err = netns.HostNet(); err != nil {
		h.t.Fatal(err)
	}
	s.TCP = h.serve("tcp", "127.0.0.1:0")
	s.TCPAny = h.serve("tcp", "0.0.0.0:0")
	s.TCP6 = h.serve("tcp", "[::1]:0")
	s.UDP = h.serve("udp", "127.0.0.1:0")
	s.UDP6 = h.serve("udp", "[::1]:0")
	s.Abstract = "@codeagent-escape-" + filepath.Base(h.base) // a process of another setting may have the same pid
	h.serve("unix", s.Abstract)
	h.serve("unixgram", s.Abstract+"-d")
}

// serve records what arrives at address. It returns the port, or 0 if there is no such device.
func (h *host) serve(network, address string) int {
	h.t.Helper()
	switch network {
	case "udp", "unixgram":
		c, err := net.ListenPacket(network, address)
		if err != nil {
			return h.noDevice(network, address, err)
		}
		h.t.Cleanup(func() { c.Close() })
		h.served = append(h.served, c.LocalAddr())
		go h.packets(c)
		if a, ok := c.LocalAddr().(*net.UDPAddr); ok {
			return a.Port
		}
		return 0
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return h.noDevice(network, address, err)
	}
	h.t.Cleanup(func() { l.Close() })
	h.served = append(h.served, l.Addr())
	go h.streams(l)
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

func (h *host) noDevice(network, address string, err error) int {
	if !strings.Contains(address, "::1") {
		h.t.Fatal(err)
	}
	h.t.Logf("%s %s: %v", network, address, err)
	return 0
}

// streams accepts connections until the listener is closed.
func (h *host) streams(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		h.hears("someone at " + l.Addr().String())
		buf := make([]byte, 512)
		if n, _ := c.Read(buf); n > 0 {
			h.hears(string(buf[:n]))
		}
		c.Close()
	}
}

// packets receives until the socket is closed.
func (h *host) packets(c net.PacketConn) {
	buf := make([]byte, 2048)
	for {
		n, _, err := c.ReadFrom(buf)
		if err != nil {
			return
		}
		h.hears(string(buf[:n]))
	}
}
