//go:build linux

package linuxsandbox

import (
	"os"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// Commands run in a container whose filter refuses close_range and faccessat2, with only
// descriptors 0 to 2 open, and the broker takes copies of their sockets on a kernel without PIDFD_THREAD.
func TestOldContainerFilter(t *testing.T) {
	for name, uid := range map[string]int{"root": 0, "user": attack.PlainUser} {
		t.Run(name, func(t *testing.T) {
			if os.Getuid() != 0 {
				t.Skip("needs root, to set its surroundings up")
			}
			s := attack.Setting{Name: "old filter", Surroundings: attack.SurroundOldFilter, UID: uid}
			out, err := tests.Command(t, s, "^TestOldContainerFilterInside$").CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS: ") {
				t.Errorf("%v\n%s", err, attack.WithoutPassed(string(out)))
			}
		})
	}
}

// TestOldContainerFilterInside is the body of TestOldContainerFilter.
func TestOldContainerFilterInside(t *testing.T) {
	if os.Getenv(attack.EnvSetting) != "old filter" {
		attack.BodyOf(t, "TestOldContainerFilter")
	}
	if err := unix.CloseRange(1000, 1000, unix.CLOSE_RANGE_CLOEXEC); err != unix.EPERM {
		t.Fatalf("close_range: %v: not in the container", err)
	}
	// This descriptor is not close-on-exec, and its number is above all others.
	null, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(null), unix.F_DUPFD, 200); err != nil {
		t.Fatal(err)
	}
	b, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	dir := t.TempDir()
	for name, p := range map[string]sandbox.Policy{"read-only": sandbox.ReadOnly(), "workspace": sandbox.WorkspaceWrite(dir)} {
		status, out := sandboxtest.Output(t, b, p, sandbox.Command{Path: "/bin/sh", Args: []string{"sh", "-c", "echo /proc/self/fd/*; echo done"}, Dir: dir})
		if open, _, _ := strings.Cut(out, "\n"); status.Exit != 0 || strings.Count(open, "/proc/self/fd/") > 4 || strings.Contains(open, "200") || !strings.HasSuffix(out, "done\n") {
			t.Errorf("%s: %+v %q", name, status, out)
		}
	}
	if b.probed.Sockets != sockets.TakesCopies {
		t.Errorf("sockets of commands: access %d: %s", b.probed.Sockets, b.probed.NoSockets)
	}
}
