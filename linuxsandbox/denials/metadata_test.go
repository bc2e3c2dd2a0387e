//go:build linux

package denials

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/linuxsandbox/filter"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// victim runs TestBrokerVictim in the sandbox.
func victim(t *testing.T, th *backendtest.Theatre, what, target string) (string, []sandbox.Denial) {
	t.Helper()
	return th.Confined(t, sandbox.Command{Path: th.Binary, Args: []string{"victim", brokerVictimArg}, Env: th.Env(what, target)})
}

func errnos(t *testing.T, out string) map[string]syscall.Errno {
	t.Helper()
	got := map[string]syscall.Errno{}
	for line := range strings.Lines(out) {
		if name, n, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			errno, err := strconv.Atoi(n)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			got[name] = syscall.Errno(errno)
		}
	}
	return got
}

// TestMetadata (E18, E22, E6): every call that changes metadata works on a file in the workspace.
// On one outside it works only without the sandbox.
func TestMetadata(t *testing.T) { backendtest.WithAndWithoutMounts(t, changesMetadata) }

func changesMetadata(t *testing.T, th *backendtest.Theatre) {
	bare := exec.Command(th.Binary, brokerVictimArg)
	bare.Env, bare.Dir = th.Env("metadata", th.Out), th.Dir
	text, err := bare.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	free := errnos(t, string(text))
	text2, denials := victim(t, th, "metadata", th.In)
	inside := errnos(t, text2)
	if len(denials) > 0 {
		t.Errorf("inside: %+v", denials)
	}
	before := attack.Stat(t, th.Out)
	text2, denials = victim(t, th, "metadata", th.Out)
	outside := errnos(t, text2)
	if after := attack.Stat(t, th.Out); after != before {
		t.Errorf("the file outside was changed: %+v %+v", before, after)
	}
	for _, a := range metadataAttempts {
		got, told := inside[a.name]
		if free[a.name] != 0 || !told || got != 0 || outside[a.name] != unix.EPERM {
			t.Errorf("uid %d: %s: outside without a sandbox %v, inside %v, outside %v", os.Getuid(), a.name, free[a.name], got, outside[a.name])
		}
	}
	count := 0
	for _, d := range denials {
		count += d.Count
		if d.Target != th.Out || d.Kind != sandbox.KindMetadata || d.Evidence != sandbox.EvidenceKernel || d.Program == "" || d.PID == 0 {
			t.Errorf("recorded %+v", d)
		}
	}
	if count != len(metadataAttempts) {
		t.Errorf("%d refusals recorded, want %d", count, len(metadataAttempts))
	}
	t.Logf("uid %d: %d attempts, each of three kinds", os.Getuid(), len(metadataAttempts))
}

// TestMetadataRace (E18): a path that changes while the broker examines it never makes the broker
// change a file outside.
func TestMetadataRace(t *testing.T) { backendtest.WithAndWithoutMounts(t, racesForMetadata) }

func racesForMetadata(t *testing.T, th *backendtest.Theatre) {
	before := attack.Stat(t, th.Out)
	_, denials := victim(t, th, "race", th.Out)
	if after := attack.Stat(t, th.Out); after != before {
		t.Errorf("the file outside was changed: %+v %+v", before, after)
	}
	refused := 0
	for _, d := range denials {
		refused += d.Count
	}
	if refused == 0 || attack.Stat(t, th.In).Mode&0o777 != 0o777 {
		t.Errorf("both files must have been asked for: %d refusals", refused)
	}
	t.Logf("%d refusals", refused)
}

// TestBrokerStandsWhatHappens: callers that are killed, interrupted, replaced by exec or very many
// neither hang nor stop the broker.
func TestBrokerStandsWhatHappens(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, standsWhatHappens)
}

