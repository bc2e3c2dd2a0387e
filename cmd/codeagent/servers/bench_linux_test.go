package servers

import (
	"cmp"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/approvals"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config/server"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/mcp"
	"codeagent/sandbox"
)

// TestMain lets the test binary be the sandbox's helper.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == linuxsandbox.HelperName {
		syscall.Exit(linuxsandbox.HelperMain(os.Args))
	}
	os.Exit(machine.Run(m))
}

// answers is a server that reads and answers the first requests of a client, and nothing more.
const answers = `r() { read -r line; }
r; echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'
r; echo '{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}}'
r; r; echo '{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}'
r`

// BenchmarkStart measures the way from the settings to the tools of one server, and the same server
// started without a sandbox. The difference should be below 5 ms on an idle machine; on a busy one the
// best times are the ones to compare. The workspace is open and its first sandbox is made, as in a
// session. The helper is the real one: the test's own program, ten times as large, takes 1 ms longer
// to start. CODEAGENT_SERVER is the command line of a server to measure in place of the smallest one.
func BenchmarkStart(b *testing.B) {
	buildHelper(b)
	options := testOptions(b)
	argv := []string{"/bin/sh", "-c", answers}
	if other := strings.Fields(os.Getenv("CODEAGENT_SERVER")); len(other) > 0 {
		argv = other
	}
	options.Configured = map[string]server.Settings{"t": complete(b, server.Settings{Command: argv[0], Args: argv[1:]})}
	var bare, boxed []time.Duration
	for b.Loop() {
		bare = append(bare, startBare(b, argv))
		begun := time.Now()
		s := Open(b.Context(), options)
		if err := s.Ready(b.Context()); err != nil {
			b.Fatal(err)
		}
		boxed = append(boxed, time.Since(begun))
		if st := s.Status()[0]; st.State != Running || len(st.Tools) == 0 {
			b.Fatal(st.Problem)
		}
		s.Close()
	}
	slices.Sort(bare)
	slices.Sort(boxed)
	report := func(d time.Duration, unit string) { b.ReportMetric(d.Seconds()*1e3, unit) }
	report(bare[0], "bare-best-ms")
	report(boxed[0], "served-best-ms")
	report(boxed[0]-bare[0], "added-best-ms")
	report(boxed[len(boxed)/2]-bare[len(bare)/2], "added-median-ms")
}

// buildHelper builds the helper beside the running program, where a backend looks for it.
func buildHelper(b *testing.B) {
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(filepath.Dir(exe), linuxsandbox.HelperName)
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -funcalign=4", "-o", path, "codeagent/cmd/linux-sandbox-helper")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	b.Cleanup(func() { _ = os.Remove(path) })
}

// testOptions are those of a session in a new home folder and a new workspace.
func testOptions(t testing.TB) Options {
	t.Helper()
	// Each entry beside the way to a folder that is closed to reading is a Landlock rule. /tmp can hold
	// hundreds; a home folder does not lie there.
	base, err := os.MkdirTemp("/var/tmp", "codeagent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	for _, dir := range []string{"home", "work"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	env := []string{"HOME=" + base + "/home", "PATH=" + os.Getenv("PATH")}
	ws, err := workspace.Open(t.Context(), cli.Stdio{In: null, Out: null, Err: null, Environ: env, Text: &cli.Output{W: io.Discard}}, cli.Flags{Folder: base + "/work"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ws.Close)
	gate := approvals.NewGate(approvals.Options{Base: ws.Policy, Files: ws.Files, Workspace: ws.Folder, Home: base + "/home"})
	return Options{Workspace: ws, Ledger: gate.Ledger(), Trusted: func(p sandbox.Policy) sandbox.Policy { return p }}
}

// complete is set as settings give it, of the user unless it says another origin.
func complete(t testing.TB, set server.Settings) server.Settings {
	t.Helper()
	set.Origin = cmp.Or(set.Origin, server.OfUser)
	set, problem := set.Complete("")
	if problem != "" {
		t.Fatal(problem)
	}
	return set
}

// shell is a server that is a script of sh.
func shell(t testing.TB, script string, args ...string) server.Settings {
	t.Helper()
	return complete(t, server.Settings{Command: "/bin/sh", Args: append([]string{"-c", script}, args...)})
}

// startBare is how long the server takes without a sandbox.
func startBare(b *testing.B, argv []string) time.Duration {
	begun := time.Now()
	cmd := exec.Command(argv[0], argv[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	client, err := mcp.OverPipes(b.Context(), out, in, mcp.Options{Name: "t", Startup: time.Minute, Call: time.Minute})
	if err != nil || len(client.Tools()) == 0 || strings.TrimSpace(client.Protocol()) == "" {
		b.Fatal(err)
	}
	took := time.Since(begun)
	client.Close()
	_ = cmd.Wait() // it may be at its last read
	return took
}
