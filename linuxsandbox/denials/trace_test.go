//go:build linux

package denials

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/linuxsandbox/broker/evidence"
	"codeagent/sandbox"
	"codeagent/sandbox/protect/protecttest"

	"golang.org/x/sys/unix"
)

// TestTrace: which program was refused what, in which order, and how each process ended.
func TestTrace(t *testing.T) { backendtest.WithAndWithoutMounts(t, traces) }

func traces(t *testing.T, th *backendtest.Theatre) {
	away := filepath.Dir(th.Out)
	tr := th.Trace(t, "", `ls > /dev/null; cd ../away; sh -c 'touch ./new; : after' ; (exit 9); rm -f ../away/file; mkdir new; true; exit 4`)
	if tr.Evidence != sandbox.EvidenceFull || len(tr.Denials) < 3 {
		t.Fatalf("%+v", tr)
	}
	touch := tr.Denials[0]
	if touch.Program != "touch" || touch.Target != away+"/new" || touch.Requested != "./new" || touch.Operation != "openat" || touch.Errno != "EACCES" ||
		touch.Kind != sandbox.KindWrite || touch.Moot || touch.Order != 2 {
		t.Errorf("%+v", touch)
	}
	chain := []string{}
	for _, a := range touch.Chain {
		chain = append(chain, a.ProcessName())
	}
	if !slices.Equal(chain, []string{"sh", "bash"}) {
		t.Errorf("chain %v", touch.Chain)
	}
	rm := tr.Denials[slices.IndexFunc(tr.Denials, func(d sandbox.Denial) bool { return d.Program == "rm" })]
	if rm.Target != th.Out || rm.Requested != "../away/file" || rm.Order <= touch.Order {
		t.Errorf("%+v", rm)
	}
	var told []string
	for i, e := range tr.Exits {
		if i > 0 && e.Order <= tr.Exits[i-1].Order || e.Parent == 0 || e.PID == 0 {
			t.Errorf("%+v after %+v", e, tr.Exits[i-1])
		}
		told = append(told, e.Comm+string(rune('0'+e.Status))+" by "+e.ByComm)
		if first := tr.Exits[len(tr.Exits)-1].PID; e.Forked != (e.Status == 9) || (e.By == first) != (e.ByComm == "bash") {
			t.Errorf("%+v", e)
		}
	}
	told[len(told)-1], _, _ = strings.Cut(told[len(told)-1], " ") // the keeper's name is a number
	if want := []string{"ls0 by bash", "touch1 by sh", "sh0 by bash", "bash9 by bash", "rm1 by bash", "mkdir1 by bash", "bash4"}; !slices.Equal(told, want) {
		t.Errorf("exits %v, want %v", told, want)
	}
	if e := tr.Exits[1]; e.PID != touch.PID || e.Parent != touch.Chain[0].PID || e.Order <= touch.Order || e.Order >= rm.Order {
		t.Errorf("%+v after %+v", e, touch)
	}
}

// TestRepeatedDenialsAreCounted: each is counted.
func TestRepeatedDenialsAreCounted(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		away := filepath.Dir(th.Out)
		const many = 5000
		tr := th.Trace(t, "", `for i in 1 2 3; do touch `+away+`/a; done 2>/dev/null; (for ((i = 0; i < `+strconv.Itoa(many)+`; i++)); do : > `+away+`/b; done) 2>/dev/null; true`)
		got := map[string]int{}
		for _, d := range tr.Denials {
			got[filepath.Base(d.Target)] += d.Count
		}
		if got["a"] != 3 || got["b"] != many {
			t.Errorf("counted %v, want 3 and %d", got, many)
		}
	})
}

// TestMoot: a call that would have failed anyway is not a denial, or is a moot one.
func TestMoot(t *testing.T) { backendtest.WithAndWithoutMounts(t, moots) }

func moots(t *testing.T, th *backendtest.Theatre) {
	away := filepath.Dir(th.Out)
	for _, row := range []struct {
		name, script string
		denials      int
	}{
		{"absent", `: > ../none/x; cat < ../away/none; chmod 600 ../away/none; rm ../away/none; mv ../away/none x; ln ../away/none x; truncate -c -s 0 ../away/none`, 0},
		{"there already", `mkdir ../away; mkdir -p ../away; set -C; echo > ../away/file; ln -s x ../away/file; mkfifo ../away/file`, 0},
		{"another kind", `echo > ../away; rmdir ../away/file; rm ../away; touch ../away/file/x; rmdir ..`, 0},
		{"devices", `echo > /dev/null; echo > /dev/zero; echo 2> /dev/full >&2; : > /dev/stdout; echo > /dev/fd/1`, 0},
		{"only read", `flock -s ../away/file true; exec 3<>/dev/null; cat ../away/file`, 0},
		{"locks", `flock ../away/file true; flock -n ../away true; flock lockfile true; flock . true`, 2},
		{"temporary", `echo > "${TMPDIR:-/dev/null}"`, 0},
		{"refused", `echo > ../away/file; rm -f ../away/file; mv ../away/file ../away/f; ln ../away/file here`, 5},
	} {
		t.Run(row.name, func(t *testing.T) {
			tr := th.Trace(t, "", row.script+"; true")
			if len(tr.Denials) != row.denials {
				t.Errorf("%d denials: %+v", len(tr.Denials), tr.Denials)
			}
		})
	}
	if data, err := os.ReadFile(th.Out); err != nil || string(data) != "x" {
		t.Errorf("%s: %q %v", away, data, err)
	}
}

