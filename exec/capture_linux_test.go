package exec_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/exec"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
	"codeagent/sandbox/sandboxtest"
)

// TestMain lets the test binary be the sandbox's helper.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == linuxsandbox.HelperName {
		syscall.Exit(linuxsandbox.HelperMain(os.Args))
	}
	sandboxtest.HeedSignals()
	os.Exit(machine.Run(m))
}

// capture runs the cases and records their output under the real backend: as root the rows
// for root, otherwise the others. It also runs a row outside the sandbox unless that could
// change the machine.
func capture(t *testing.T) {
	t.Helper()
	backend, err := linuxsandbox.New(linuxsandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	all := readCaptures(t)
	for _, c := range slices.Concat(outputCases, ownNetCases) {
		if c.kept || c.asRoot != (os.Geteuid() == 0) || !strings.Contains(c.name, *onlyCases) {
			continue
		}
		in := captureOne(t, backend, c, false)
		var out capturedOutput
		if !c.assumed {
			out = captureOne(t, exec.Plain{}, c, true)
			in.PassesOutside = out.Exit == 0 && out.Signal == 0
		}
		all[c.name] = in
		t.Logf("%-28s exit %d/%d\n%s", c.name, in.Exit, out.Exit, in.Output)
	}
	data, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(captureFile, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

func captureOne(t *testing.T, backend resolved.Backend, c outputCase, outside bool) capturedOutput {
	t.Helper()
	base := captureHome(t)
	ws := filepath.Join(base, "ws")
	p := sandbox.WorkspaceWrite(ws)
	switch c.policy {
	case "ro":
		p = sandbox.ReadOnly()
	case "net":
		p.Network.Mode = sandbox.NetworkFull
	case "deny":
		p.Read = []sandbox.Root{{Path: "/usr"}, {Path: "/etc"}, {Path: "/dev"}, {Path: "/proc"}, {Path: ws}}
	}
	p.Write = append(p.Write, sandbox.Root{Path: goCache(t)})
	p.Temp = filepath.Join(base, "tmp")
	p.Env.Set = map[string]string{"LC_ALL": "C.UTF-8"}
	p.Unconfined = outside
	r := exec.New(exec.Options{Backend: backend, None: exec.Plain{}, Files: exec.OS{}, Environ: []string{"HOME=" + base, "PATH=/usr/local/bin:/usr/bin:/bin", "USER=u", "GOCACHE=" + goCache(t)}})
	got := capturedOutput{}
	var printed strings.Builder
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	o, err := r.Run(ctx, p, exec.Command{Argv: []string{"/bin/bash", "-c", c.script}, Dir: ws, Timeout: time.Minute}, func(_ int64, data []byte) {
		printed.Write(data)
	})
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	resolver := regexp.MustCompile(` on [0-9.]+:53: dial udp [0-9.]+:53`)
	clean := func(s string) string {
		return resolver.ReplaceAllString(strings.ReplaceAll(s, base, "/home/u"), " on 192.0.2.53:53: dial udp 192.0.2.53:53")
	}
	got.Output = clean(printed.String())
	got.Exit, got.Signal, got.TimedOut = o.Status.Exit, o.Status.Signal, o.TimedOut
	return got
}

// goCache returns one build cache for all cases.
func goCache(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(os.TempDir(), "capture-go-cache")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// captureHome returns a new base folder for one case.
func captureHome(t *testing.T) string {
	t.Helper()
	base, err := os.MkdirTemp("", "u")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	for _, dir := range []string{"tmp", "ws/sub", "out/dir", "out/empty", "out/git/.git"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"ws/a": "a\n", "out/f": "f\n", "out/dir/g": "g\n", "out/secret": "x\n", "out/git/x": "x\n",
		"out/git/.git/HEAD": "ref: refs/heads/main\n", "out/git/.git/config": "[core]\n"} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"objects", "refs"} {
		if err := os.Mkdir(filepath.Join(base, "out/git/.git", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../out", filepath.Join(base, "ws/link")); err != nil {
		t.Fatal(err)
	}
	return base
}
