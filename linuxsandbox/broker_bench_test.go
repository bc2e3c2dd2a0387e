//go:build linux

package linuxsandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// askedCalls is how many calls the program of BenchmarkAsked makes.
const askedCalls = 20000

// TestAskedVictim is that program: it prints the nanoseconds that one call took.
func TestAskedVictim(t *testing.T) {
	path := os.Getenv("CODEAGENT_TEST_ASKED")
	if path == "" {
		return
	}
	call := func() error { return unix.Fchmodat(unix.AT_FDCWD, path, 0o600, 0) }
	if os.Getenv("CODEAGENT_TEST_CONNECT") != "" {
		path += ".sock"
		_ = os.Remove(path)
		server, err := attack.OwnServer(path)
		if err != nil {
			os.Exit(1)
		}
		defer unix.Close(server)
		call = func() error { return connectOnce(path) }
	}
	if os.Getenv("CODEAGENT_TEST_READ") != "" {
		call = func() error {
			fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err == nil {
				err = unix.Close(fd)
			}
			return err
		}
	}
	start := time.Now()
	for range askedCalls {
		if call() != nil {
			os.Exit(1)
		}
	}
	if _, err := os.Stdout.WriteString(strconv.FormatInt(time.Since(start).Nanoseconds()/askedCalls, 10)); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func connectOnce(path string) error {
	sock, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(sock)
	return unix.Connect(sock, &unix.SockaddrUnix{Name: path})
}

// BenchmarkAsked measures a call that the broker carries out: read the path, open it, judge it and
// change the mode.
func BenchmarkAsked(b *testing.B) { benchmarkAsked(b, "") }

// BenchmarkAskedConnect measures a connection to a socket with a path, including the creation and
// closing of the socket.
func BenchmarkAskedConnect(b *testing.B) { benchmarkAsked(b, "CODEAGENT_TEST_CONNECT=1") }

// BenchmarkOpens measures an open that only reads, with its close: where the broker sees it (Reads) and
// where it does not.
func BenchmarkOpens(b *testing.B) {
	for _, reads := range []bool{false, true} {
		b.Run(fmt.Sprintf("seen=%v", reads), func(b *testing.B) { askedOf(b, "CODEAGENT_TEST_READ=1", reads) })
	}
}

// plainPath has the interpreters themselves; PATH may begin with scripts that start them.
const plainPath = "/usr/local/bin:/usr/bin:/bin"

// BenchmarkStartsSeen measures what it adds to the start of interpreters that their reads are seen, as they
// are of MCP servers.
func BenchmarkStartsSeen(b *testing.B) {
	for _, argv := range [][]string{{"python3", "-c", "pass"}, {"python3", "-c", "import asyncio, json, http.client"}, {"node", "-e", "0"}} {
		b.Run(argv[0]+" "+argv[2], func(b *testing.B) {
			if err := exec.Command("/usr/bin/env", "PATH="+plainPath, argv[0], "--version").Run(); err != nil {
				b.Skip(argv[0], err)
			}
			backend := newLayered(b, true, true)
			defer backend.Close()
			ws, closed := b.TempDir(), b.TempDir()
			p := sandbox.WorkspaceWrite(ws)
			p.DenyRead = []string{closed}
			unseen := sandbox.Command{Path: argv[0], Args: argv, Dir: ws, Env: []string{"PATH=" + plainPath}}
			seen := unseen
			seen.Reads = true
			one, two := inTurns(b, confined(b, backend, p, unseen), confined(b, backend, p, seen), func() {})
			reportAbove(b, one, two)
		})
	}
}

func benchmarkAsked(b *testing.B, env string) { askedOf(b, env, false) }

func askedOf(b *testing.B, env string, reads bool) {
	backend := newBackend(b)
	defer backend.Close()
	ws := b.TempDir()
	file, closed := filepath.Join(ws, "file"), b.TempDir()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		b.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	p := sandbox.WorkspaceWrite(ws)
	p.DenyRead = []string{closed}
	total := 0
	for b.Loop() {
		out, err := os.CreateTemp(b.TempDir(), "out")
		if err != nil {
			b.Fatal(err)
		}
		defer out.Close()
		proc, err := sandboxtest.Start(backend, b.Context(), p, sandbox.Command{
			Reads: reads, Path: exe, Args: []string{"victim", "-test.run=^TestAskedVictim$"}, Dir: ws, Env: []string{"CODEAGENT_TEST_ASKED=" + file, env}, Stdout: out,
		}, nil)
		if err != nil {
			b.Fatal(err)
		}
		if st, err := proc.Wait(); err != nil || st.Exit != 0 {
			b.Fatalf("%+v %v", st, err)
		}
		text, err := os.ReadFile(out.Name())
		if err != nil {
			b.Fatal(err)
		}
		each, err := strconv.Atoi(string(text))
		if err != nil {
			b.Fatal(err)
		}
		total += each
	}
	b.ReportMetric(float64(total)/float64(b.N), "ns/call")
}
