//go:build linux

package linuxsandbox

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"codeagent/internal/machine"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// limitRow is a command that reaches a limit, and succeeds without it.
type limitRow struct {
	name   string
	limits sandbox.Limits
	script string
	want   sandbox.Limit // what the backend knows for certain
	signal unix.Signal
	says   string
	notBy0 bool // the kernel exempts root
	slow   bool // uses seconds of processor time: only in CI
}

// The rows for processor time run twice as long as allowed: the limit's clock counts ticks, and on
// a loaded machine it is not exact.
var limitRows = []limitRow{
	{name: "cpu", limits: sandbox.Limits{CPUSeconds: 1}, script: "exec perl -e 'do{@t=times}while($t[0]+$t[1]<2)'", want: sandbox.LimitCPU, signal: unix.SIGXCPU},
	{name: "cpu ignored", limits: sandbox.Limits{CPUSeconds: 1}, script: "trap '' XCPU; exec perl -e 'do{@t=times}while($t[0]+$t[1]<4)'", want: sandbox.LimitCPU, signal: unix.SIGKILL, slow: true},
	{name: "file size", limits: sandbox.Limits{FileSize: 1 << 20}, script: "exec dd if=/dev/zero of=big bs=1M count=2", want: sandbox.LimitFileSize, signal: unix.SIGXFSZ},
	{name: "file size ignored", limits: sandbox.Limits{FileSize: 1 << 20}, script: "trap '' XFSZ; exec dd if=/dev/zero of=big bs=1M count=2", says: "File too large"},
	{name: "memory", limits: sandbox.Limits{Memory: 64 << 20}, script: "exec perl -e '$x=\"a\" x (128<<20); print length $x'", says: "emory"},
	{name: "open files", limits: sandbox.Limits{OpenFiles: 16}, script: "exec perl -e 'for(1..32){open($f[$_],\"<\",\"/dev/null\") or die \"$!\"}'", says: "Too many open files"},
	{name: "processes", limits: sandbox.Limits{Processes: 4}, script: `exec perl -e 'for(1..8){my $p=fork; defined $p or die "$!"; exec "sleep","9" if !$p; push @p,$p} kill 9,@p'`, says: "esource temporarily unavailable", notBy0: true},
}

// userIsEnough reports whether to leave rows that use seconds of processor time to the ordinary
// user, as whom root runs the same rows. Under CI root runs them too.
func userIsEnough() bool { return os.Getuid() == 0 && !machine.Thorough() }

func TestLimits(t *testing.T) {
	b := newBackend(t)
	defer b.Close()
	for _, row := range limitRows {
		switch {
		case row.notBy0 && os.Getuid() == 0:
			t.Logf("not tried in root's run: %s (TestLimitsAsUser does; the weakness says why)", row.name)
			continue
		case row.slow && !machine.Thorough(), row.limits.CPUSeconds > 0 && userIsEnough():
			t.Logf("not tried in short runs: %s (seconds of processor time)", row.name)
			continue
		}
		t.Run(row.name, func(t *testing.T) {
			ws := t.TempDir()
			p := sandbox.WorkspaceWrite(ws)
			cmd := sandbox.Command{Path: "bash", Args: []string{"bash", "-c", row.script}, Dir: ws, Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}}
			st, out := sandboxtest.Output(t, b, p, cmd)
			if st.Exit != 0 || st.Limit != "" {
				t.Fatalf("without the limit: %+v\n%s", st, out)
			}
			p.Limits = row.limits
			st, out = sandboxtest.Output(t, b, p, cmd)
			if st.Limit != row.want || st.Signal != int(row.signal) || !strings.Contains(out, row.says) || st.Exit == 0 {
				t.Errorf("uid %d: %+v, want limit %q, signal %d, words %q\n%s", os.Getuid(), st, row.want, row.signal, row.says, out)
			}
		})
	}
}

// TestLimitsAsUser runs the rows as an ordinary user.
func TestLimitsAsUser(t *testing.T) { tests.AsUser(t, "^TestLimits$") }

// TestNoCoreDumps: no memory image leaves the sandbox, and no command can cause one, not even with
// the core limit that enables a handler on the host.
func TestNoCoreDumps(t *testing.T) {
	b := newBackend(t)
	defer b.Close()
	ws := t.TempDir()
	st, out := sandboxtest.Output(t, b, sandbox.WorkspaceWrite(ws), sandbox.Command{
		Path: "bash", Args: []string{"bash", "-c", "ulimit -c 0; ulimit -c unlimited; prlimit --core=0:0; grep -o 'core file size.*' /proc/self/limits"}, Dir: ws, Env: []string{"PATH=/usr/bin:/bin"},
	})
	var have unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &have); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(out), " ")
	// Without the capability a process cannot raise a hard limit of 0.
	if st.Exit != 0 || got != "core file size 1 1 bytes" && !(have.Max == 0 && got == "core file size 0 0 bytes") {
		t.Errorf("%+v: %q", st, out)
	}
}

// TestOpenFiles: a command begins with room for 1,024 descriptors, and with the limit of open files that
// its caller had, unless the policy has a lower one.
func TestOpenFiles(t *testing.T) {
	b := newBackend(t)
	defer b.Close()
	ws := t.TempDir()
	of := func(most uint64, policy int64, program string, args ...string) string {
		t.Helper()
		b.openFiles = most
		p := sandbox.WorkspaceWrite(ws)
		p.Limits.OpenFiles = policy
		st, out := sandboxtest.Output(t, b, p, sandbox.Command{Path: program, Args: append([]string{program}, args...), Dir: ws, Env: []string{"PATH=/usr/bin:/bin"}})
		if st.Exit != 0 {
			t.Errorf("%s %s: %+v\n%s", program, args, st, out)
		}
		return strings.Join(strings.Fields(out), " ")
	}
	if got := of(0, 0, "grep", "FDSize:", "/proc/self/status"); got != "FDSize: 1024" {
		t.Errorf("room: %s", got)
	}
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil {
		t.Fatal(err)
	}
	all := strconv.FormatUint(own.Max, 10)
	for _, row := range []struct {
		most   uint64
		policy int64
		want   string
	}{{300, 0, "300 " + all}, {300, 200, "200 200"}, {200, 300, "200 300"}, {own.Max + 1, 0, all + " " + all}} {
		if got := of(row.most, row.policy, "bash", "-c", "ulimit -Sn; ulimit -Hn"); got != row.want {
			t.Errorf("codeagent's %d, the policy's %d: %s, want %s", row.most, row.policy, got, row.want)
		}
	}
}
