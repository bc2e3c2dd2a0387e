//go:build linux

package denials

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
)

// TestHeldNamesTheExecutable: a question names the asking executable by the host's path, whatever
// the process calls itself.
func TestHeldNamesTheExecutable(t *testing.T) { backendtest.WithAndWithoutMounts(t, namesExecutables) }

// TestHeldNamesTheExecutableAsUser is the same for a user without privileges.
func TestHeldNamesTheExecutableAsUser(t *testing.T) {
	tests.AsUser(t, "^TestHeldNamesTheExecutable$")
}

const (
	asGit  = `import ctypes; ctypes.CDLL(None).prctl(15, b"git"); open("../away/new", "w")`
	inMem  = `import os; fd = os.memfd_create("git"); os.write(fd, open("/bin/bash", "rb").read()); os.execve(fd, ["git", "-c", ": > ../away/new"], os.environ)`
	bashIn = "cp /bin/bash "
)

func namesExecutables(t *testing.T, th *backendtest.Theatre) {
	bash, err := filepath.EvalSymlinks("/bin/bash")
	if err != nil {
		t.Fatal(err)
	}
	python, err := filepath.EvalSymlinks(attack.Need(t, "python3"))
	if err != nil {
		t.Fatal(err)
	}
	// A shell does not learn of a child that ended before its exec: that child stays a zombie.
	const ended = `! kill -0 $0 || { read -r _ _ state _ </proc/$0/stat && [ "$state" = Z ]; }`
	for _, c := range []struct{ name, script, executable, comm string }{
		{"itself", ": > ../away/new", bash, ""},
		{"a name by prctl", "exec python3 -c '" + asGit + "'", python, "git"},
		{"a script", `printf '#!/bin/bash\n: > ../away/new\n' > tool; chmod +x tool; ./tool`, bash, "tool"},
		{"a copy", bashIn + "git; ./git -c ': > ../away/new'", th.Dir + "/git", ""},
		{"a link", "ln -s /bin/bash link; ./link -c ': > ../away/new'", bash, "link"},
		{"a removed file", bashIn + "gone; ./gone -c 'rm gone; : > ../away/new'", th.Dir + "/gone (deleted)", ""},
		{"a file in memory", "exec python3 -c '" + inMem + "'", "memfd:git", "*"},
		{"the same process again", "python3 -c '" + asGit + "' & exec bash -c ': > ../away/new; until " + ended + "; do :; done' $!", "*", "*"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &backendtest.Asker{Answer: backendtest.No}
			_, out, denials := th.Held(t, a, c.script)
			if len(a.Asked) == 0 || len(denials) == 0 {
				t.Fatalf("%d questions, %d denials, want both: %s", len(a.Asked), len(denials), out)
			}
			for _, d := range append(a.Asked, denials...) {
				if c.executable != "*" && d.Executable != c.executable || c.comm != "*" && d.Comm != c.comm {
					t.Errorf("%q calls itself %q, want %q and %q", d.Executable, d.Comm, c.executable, c.comm)
				}
				if base := filepath.Base(strings.TrimSuffix(d.Executable, " (deleted)")); d.Program != strings.TrimPrefix(base, "memfd:") {
					t.Errorf("the program is %q, the executable %q", d.Program, d.Executable)
				}
			}
		})
	}
	t.Run("a file of its own /tmp", func(t *testing.T) {
		defer func(p sandbox.Policy) { th.Policy = p }(th.Policy)
		th.Policy.Temp = t.TempDir()
		place := "/tmp"
		if !backendtest.Facts(t, th.Backend).Namespaces {
			place = th.Policy.Temp
		}
		a := &backendtest.Asker{Answer: func(_ context.Context, d sandbox.Denial) (sandbox.Grant, bool) {
			have, err := os.ReadFile(d.Executable)
			want, err2 := os.ReadFile(bash)
			if err != nil || err2 != nil || string(have) != string(want) {
				t.Errorf("%q is not what the host has there: %v %v", d.Executable, err, err2)
			}
			return sandbox.Grant{}, false
		}}
		if _, out, _ := th.Held(t, a, bashIn+place+"/tool; "+place+"/tool -c ': > ../away/new'"); len(a.Asked) == 0 {
			t.Errorf("nothing was asked: %s", out)
		}
	})
	t.Run("a file that may not be read", func(t *testing.T) {
		_, out, denials := th.Held(t, &backendtest.Asker{Answer: backendtest.No}, bashIn+"shut; chmod 111 shut; ./shut -c 'touch ../away/new; :'")
		if len(denials) == 0 {
			t.Fatalf("nothing was refused: %s", out)
		}
		// A user with capabilities over the process may examine it, such as the owner of its user
		// namespace.
		chain := denials[len(denials)-1].Chain
		if who := chain[0].Who(); who != sandbox.Unexamined+` (calls itself "shut")` && who != th.Dir+"/shut" {
			t.Errorf("%q", who)
		}
	})
}

// TestCallerCacheKnowsAnotherProgram: the cache notices when the same thread executes another
// program with the same name.
func TestCallerCacheKnowsAnotherProgram(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		_, denials := th.Shell(t, bashIn+`git; : > ../away/one || :; exec -a x ./git -c ': > ../away/two' || :`)
		tr := map[string]string{}
		for _, d := range denials {
			tr[filepath.Base(d.Target)] = d.Program
		}
		if tr["one"] != "bash" || tr["two"] != "git" {
			t.Errorf("%v", tr)
		}
	})
}

// TestExecutableSettings runs these tests in every setting.
func TestExecutableSettings(t *testing.T) {
	machine.Turn(t, 0) // outside CI these tests run in this setting, and some as a user
	tests.InSettings(t, "^(TestHeldNamesTheExecutable|TestCallerCacheKnowsAnotherProgram)$")
}
