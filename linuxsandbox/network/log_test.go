//go:build linux

package network

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// logged writes a connection as a line: what the tests compare.
func logged(c sandbox.Connection) string {
	bytes := "unknown"
	switch {
	case c.Verdict == sandbox.ConnectionDenied:
		bytes = "none"
	case c.Bytes != nil:
		bytes = fmt.Sprintf("%d/%d", c.Bytes.Sent, c.Bytes.Received)
	}
	return fmt.Sprintf("%s %s %d %s %s %s %dx %s", c.Host, c.Address, c.Port, c.Protocol, c.Program, c.Verdict, c.Count, bytes)
}

// logRow is a program, and the lines of the log about it.
type logRow struct {
	what, script string
	want         []string
}

// TestConnectionLog: each connection to a host is in the trace with its name, address, program and bytes, also
// one that is denied, one that another process ends, and one that nobody closed. What stays in the session is
// not in it, and neither is a host that did not answer.
func TestConnectionLog(t *testing.T) {
	th := backendtest.NetworkTheatre(t)
	l, err := net.Listen("tcp", "127.77.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // reads 1,000 bytes of each, and sends 5,000
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.CopyN(io.Discard, c, 1000)
				_, _ = c.Write(make([]byte, 5000))
				_, _ = c.Read(make([]byte, 1))
				c.Close()
			}()
		}
	}()
	at := netip.MustParseAddrPort(l.Addr().String())
	closed, err := net.Listen("tcp", "127.77.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent := netip.MustParseAddrPort(closed.Addr().String())
	closed.Close()
	shut := serveHost(t, "127.77.0.1:0").Port()
	th.NamesOf(t, true, map[string]netip.Addr{"name.example": at.Addr(), "other.example": at.Addr()})
	th.Policy = backendtest.Allowing(t, th.Policy, fmt.Sprintf("name.example:%d", at.Port()), silent.String())
	python, err := filepath.EvalSymlinks(attack.Need(t, "python3"))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Base(python)
	const tools = `
import os, socket, subprocess, sys, time
def get(host):
    s = socket.create_connection((host, int(os.environ["PORT"]))); s.sendall(b"x" * 1000); n = 0
    while n < 5000: n += len(s.recv(5000))
    return s
`
	rows := []logRow{
		{"closed", `get("name.example").close(); get("name.example").close()`, []string{"name.example ADDR PORT tcp PYTHON allowed 2x 2000/10000"}},
		{"never closed", `s = get("name.example"); os.kill(os.getpid(), 9)`, []string{"name.example ADDR PORT tcp PYTHON allowed 1x 1000/5000"}},
		{"closed by another process", `
s = get("name.example")
if os.fork() == 0: time.sleep(.2); os._exit(0)
s.close(); os.wait()`, []string{"name.example ADDR PORT tcp PYTHON allowed 1x 1000/5000"}},
		{"half closed", `s = get("name.example"); s.shutdown(1); s.recv(1); s.close()`, []string{"name.example ADDR PORT tcp PYTHON allowed 1x 1000/5000"}},
		{"denied", `
for do in lambda: get("other.example"), lambda: socket.create_connection((os.environ["ADDR"], int(os.environ["SHUT"]))):
    try: do(); print("reached")
    except OSError: pass`, []string{"other.example invalid IP 0  PYTHON denied 1x none", "name.example ADDR SHUT  PYTHON denied 1x none"}},
		{"does not answer", `
try: socket.create_connection((os.environ["ADDR"], int(os.environ["SILENT"]))); print("reached")
except ConnectionRefusedError: pass`, nil},
		{"in the session", `
l = socket.create_server(("127.0.0.1", 0)); s = socket.create_connection(l.getsockname()); l.accept()[0].sendall(b"x"); s.recv(1)`, nil},
	}
	beside := sandboxtest.HasLayer(t, th.Backend, "connect") // no bytes are known there
	rows = append(rows, logRow{"datagrams", `
at = os.environ["ADDR"], int(os.environ["PORT"])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"x", at); s.sendto(b"x", at)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(at); s.send(b"x")`, []string{"name.example ADDR PORT udp PYTHON allowed 2x 3/0"}})
	if beside {
		rows = append(rows,
			logRow{"used twice", `
import ctypes
s = get("name.example"); ctypes.CDLL(None).connect(s.fileno(), b"\0" * 16, 16); s.connect((os.environ["ADDR"], int(os.environ["PORT"]))); s.send(b"x"); s.close()`,
				[]string{"name.example ADDR PORT tcp PYTHON allowed 2x 1/0"}})
	}
	for _, c := range rows {
		names := strings.NewReplacer("ADDR", at.Addr().String(), "PORT", fmt.Sprint(at.Port()), "SHUT", fmt.Sprint(shut), "PYTHON", program)
		env := append(th.Env("", th.Out), "PORT="+fmt.Sprint(at.Port()), "ADDR="+at.Addr().String(), "SILENT="+fmt.Sprint(silent.Port()), "SHUT="+fmt.Sprint(shut))
		_, out, trace := sandboxtest.Finish(t, t.Context(), th.Backend, th.Policy, sandbox.Command{
			Path: python, Args: []string{"python3", "-c", tools + c.script}, Dir: th.Dir, Env: env}, nil)
		var got, want []string
		for _, one := range trace.Connections.List {
			got = append(got, logged(one))
			if one.Verdict == sandbox.ConnectionAllowed && (time.Since(one.Last) > time.Minute || one.Executable == "") {
				t.Errorf("%s: %+v", c.what, one)
			}
		}
		for _, line := range c.want {
			if at := strings.LastIndexByte(line, ' '); beside && !strings.HasSuffix(line, " none") {
				line = line[:at] + " unknown"
			}
			want = append(want, names.Replace(line))
		}
		if !slices.Equal(got, want) || out != "" || trace.Connections.More != 0 {
			t.Errorf("%s: %q and %d more, want %q; it printed %q", c.what, got, trace.Connections.More, want, out)
		}
	}
}
