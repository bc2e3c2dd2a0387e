//go:build linux

package network

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// pour serves as many bytes as a client asks for in a line, in a process of its own, as a host would.
func pour() error {
	l, err := net.Listen("tcp4", "127.77.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			var size int64
			if _, err := fmt.Fscanln(c, &size); err == nil {
				_, _ = io.CopyN(c, zeros{}, size)
			}
		}()
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// WriteTo writes zeros until w fails.
func (zeros) WriteTo(w io.Writer) (n int64, err error) {
	buf := make([]byte, 256<<10)
	for err == nil {
		var m int
		m, err = w.Write(buf)
		n += int64(m)
	}
	return n, err
}

// fetch receives size bytes and returns how long it took from the connection on.
func fetch(at string, size int64) (time.Duration, error) {
	c, err := net.Dial("tcp4", at)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	start := time.Now()
	if _, err := fmt.Fprintln(c, size); err != nil {
		return 0, err
	}
	n, buf := int64(0), make([]byte, 256<<10)
	for err == nil {
		var m int
		m, err = c.Read(buf)
		n += int64(m)
	}
	if !errors.Is(err, io.EOF) || n != size {
		return 0, fmt.Errorf("%d bytes of %d: %w", n, size, err)
	}
	return time.Since(start), nil
}

// connects makes connections one after the other and returns how long each took at the median.
func connects(at string, times int64) (time.Duration, error) {
	var each []time.Duration
	for range times {
		start := time.Now()
		c, err := net.Dial("tcp4", at)
		if err != nil {
			return 0, err
		}
		each = append(each, time.Since(start))
		c.Close()
	}
	slices.Sort(each)
	return each[len(each)/2], nil
}

// Of bulkSize bytes, and of connectTimes connections, a benchmark takes one figure.
const (
	bulkSize     = 256 << 20
	connectTimes = 200
)

// BenchmarkEgress compares a connection to a host of this machine with one in the sandbox, by turns: the rate
// in bulk, and how long a connect takes. The host, and the command, are processes of their own.
func BenchmarkEgress(b *testing.B) {
	at, end := startHost(b)
	defer end()
	for _, how := range []struct {
		name    string
		backend func(testing.TB) *linuxsandbox.Backend
	}{{"namespaces", backendtest.New}, {"no namespaces", backendtest.NewPlain}} {
		backend := how.backend(b)
		defer backend.Close()
		p := backendtest.Allowing(b, sandbox.WorkspaceWrite(b.TempDir()), at)
		figures := func(b *testing.B, order string) (direct, inside []time.Duration) {
			cmd := netVictimCommand(order)
			for b.Loop() {
				alone := exec.Command(cmd.Path, cmd.Args[1:]...)
				alone.Env = cmd.Env
				text, err := alone.Output()
				if err != nil {
					b.Fatal(err)
				}
				_, within := sandboxtest.Output(b, backend, p, cmd)
				direct, inside = append(direct, figure(b, string(text))), append(inside, figure(b, within))
			}
			slices.Sort(direct)
			slices.Sort(inside)
			b.ReportMetric(0, "ns/op")
			return direct, inside
		}
		b.Run("bulk/"+how.name, func(b *testing.B) {
			direct, inside := figures(b, fmt.Sprintf("fetch %s %d", at, bulkSize))
			b.ReportMetric(bulkSize/direct[0].Seconds()/1e9, "best-GB/s")
			b.ReportMetric(100*float64(direct[0])/float64(inside[0]), "best-%-of-direct")
			b.ReportMetric(100*float64(direct[len(direct)/2])/float64(inside[len(inside)/2]), "median-%-of-direct")
		})
		b.Run("connect/"+how.name, func(b *testing.B) {
			direct, inside := figures(b, fmt.Sprintf("connects %s %d", at, connectTimes))
			reportAbove := func(name string, i int) {
				b.ReportMetric(float64((inside[i]-direct[i]).Microseconds())/1000, name+"-above-ms")
			}
			reportAbove("best", 0)
			reportAbove("median", len(direct)/2)
		})
	}
}

// figure is how long a victim says that something took.
func figure(b *testing.B, out string) time.Duration {
	b.Helper()
	d, err := time.ParseDuration(strings.TrimSpace(out))
	if err != nil {
		b.Fatal(out)
	}
	return d
}
