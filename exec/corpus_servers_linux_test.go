package exec_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"codeagent/internal/machine"
	"codeagent/sandbox/sandboxtest"
)

// corpusServers are the targets of commands, on the host's loopback device: $PORT and $PORT6
// serve HTTP on 127.0.0.1 and ::1, $UDP echoes, $DNS resolves every name except those under
// "absent", and $SOCK is a path socket. Nothing listens on $FREE.
type corpusServers struct {
	ports   map[string]int
	socket  string
	counted sync.Map // what was reached -> *atomic.Int64
}

func newCorpusServers(t *testing.T, dir string) *corpusServers {
	t.Helper()
	s := &corpusServers{ports: map[string]int{}, socket: filepath.Join(dir, "socket")}
	s.serve(t, "PORT", "tcp4", "127.0.0.1:0")
	if machine.IPv6().Works(t) {
		s.serve(t, "PORT6", "tcp6", "[::1]:0")
	}
	s.serve(t, "SOCK", "unix", s.socket)
	s.answer(t, "UDP", func(question []byte) []byte { return question })
	s.answer(t, "DNS", dnsAnswer)
	s.ports["FREE"] = sandboxtest.ShutPort(t)
	return s
}

// serve starts an HTTP server; it ends with the test.
func (s *corpusServers) serve(t *testing.T, name, network, address string) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := l.Addr().(*net.TCPAddr); ok {
		s.ports[name] = at.Port
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.hit(name)
		if r.URL.Path == "/forbidden" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "permission denied\n")
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})}
	done := make(chan struct{})
	go func() { _ = server.Serve(l); close(done) }()
	t.Cleanup(func() { server.Close(); <-done })
}

// answer starts a server that answers datagrams.
func (s *corpusServers) answer(t *testing.T, name string, to func([]byte) []byte) {
	t.Helper()
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.ports[name] = c.LocalAddr().(*net.UDPAddr).Port
	done := make(chan struct{})
	go func() {
		defer close(done)
		var buffer [2048]byte
		for {
			n, from, err := c.ReadFrom(buffer[:])
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if reply := to(buffer[:n]); err == nil && reply != nil {
				s.hit(name)
				_, _ = c.WriteTo(reply, from)
			}
		}
	}()
	t.Cleanup(func() { c.Close(); <-done })
}

// dnsAnswer answers a query for an address with 127.0.0.1, and any other query, or a name that
// begins with "absent", with NXDOMAIN.
func dnsAnswer(question []byte) []byte {
	if len(question) < 17 {
		return nil
	}
	end := 12
	for end < len(question) && question[end] != 0 {
		end += int(question[end]) + 1
	}
	if end+5 > len(question) {
		return nil
	}
	reply := append([]byte(nil), question[:end+5]...)
	binary.BigEndian.PutUint16(reply[2:], 0x8180)
	copy(reply[6:12], []byte{0, 0, 0, 0, 0, 0})
	if string(question[13:min(19, len(question))]) == "absent" {
		reply[3] |= 3
	} else if kind := binary.BigEndian.Uint16(question[end+1:]); kind == 1 {
		reply[7] = 1
		reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1)
	}
	return reply
}

func (s *corpusServers) hit(name string) {
	n, _ := s.counted.LoadOrStore(name, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
}

// hits returns which servers were reached since reset.
func (s *corpusServers) hits() map[string]string {
	out := map[string]string{}
	s.counted.Range(func(name, n any) bool {
		if n.(*atomic.Int64).Load() > 0 {
			out[fmt.Sprint(name)] = "reached"
		}
		return true
	})
	return out
}

func (s *corpusServers) reset() { s.counted.Clear() }

// variables returns the servers' addresses as environment variables.
func (s *corpusServers) variables() map[string]string {
	out := map[string]string{"SOCK": s.socket}
	for name, port := range s.ports {
		out[name] = strconv.Itoa(port)
	}
	return out
}
