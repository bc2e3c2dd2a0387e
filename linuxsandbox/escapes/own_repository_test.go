//go:build linux

package escapes

import (
	"os/exec"
	"path"
	"strings"
	"testing"

	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox/protect"
	"codeagent/sandbox/protect/protecttest"
)

// TestOwnRepository: a command writes every file of a repository that it makes, whatever the tool, and
// none of them below a work tree of somebody else. Each attack works without the sandbox.
func TestOwnRepository(t *testing.T) {
	type row struct {
		name, script string
		// shows is how many files an attack leaves where the owner's programs read them; 0: not an attack.
		shows int
	}
	rows := []row{
		{"open, then moved there", `mkdir -p o/{repository/}; echo evil > o/{repository}; mv o f/s`, 1},
		{"moved there, then written", `mkdir -p o/{repository/}; mv o f/s; echo evil > f/s/{repository}`, 1},
		{"exchanged", `mkdir -p o/{repository/} f/s; echo evil > o/{repository}; python3 -c "import ctypes; ctypes.CDLL(None).renameat2(-100, b'o', -100, b'f/s', 2)"`, 1},
		{"linked into the owner's", `mkdir -p o/{repository/}; echo evil > o/{repository}; rm -f f/{repository}; ln o/{repository} f/{repository}`, 1},
		{"a link to it", `mkdir -p o/{repository/} f/s; echo evil > o/{repository}; ln -s ../../o/{repository/} f/s/{repository/}`, 1},
		{"renamed to .git", `mkdir -p f/s/{repository/}/hooks; echo evil > f/s/{repository/}/hooks/pre-commit; mv f/s/{repository/} f/s/.git`, 1},
		{"in the owner's own", `mkdir -p f/{repository/}/store/{repository/}; echo evil > f/{repository/}/store/{repository}`, 1},
		{"the owner's", `echo evil > f/{repository}`, 1},
		{"another protected name in it", `mkdir -p o/{repository/}; echo evil > o/{repository/}/{agent}`, 1},
	}
	made, below, others := row{name: "made"}, row{name: "below another's"}, row{name: "below another tool's"}
	owner := "rm -rf f g o e; mkdir -p f/{repository/}; ! type hg || hg init f/h"
	for _, name := range protect.Names() {
		if folder, _, _ := strings.Cut(name, "/"); protect.IsRepository(folder) {
			makes := func(in string) string { return "mkdir -p " + in + path.Dir(name) + "; echo evil > " + in + name }
			made.script += makes("o/") + "; echo 2 > e; mv e o/" + name + "; "
			below.script += "{ " + makes("f/s/") + "; }; "
			below.shows++
		}
	}
	made.script += "rm -r o"
	for _, folder := range protect.Repositories() {
		in := "g/" + folder + "-/"
		owner += "; mkdir -p " + in + folder
		others.script += "mkdir -p " + in + "d/{repository/}; echo evil > " + in + "d/{repository}; "
		others.shows++
	}
	rows = append(rows, made, below, others)
	if _, err := exec.LookPath("hg"); err == nil {
		rows = append(rows, row{"hg clone", "hg clone -q f/h o; test -s o/.hg/hgrc; cd o; hg status; cd ..; rm -r o", 0})
	}
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		host := func(script string) string {
			out, err := exec.Command("/bin/bash", "-euc", protecttest.In("cd "+th.Dir+"; "+script)).CombinedOutput()
			if err != nil {
				t.Fatalf("without a sandbox: %v %s", err, out)
			}
			return string(out)
		}
		evil := func() int {
			return strings.Count(host("grep -RFl evil f g o/{repository/}/.[a-z]* 2>/dev/null || true"), "\n")
		}
		for _, r := range rows {
			host(owner)
			if r.shows > 0 {
				if host(r.script); evil() != r.shows {
					t.Errorf("%s: %d files are shown", r.name, evil())
				}
				host(owner)
			}
			out, denials := th.Shell(t, map[bool]string{true: "set -e; "}[r.shows == 0]+protecttest.In(r.script)+"; echo done")
			if ok := len(denials) == 0 && strings.HasSuffix(out, "done\n"); ok != (r.shows == 0) || evil() > 0 {
				t.Errorf("%s: %d shown: %s %+v", r.name, evil(), out, denials)
			}
		}
	})
}
