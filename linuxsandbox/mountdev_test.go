//go:build linux

package linuxsandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// devicesAlways are in every /dev with mounts.
const devicesAlways = "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero"

// TestDevices runs TestDevicesInSetting in every setting.
func TestDevices(t *testing.T) { tests.InSettings(t, "^TestDevicesInSetting$") }

// TestDevicesInSetting: with mounts, /dev contains what a command needs and what its policy names,
// and nothing else.
func TestDevicesInSetting(t *testing.T) {
	b, f := backendInSetting(t, "TestDevices")
	if !f.Namespaces {
		t.Skip("no mount namespace here, so only Landlock protects the devices")
	}
	other := otherDevice(t)
	unnamed := "none"
	if other == kernel.Ptmx {
		unnamed = ""
	}
	named := sandbox.WorkspaceWrite(t.TempDir())
	named.Write = append(named.Write, sandbox.Root{Path: other, Optional: true})
	for _, row := range []struct {
		name, script, want string
		policy             sandbox.Policy
	}{
		{"what there is", `cd /dev; echo *`, devicesAlways, sandbox.WorkspaceWrite(t.TempDir())},
		{"read-only", `cd /dev; echo *`, devicesAlways, sandbox.ReadOnly()},
		{"a device that nobody named", `test ` + other + ` = /dev/ptmx || test -e ` + other + ` || echo none`, unnamed, sandbox.WorkspaceWrite(t.TempDir())},
		{"a device by name", `test -c ` + other + ` && echo there`, "there", named},
		{"use", `echo x >/dev/null; head -c1 /dev/zero | wc -c; head -c 3 /dev/urandom | wc -c; echo y >/dev/stdout; cat /dev/fd/0 </dev/null; echo z 2>/dev/null >/dev/full || echo full`,
			"1\n3\ny\nfull", sandbox.WorkspaceWrite(t.TempDir())},
		{"changes", `for do in 'rm /dev/null' 'mv /dev/zero /dev/z' 'touch /dev/new' 'ln -sf x /dev/fd' 'mkdir /dev/d'; do $do 2>/dev/null && echo "$do"; done; echo done`,
			"done", sandbox.WorkspaceWrite(t.TempDir())},
		{"shared memory", `echo x >/dev/shm/x && cat /dev/shm/x`, "x", sandbox.WorkspaceWrite(t.TempDir())},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, out := sandboxtest.Output(t, b, row.policy, sandbox.Command{
				Path: "/bin/bash", Args: []string{"bash", "-c", row.script}, Dir: "/", Env: []string{"PATH=/bin:/usr/bin"},
			})
			if strings.TrimSpace(out) != strings.TrimSpace(row.want) {
				t.Errorf("%q, want %q", out, row.want)
			}
		})
	}
}

// otherDevice is a device of this machine that commands get only if the policy names it.
func otherDevice(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir(kernel.DevDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(kernel.DevDir, e.Name())
		if e.Type()&fs.ModeCharDevice != 0 && !slices.Contains(strings.Fields(devicesAlways), e.Name()) {
			return path
		}
	}
	return kernel.Ptmx // a container's /dev may contain nothing else: this one exists
}