func standsWhatHappens(t *testing.T, th *backendtest.Theatre) {
	for _, row := range []struct{ name, script, want string }{
		{"killed while asking", `exec 2>/dev/null; for i in 1 2 3 4 5 6 7 8; do (while :; do chmod 600 file; done) & done; sleep 0.05; kill -9 $(jobs -p); wait || true; chmod 640 file; echo alive`, "alive\n"},
		{"a hundred children", `for i in $(seq 100); do chmod 600 file & done; wait; chmod 644 file; stat -c %a file`, "644\n"},
		{"a file that is not there", `chmod 600 nothing 2>&1 | grep -o 'No such file'; chmod 600 file/x 2>&1 | grep -o 'Not a directory'`, "No such file\nNot a directory\n"},
		{"a loop of links", `ln -sfn loop loop; chmod 600 loop 2>&1 | grep -o 'Too many levels'`, "Too many levels\n"},
		{"a folder that is gone", `mkdir gone; cd gone; rmdir ../gone; chmod 755 . ; echo $?`, "0\n"},
		{"a file without a name", `exec 3>gone; rm gone; chmod 611 /proc/self/fd/3 && stat -Lc %a /proc/self/fd/3`, "611\n"},
		{"set-user-id", `chmod 4755 file 2>&1 | grep -o 'not permitted'; mkdir -p d; chmod 2775 d; stat -c %a d`, "not permitted\n2775\n"},
		{"archives", `mkdir -p a/b; echo x > a/b/c; chmod 751 a/b; touch -d 2001-02-03 a/b/c; tar cf t.tar a; rm -r a; tar xpf t.tar; stat -c '%a %y' a/b a/b/c | cut -c1-14 | tail -1; cp -a a a2; diff <(stat -c '%a %Y' a2/b/c) <(stat -c '%a %Y' a/b/c) && echo same`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			out, denials := th.Shell(t, row.script)
			if row.want == "" && !strings.HasSuffix(out, "same\n") || row.want != "" && out != row.want {
				t.Errorf("%q, want %q; %+v", out, row.want, denials)
			}
		})
	}
	t.Run("300 at once", func(t *testing.T) {
		if out, _ := victim(t, th, "many", th.In); out != "asked\n" {
			t.Error(out)
		}
	})
	t.Run("executed over", func(t *testing.T) {
		if out, _ := victim(t, th, "exec", th.In); out != "executed\n" {
			t.Error(out)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		attack.Need(t, "python3")
		out, _ := th.Shell(t, `python3 -c '
import os, signal, time
signal.signal(signal.SIGALRM, lambda *a: None)
signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
done = tried = 0
late = time.time() + 60 # a loaded machine may interrupt very many in a row
while tried < 3000 or not done and time.time() < late:
    tried += 1
    try:
        os.chmod("file", 0o600 + tried % 8); done += 1
    except InterruptedError: pass
signal.setitimer(signal.ITIMER_REAL, 0)
os.chmod("file", 0o651)
print(done > 0, oct(os.stat("file").st_mode & 0o777))'`)
		if out != "True 0o651\n" {
			t.Error(out)
		}
	})
}

// TestBrokerAsUser runs all of these tests for a user without privileges.
func TestBrokerAsUser(t *testing.T) {
	tests.AsUser(t, "^(TestMetadata|TestMetadataRace|TestBrokerStandsWhatHappens)$")
}

// TestNestedHasNoBroker: inside a sandbox with a listener, commands run without a broker, and the
// loss is reported.
func TestNestedHasNoBroker(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestNestedChild$", "-test.v")
	cmd.Env = append(os.Environ(), backendtest.EnvFilter+"=nested")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestNestedChild") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestNestedChild(t *testing.T) {
	if os.Getenv(backendtest.EnvFilter) != "nested" {
		attack.BodyOf(t, "TestNestedHasNoBroker")
	}
	b := backendtest.New(t)
	defer b.Close()
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	prog, err := filter.Program(runtime.GOARCH, filter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Nobody answers this listener, so it must never receive a call.
	silent := []bpf.RawInstruction{{Op: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
	if _, err := filter.Install(prog, false); err != nil {
		t.Fatal(err)
	}
	if _, err := filter.Install(silent, true); err != nil {
		t.Fatal(err)
	}
	ws := os.TempDir()
	e, err := sandboxtest.Enforcement(b, sandbox.WorkspaceWrite(ws))
	if err != nil {
		t.Fatal(err)
	}
	layer := e.Layers[slices.IndexFunc(e.Layers, func(l sandbox.Layer) bool { return l.Name == "notify" })]
	weak := slices.ContainsFunc(e.Weaknesses, func(w sandbox.Weakness) bool { return w.ID == "metadata" })
	if layer.State != sandbox.LayerAbsent || !strings.Contains(layer.Reason, "another sandbox") || !weak {
		t.Errorf("%+v, weakness stated: %v", layer, weak)
	}
	proc, err := sandboxtest.Start(b, t.Context(), sandbox.WorkspaceWrite(ws), sandbox.Command{
		Path: "/bin/true", Args: []string{"true"}, Dir: ws,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := proc.Wait(); err != nil || st.Exit != 0 {
		t.Errorf("%+v %v", st, err)
	}
}

// TestBrokerLeavesNothing: a command leaves no descriptor and no thread behind.
func TestBrokerLeavesNothing(t *testing.T) { backendtest.WithAndWithoutMounts(t, leavesNothing) }

func leavesNothing(t *testing.T, th *backendtest.Theatre) {
	count := func(dir string) int {
		entries, err := os.ReadDir("/proc/self/" + dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	var files, threads int
	const runs = 12
	for i := range 2 * runs {
		if _, denials := th.Shell(t, "chmod 600 file; chmod 777 ../away/file 2>/dev/null || true"); len(denials) != 1 {
			t.Fatalf("%+v", denials)
		}
		if i == runs-1 {
			files, threads = count("fd"), count("task")
		}
	}
	// A thread that has ended may still be counted for a moment.
	backendtest.WaitFor(t, func() bool { return count("fd") <= files && count("task") < threads+runs/2 },
		fmt.Sprintf("after %d commands there are %d descriptors and %d threads, after %d more they do not become as few again", runs, files, threads, runs))
}
