//go:build linux

package linuxsandbox

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/broker/sockets"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// Commands run in a container whose filter refuses faccessat2, with only descriptors 0 to 2 open, and the broker takes
// copies of their sockets on a kernel without PIDFD_THREAD. Where close_range is refused too, none runs.
func TestOldContainerFilter(t *testing.T) {
	for _, s := range []attack.Setting{
		{Name: "old filter", Surroundings: attack.SurroundOldFilter}, {Name: "old filter", Surroundings: attack.SurroundOldFilter, UID: attack.PlainUser},
		{Name: "older filter", Surroundings: attack.SurroundOlderFilter}, {Name: "older filter", Surroundings: attack.SurroundOlderFilter, UID: attack.PlainUser},
	} {
		t.Run(fmt.Sprint(s, s.UID), func(t *testing.T) {
			if os.Getuid() != 0 {
				t.Skip("needs root, to set its surroundings up")
			}
			out, err := tests.Command(t, s, "^TestOldContainerFilterInside$").CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS: ") {
				t.Errorf("%v\n%s", err, attack.WithoutPassed(string(out)))
			}
		})
	}
}

// TestOldContainerFilterInside is the body of TestOldContainerFilter.
func TestOldContainerFilterInside(t *testing.T) {
	setting := os.Getenv(attack.EnvSetting)
	if !strings.HasPrefix(setting, "old") {
		attack.BodyOf(t, "TestOldContainerFilter")
	}
	if err := unix.CloseRange(1000, 1000, unix.CLOSE_RANGE_CLOEXEC); (err == unix.EPERM) != (setting == "older filter") {
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
	if setting == "older filter" {
		_, err := sandboxtest.Enforcement(b, sandbox.ReadOnly())
		if err == nil || !strings.Contains(err.Error(), "close_range(2), which closes other files to the command: operation not permitted; the filter of a container") {
			t.Errorf("enforcement: %v", err)
		}
		return
	}
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
