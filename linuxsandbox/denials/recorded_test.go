//go:build linux

package denials

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
)

// recordedRows are refusals that the kernel or the filter could answer without the broker. Each is recorded, or
// the evidence is partial. Of want a word is the kind of a denial and a part of its target. AWAY, HOST and SETUID are filled in.
var recordedRows = []struct {
	name, script string
	mounts       bool // the row is about the command's own mounts
	want         []string
}{
	// A read-only mount answers.
	{"probe of a folder", `test -w AWAY`, true, []string{"write AWAY"}},
	{"probe of a file", `[ -w AWAY/file ]`, true, []string{"write AWAY/file"}},
	{"probe by a link", `ln -s AWAY/file l; test -w l`, true, []string{"write AWAY/file"}},
	{"probe from inside", `cd AWAY; test -w ./file`, true, []string{"write AWAY/file"}},
	{"probe by access(2)", `python3 -c 'import os; os._exit(not os.access("AWAY/file", os.W_OK | os.R_OK))'`, true, []string{"write AWAY/file"}},
	{"probe of a folder of /proc", `test -w /proc/self/oom_score_adj`, true, []string{"write oom_score_adj"}},
	{"probe of the workspace", `test -w . && test -w file && ! test -w none && test -r AWAY/file && ! test -x AWAY/file`, false, nil},
	// The filter answers.
	{"netlink", `python3 -c 'import socket; socket.socket(16, 3, 9)'`, false, []string{"network netlink"}},
	{"netlink: device events", `python3 -c 'import socket; socket.socket(16, 2 | 0o2000000, 15)'`, false, []string{"network netlink"}},
	{"vsock", `python3 -c 'import socket; socket.socket(40, 1)'`, false, []string{"network family 40"}},
	{"AF_ALG", `python3 -c 'import socket; socket.socket(38, 5)'`, false, []string{"network family 38"}},
	{"bluetooth", `python3 -c 'import socket; socket.socket(31, 3, 1)'`, false, []string{"network family 31"}},
	{"a family of nobody's", `perl -e 'socket(S, 200, 1, 0) or exit 1'`, false, []string{"network family 200"}},
	{"a pair of datagram sockets", `python3 -c 'import socket; socket.socketpair(1, 2)'`, false, nil},
	{"a pair of datagram sockets by another name", `python3 -c 'import socket; socket.socketpair(1, 3)'`, false, []string{"socket unix datagram"}},
	{"a pair that does not block", `perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_DGRAM | 04000, 0) or exit 1'`, false, nil},
	{"a datagram socket", `python3 -c 'import socket; socket.socket(1, 2)'`, false, nil},
	{"a pair of streams", `python3 -c 'import socket; socket.socketpair()'`, false, nil},
	// Programs run without the privileges that their files give.
	{"a set-user-ID program", `SETUID nobody-here`, false, []string{"capability SETUID"}},
	{"in a pipe", `SETUID nobody-here | cat`, false, []string{"capability SETUID"}},
	{"by a launcher", `env nice SETUID nobody-here`, false, []string{"capability SETUID"}},
	{"by a link to it", `ln -s SETUID su; ./su nobody-here`, false, []string{"capability SETUID"}},
	{"that passes", `SETUID`, false, nil},
	// Signals.
	{"a process outside", `kill HOST`, false, []string{"signal process HOST"}},
	{"whether it lives", `kill -0 HOST`, false, []string{"signal process HOST"}},
	{"by another program", `python3 -c 'import os; os.kill(HOST, 15)'`, false, []string{"signal process HOST"}},
	{"by env's kill", `env kill -HUP HOST`, false, []string{"signal process HOST"}},
	{"opened", `python3 -c 'import os; os.pidfd_open(HOST)'`, false, []string{"signal process HOST"}},
	{"its own number opened", `python3 -c 'import os; os.pidfd_open(os.getpid())'`, false, nil},
	{"one's own processes", `sleep 99 & kill $!; wait $!; kill $!; (exit 3) & wait $!; kill $!; kill $$`, false, nil},
	// The sandbox's own /proc.
	{"oom_score_adj", `echo 500 > /proc/self/oom_score_adj`, true, []string{"write oom_score_adj"}},
	{"another's oom_score_adj", `sleep 99 & echo 500 > /proc/$!/oom_score_adj; kill $!`, true, []string{"write oom_score_adj"}},
	{"memory", `python3 -c 'open("/proc/self/mem", "r+b")'`, true, []string{"write mem"}},
	{"a name", `echo x > /proc/self/comm`, true, []string{"write comm"}},
}

// TestRecorded runs TestRecordedInSetting in every setting.
func TestRecorded(t *testing.T) { tests.InSettings(t, "^TestRecordedInSetting$") }

// TestRecordedInSetting: what the kernel or the filter could refuse alone is recorded, and not as moot.
func TestRecordedInSetting(t *testing.T) {
	b, f := backendtest.InSetting(t, "TestRecorded")
	th := backendtest.NewTheatre(t, b)
	host := exec.Command("sleep", "300")
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = host.Process.Kill()
		_ = host.Wait()
	}()
	fill := strings.NewReplacer("AWAY", filepath.Dir(th.Out), "HOST", strconv.Itoa(host.Process.Pid), "SETUID", attack.SetUIDProgram()).Replace
	for _, row := range recordedRows {
		if row.mounts && !f.Namespaces {
			continue
		}
		t.Run(row.name, func(t *testing.T) {
			tr := th.Trace(t, "", fill(row.script))
			left := slices.Clone(row.want)
			for _, d := range tr.Denials {
				i := slices.IndexFunc(left, func(w string) bool {
					kind, target, _ := strings.Cut(fill(w), " ")
					return string(d.Kind) == kind && strings.Contains(d.Target, target) && !d.Moot
				})
				if i < 0 {
					t.Errorf("not wanted: %+v", d)
				} else {
					left = slices.Delete(left, i, i+1)
				}
			}
			if len(left) > 0 || tr.Evidence != sandbox.EvidenceFull {
				t.Errorf("not recorded: %q; evidence %s; %+v", left, tr.Evidence, tr.Denials)
			}
		})
	}
}