// TestPermissions: what the user's own permissions refuse is moot. The exception is root, whose
// commands do not have root's capabilities.
func TestPermissions(t *testing.T) { tests.InSettings(t, "^TestPermissionsInSetting$") }

func TestPermissionsInSetting(t *testing.T) {
	s := attack.CurrentSetting(t, "TestPermissions")
	b := backendtest.New(t)
	defer b.Close()
	th := backendtest.NewTheatre(t, b)
	base := filepath.Dir(th.Out)
	shut, fixed := filepath.Join(base, "shut"), filepath.Join(base, "fixed")
	for path, mode := range map[string]uint32{shut: 0, fixed: 0o444} {
		if err := unix.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Chmod(shut, 0o700)
	const write, metadata, capability = sandbox.KindWrite, sandbox.KindMetadata, sandbox.KindCapability
	for _, row := range []struct {
		name, script, target string
		// kind is the denial's kind for root, whose denials are not moot. Those of users without
		// capabilities are moot, unless everybody is allowed.
		kind   sandbox.DenialKind
		anyone bool
	}{
		{"a folder of nobody", "echo > " + shut + "/x", shut + "/x", capability, false},
		{"a folder to read", "mkdir " + fixed + "/x", fixed + "/x", capability, false},
		{"the system's", "echo >> /etc/passwd", "/etc/passwd", write, false},
		{"its metadata", "chmod 600 /etc/passwd", "/etc/passwd", metadata, false},
		{"metadata in a folder of nobody", "touch -c " + shut + "/x", shut + "/x", capability, false},
		{"a device", "mknod " + base + "/null c 1 3", base + "/null", capability, false},
		{"a namespace", "unshare -U true", "unshare", sandbox.KindSyscall, true},
		{"a namespace of mounts", "unshare -m true", "unshare", capability, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			tr := th.Trace(t, "", row.script)
			if row.target == "unshare" && strings.Contains(s.Name, "container") && len(tr.Denials) == 0 {
				return // the container's own filter refuses it
			}
			if len(tr.Denials) != 1 {
				t.Fatalf("%+v", tr.Denials)
			}
			d := tr.Denials[0]
			moot := !attack.HasCapabilities() && !row.anyone && !(os.Getuid() == 0 && strings.HasPrefix(row.target, "/etc/"))
			kind := d.Kind == row.kind || moot
			if s.Name == "root in a container" {
				moot, kind = d.Moot, true // it has only some capabilities
			}
			if d.Target != row.target || d.Moot != moot || moot && d.MootReason == "" || !kind {
				t.Errorf("%+v", d)
			}
		})
	}
}

// TestTraceIsBounded: the trace says that entries are missing if they do not fit, and names that
// are not text do no harm.
func TestTraceIsBounded(t *testing.T) {
	b := backendtest.New(t)
	defer b.Close()
	th := backendtest.NewTheatre(t, b)
	tr := th.Trace(t, "", `cd ../away; for i in {1..1100}; do : > new$i; done 2>/dev/null; chmod 600 file; : > last`)
	if tr.Evidence != sandbox.EvidencePartial || len(tr.Denials) != evidence.MaxDenials+1 {
		t.Errorf("%s, %d denials", tr.Evidence, len(tr.Denials))
	}
	for _, name := range []string{"new1", "new1100", "file", "last"} { // a flood hides nothing that comes later
		if !slices.ContainsFunc(tr.Denials, func(d sandbox.Denial) bool { return filepath.Base(d.Target) == name }) {
			t.Errorf("%s is not recorded", name)
		}
	}
	tr = th.Trace(t, "", `cd ../away; for i in {1..50}; do : > new; done 2>/dev/null; (: > new) 2>/dev/null; :`)
	if len(tr.Denials) != 1 || tr.Denials[0].Count != 51 || tr.Evidence != sandbox.EvidenceFull {
		t.Errorf("%s, %+v", tr.Evidence, tr.Denials)
	}
	tr = th.Trace(t, "", `: > $'../away/\xff\x1b[2J\n'`)
	if len(tr.Denials) != 1 || !strings.HasSuffix(tr.Denials[0].Target, "\xff\x1b[2J\n") || !utf8.ValidString(tr.Denials[0].Program) {
		t.Errorf("%+v", tr.Denials)
	}
}

// TestEvidenceLevels: with less evidence, the same is enforced.
func TestEvidenceLevels(t *testing.T) { backendtest.WithAndWithoutMounts(t, levels) }

func levels(t *testing.T, th *backendtest.Theatre) {
	for level, want := range map[sandbox.EvidenceLevel]int{sandbox.EvidenceFull: 3, sandbox.EvidenceNetworkOnly: 2, sandbox.EvidenceNothing: 2} {
		before := attack.Stat(t, th.Out)
		tr := th.Trace(t, level, protecttest.In(`echo > ../away/file; chmod 777 ../away/file; echo > {shell}; exit 3`))
		if tr.Evidence != level || len(tr.Denials) != want {
			t.Errorf("%s: %s %+v", level, tr.Evidence, tr.Denials)
		}
		if (len(tr.Exits) > 0) != (level != sandbox.EvidenceNothing) {
			t.Errorf("%s: %+v", level, tr.Exits)
		}
		if after := attack.Stat(t, th.Out); after != before {
			t.Errorf("%s: %+v, was %+v", level, after, before)
		}
	}
}
