//go:build linux

package alike

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
)

// TestBrokerViews runs TestBrokerViewInSetting in every setting.
func TestBrokerViews(t *testing.T) { tests.InSettings(t, "^TestBrokerViewInSetting$") }

// TestBrokerViewInSetting: the broker finds files where the command sees them, however they are
// named, and judges the actual file.
func TestBrokerViewInSetting(t *testing.T) {
	b, f := backendtest.InSetting(t, "TestBrokerViews")
	for _, row := range viewRows {
		if row.mounts && !f.Namespaces {
			continue // there its files are the host's
		}
		t.Run(row.name, func(t *testing.T) {
			th := backendtest.NewTheatre(t, b)
			th.Policy.Temp = t.TempDir()
			before := attack.Stat(t, th.Out)
			got, denials := th.Shell(t, `
allowed() { chmod "$1" "$2" && stat -Lc %a "$2"; }
refused() { ! chmod 777 "$1" 2> why || echo changed; grep -o 'not permitted' why; }
`+row.script)
			if strings.TrimSpace(got) != row.says {
				t.Errorf("%q, want %q; %+v", got, row.says, denials)
			}
			if after := attack.Stat(t, th.Out); after != before {
				t.Error("the file outside was changed")
			}
			if row.says != "not permitted" && len(denials) > 0 {
				t.Errorf("denials %+v", denials)
			}
			if row.says == "not permitted" && (len(denials) != 1 || denials[0].Target != th.Out || denials[0].Evidence != sandbox.EvidenceKernel) {
				t.Errorf("denials %+v, want one of %s", denials, th.Out)
			}
		})
	}
	if f.Namespaces {
		t.Run("the host's files in shared folders", func(t *testing.T) { hostsFiles(t, b) })
		t.Run("private folder", func(t *testing.T) { privateFolder(t, b) })
	}
}

var viewRows = []struct {
	name, script, says string
	mounts             bool
}{
	{"an absolute path", `allowed 601 $WS/file`, "601", false},
	{"..", `mkdir -p a/b; cd a/b; allowed 602 ../../file`, "602", false},
	{".. above the root", `allowed 603 ../../../../../../../../..$WS/file`, "603", false},
	{"an absolute link", `ln -s $WS/file l; allowed 604 l`, "604", false},
	{"an absolute link to a folder", `ln -s $WS l; allowed 605 l/file`, "605", false},
	{"a link to the root", `ln -s / l; allowed 606 l$WS/file`, "606", false},
	{"a relative link upwards", `mkdir a; ln -s ../file a/l; cd a; allowed 607 l`, "607", false},
	{"/proc/self/fd", `exec 3<file; allowed 610 /proc/self/fd/3`, "610", false},
	{"/dev/fd", `exec 3<file; allowed 611 /dev/fd/3`, "611", false},
	{"/proc/self/cwd", `allowed 612 /proc/self/cwd/file`, "612", false},
	{"/proc/thread-self/cwd", `allowed 613 /proc/thread-self/cwd/file`, "613", false},
	{"/proc/self/root", `allowed 614 /proc/self/root$WS/file`, "614", false},
	{"a link to /proc/self/cwd", `ln -s /proc/self/cwd l; allowed 615 l/file`, "615", false},
	{"a relative way into /proc", `cd /; allowed 616 proc/self/root$WS/file`, "616", false},
	{"outside, an absolute path", `refused $TARGET`, "not permitted", false},
	{"outside, ..", `refused ../away/file`, "not permitted", false},
	{"outside, a link", `ln -s $TARGET l; refused l`, "not permitted", false},
	{"outside, /proc/self/fd", `exec 3<$TARGET; refused /proc/self/fd/3`, "not permitted", false},
	{"outside, /proc/self/root", `refused /proc/self/root$TARGET`, "not permitted", false},
	{"/dev/shm", `echo > /dev/shm/x; allowed 620 /dev/shm/x`, "620", true},
	{"/tmp", `echo > /tmp/x; allowed 621 /tmp/x`, "621", true},
	{"/tmp through a link", `echo > /tmp/x; ln -s /tmp l; allowed 622 l/x`, "622", true},
	{"/var/tmp is /tmp", `echo > /var/tmp/x; allowed 623 /tmp/x`, "623", true},
	{"a file of /tmp without a name", `exec 3> /tmp/x; rm /tmp/x; allowed 624 /proc/self/fd/3`, "624", true},
}

// hostsFiles: a host file in a folder that the command sees its own version of is not the
// command's, even if the command got it as an open descriptor and the paths are equal.
func hostsFiles(t *testing.T, b *linuxsandbox.Backend) {
	for _, dir := range []string{"/tmp", "/var/tmp", kernel.ShmDir} {
		file, err := os.CreateTemp(dir, "codeagent-test")
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(file.Name())
		defer file.Close()
		th := backendtest.NewTheatre(t, b)
		th.Policy.Temp = t.TempDir()
		before := attack.Stat(t, file.Name())
		cmd := sandbox.Command{
			Path: "bash", Args: []string{"bash", "-c", "chmod 777 /proc/self/fd/0; chown $UID /proc/self/fd/0; touch /proc/self/fd/0"},
			Env: th.Env("", ""), Stdin: file,
		}
		out, denials := th.Confined(t, cmd)
		if after := attack.Stat(t, file.Name()); after != before {
			t.Errorf("%s was changed: %+v %+v\n%s", file.Name(), before, after, out)
		}
		changes := slices.DeleteFunc(denials, func(d sandbox.Denial) bool { return d.Kind != sandbox.KindMetadata })
		if len(changes) != 3 {
			t.Errorf("%s: denials %+v\n%s", dir, denials, out)
		}
	}
}

// privateFolder: what a command changes in /tmp changes in the session's own folder.
func privateFolder(t *testing.T, b *linuxsandbox.Backend) {
	th := backendtest.NewTheatre(t, b)
	th.Policy.Temp = t.TempDir()
	th.Shell(t, `mkdir /tmp/d; echo > /tmp/d/x; chmod 631 /tmp/d/x`)
	if mode := attack.Stat(t, filepath.Join(th.Policy.Temp, "d/x")).Mode & 0o777; mode != 0o631 {
		t.Errorf("mode %o", mode)
	}
}
