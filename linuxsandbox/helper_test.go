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
	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// TestHelperSum: a helper that does not belong to this build is refused before a process starts, and
// the message says what to do.
func TestHelperSum(t *testing.T) {
	path := realHelper(t)
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

// TestSealedHelper: keepers run the copy in memory, and nothing can change it.
func TestSealedHelper(t *testing.T) {
	path := filepath.Join(t.TempDir(), HelperName)
	attack.CopyFile(t, realHelper(t), path)
	b, err := New(Options{Helper: path})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	helper, err := b.helper()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Write(helper.fd, []byte("x")); err == nil {
		t.Error("the copy can be written")
	}
	if err := unix.Ftruncate(helper.fd, 0); err == nil {
		t.Error("the copy can be truncated")
	}
	if seals, err := unix.FcntlInt(uintptr(helper.fd), unix.F_ADD_SEALS, unix.F_SEAL_FUTURE_WRITE); err == nil {
		t.Errorf("seals can be added: %d", seals)
	}
	if _, err := sandboxtest.Enforcement(b, sandbox.ReadOnly()); err != nil {
		t.Errorf("with the file on disk replaced: %v", err)
	}
}

// TestHelperBinary: the helper is static; the log has its size.
func TestHelperBinary(t *testing.T) {
	f, err := elf.Open(realHelper(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the helper is not static")
		}
	}
	info, err := os.Stat(realHelper(t))
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
	attack.CopyFile(t, realHelper(t), helper)
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
	attack.CopyFile(t, realHelper(t), helper)
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
	for owner, caps := range map[int]uint64{0: 0, plainUser: spec.FileCaps} {
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

// TestSweep: without a Landlock scope the sweep walks the tree, and catches processes that keep
// forking.
func TestSweep(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// This parent adopts the orphans below it.
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleVariable+"=sweeper", sandboxtest.NoPause)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "nothing left") {
		t.Errorf("%v\n%s", err, out)
	}
}

// playSweeper starts processes that keep forking, and sweeps them.
func playSweeper() {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	r, w, err := os.Pipe()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	exe, err := os.Executable()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for range 4 {
		// The suite's probe: each process starts the next one and ends.
		c := &exec.Cmd{Path: exe, Args: []string{"sandboxtest-probe", fmt.Sprintf("hydra\x1f%d", sandboxtest.HydraLives)}, Stdout: w, Stderr: w}
		if err := c.Run(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	w.Close()
	// As in the keeper, another thread reaps meanwhile. Without it the process table fills with
	// zombies, each read of it takes longer, and finally the machine has no pid left. The reaper
	// knows when no process is left; the sweep cannot know, because a process that forks and ends
	// during the read of the table may have a child that is not in the table.
	gone := make(chan bool)
	go func() {
		defer close(gone)
		for {
			if _, err := unix.Wait4(-1, nil, 0, nil); err == unix.ECHILD {
				return
			}
		}
	}()
	swept := 0
	for more := true; more; {
		swept += len(kernel.Sweep(kernel.Descendants(os.Getpid())))
		select {
		case <-gone:
			more = false
		default:
			kernel.Pause()
		}
	}
	// The pipe that all of them held is at its end.
	fd := int(r.Fd()) // once: Fd makes reading block
	_ = unix.SetNonblock(fd, true)
	n, err := unix.Read(fd, make([]byte, 1))
	r.Close()
	if n != 0 || err != nil || swept < 4 {
		fmt.Println("somebody is left, or nobody was there", n, err, swept)
		os.Exit(1)
	}
	fmt.Println("nothing left")
	os.Exit(0)
}
