//go:build linux

package linuxsandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// TestHelperSum: a helper that does not belong to this build is refused before a process starts, and
// the message says what to do.
func TestHelperSum(t *testing.T) {
	path := tests.Helper(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	good := Options{Helper: path, HelperSum: hex.EncodeToString(sum[:])}
	if err := started(t, good); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), HelperName)
	if err := os.WriteFile(other, append(data, 0), 0o755); err != nil {
		t.Fatal(err)
	}
	bad := good
	bad.Helper = other
	if err := started(t, bad); err == nil || !strings.Contains(err.Error(), "make build") || !strings.Contains(err.Error(), other) {
		t.Errorf("a replaced helper: %v", err)
	}
	if err := started(t, Options{Helper: filepath.Join(t.TempDir(), "missing")}); err == nil {
		t.Error("a helper that is missing is accepted")
	}
}

// started starts a command under a new Backend, first of all and after a probe, and returns the
// error of Ready, which both must agree with.
func started(t *testing.T, o Options) error {
	t.Helper()
	for _, probes := range []bool{false, true} {
		b, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		ready := b.Ready()
		if probes {
			if _, err := sandboxtest.Enforcement(b, sandbox.ReadOnly()); (err == nil) != (ready == nil) {
				t.Errorf("Enforcement: %v, and Ready: %v", err, ready)
			}
		}
		p, err := sandboxtest.Start(b, context.Background(), sandbox.ReadOnly(), sandbox.Command{Path: "/bin/true", Args: []string{"true"}, Dir: "/"}, nil)
		if (err == nil) != (ready == nil) {
			t.Errorf("Start: %v, and Ready: %v", err, ready)
		}
		if err == nil {
			p.Wait()
		}
		if ready != nil {
			return ready
		}
	}
	return nil
}

// TestReplacedHelper: keepers run the copy in memory, whatever becomes of the file.
func TestReplacedHelper(t *testing.T) {
	path := filepath.Join(t.TempDir(), HelperName)
	attack.CopyFile(t, tests.Helper(t), path)
	b, err := New(Options{Helper: path})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Ready(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := sandboxtest.Enforcement(b, sandbox.ReadOnly()); err != nil {
		t.Error(err)
	}
}

// TestHelperBinary: the helper is static; the log has its size.
func TestHelperBinary(t *testing.T) {
	f, err := elf.Open(tests.Helper(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the helper is not static")
		}
	}
	info, err := os.Stat(tests.Helper(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", info.Size())
}

// TestByHand: the helper started by hand has the same failures, with one line for each.
func TestByHand(t *testing.T) {
	ws := t.TempDir()
	policy, err := sandbox.EncodePolicy(sandbox.Policy{Write: []sandbox.Root{{Path: ws}}})
	if err != nil {
		t.Fatal(err)
	}
	helper := withCodeagent(t)
	for _, row := range []struct {
		args []string
		code int
		says string // part of stderr
	}{
		{[]string{ws, string(policy), "--", "/bin/sh", "-c", "echo x > f && exit 9"}, 9, ""},
		{[]string{ws, string(policy), "--", "sh", "-c", "kill -15 $$"}, 128 + 15, ""},
		{[]string{ws, string(policy), "--", "sh", "-c", "echo x > ../f"}, 2, "Permission denied"},
		{[]string{ws, string(policy), "--", "no-such-program"}, 127, "not found"},
		{[]string{ws, string(policy), "--", ws}, 126, "cannot be executed"},
		{[]string{ws + "/missing", string(policy), "--", "true"}, 125, "did not run"},
		{[]string{ws, `{"version":1,"surprise":1}`, "--", "true"}, 125, "surprise"},
		{[]string{ws, `{"version":9}`, "--", "true"}, 125, "version"},
		{[]string{ws, `{"version":1,"write":[{"path":"/"}]}`, "--", "true"}, 125, "write root /"},
		{[]string{ws, string(policy)}, 125, "usage"},
		{nil, 125, "usage"},
	} {
		var stderr bytes.Buffer
		cmd := exec.Command(helper, row.args...)
		cmd.Stderr = &stderr
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != row.code {
			t.Errorf("%q: exit %d, want %d: %s", row.args, code, row.code, &stderr)
		}
		if !strings.Contains(stderr.String(), row.says) || strings.Count(stderr.String(), "\n") > 1 {
			t.Errorf("%q says %q, want one line with %q", row.args, &stderr, row.says)
		}
	}
	if data, err := os.ReadFile(filepath.Join(ws, "f")); err != nil || string(data) != "x\n" {
		t.Errorf("written inside: %q, %v", data, err)
	}
}

// TestByHandAlone: without codeagent beside it, the helper says what is missing.
func TestByHandAlone(t *testing.T) {
	helper := filepath.Join(t.TempDir(), HelperName)
	attack.CopyFile(t, tests.Helper(t), helper)
	out, err := exec.Command(helper, "/", `{"version":1}`, "--", "true").CombinedOutput()
	if failed := (*exec.ExitError)(nil); !errors.As(err, &failed) || failed.ExitCode() != 125 || !strings.Contains(string(out), "codeagent: no such file") {
		t.Errorf("%v: %s", err, out)
	}
}

// withCodeagent is a helper with a codeagent beside it; this test binary acts as that codeagent.
func withCodeagent(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	helper := filepath.Join(dir, HelperName)
	attack.CopyFile(t, tests.Helper(t), helper)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(exe, filepath.Join(dir, "codeagent")); err != nil {
		t.Fatal(err)
	}
	return helper
}

// TestFileCaps: root works in another user's workspace with only file capabilities. In its own
// workspace it has none.
func TestFileCaps(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	b := newBackend(t)
	defer b.Close()
	for owner, caps := range map[int]uint64{0: 0, attack.PlainUser: spec.FileCaps} {
		ws := t.TempDir()
		private := filepath.Join(ws, "private")
		if err := os.Mkdir(private, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{ws, private} {
			if err := os.Chown(dir, owner, owner); err != nil {
				t.Fatal(err)
			}
		}
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		proc, err := sandboxtest.Start(b, context.Background(), sandbox.Policy{Write: []sandbox.Root{{Path: ws}}}, sandbox.Command{
			Path: "/bin/sh", Args: []string{"sh", "-c", "echo x > private/f; grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status"},
			Dir: ws, Env: []string{"PATH=/bin:/usr/bin"}, Stdout: out,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := proc.Wait(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(private, "f")); err != nil {
			t.Errorf("workspace of uid %d: %v", owner, err)
		}
		text, _ := os.ReadFile(out.Name())
		for name, want := range map[string]uint64{"CapInh": 0, "CapPrm": caps, "CapEff": caps, "CapBnd": caps, "CapAmb": 0} {
			if line := fmt.Sprintf("%s:\t%016x\n", name, want); !strings.Contains(string(text), line) {
				t.Errorf("workspace of uid %d: no line %q in\n%s", owner, line, text)
			}
		}
	}
}
