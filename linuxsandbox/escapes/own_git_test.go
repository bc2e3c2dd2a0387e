//go:build linux

package escapes

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
)

// TestMadeGit: a git directory that the session created is known by its current name, also where a
// folder became one by a rename.
func TestMadeGit(t *testing.T) {
	attack.Need(t, "git")
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		if out, err := exec.Command("git", "init", "-q", th.Dir+"/before").CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		if got := th.Backend.MadeGit(); len(got) > 0 {
			t.Errorf("%q", got)
		}
		out, denials := th.Shell(t, `git init -q a; git init -q --bare b; git init -q c; rm -r c; mv a d; git init -q e; mv e/.git f; mkdir x; touch x/config; mkdir y; mv x y/.git`)
		if len(denials) > 0 {
			t.Fatalf("%s %+v", out, denials)
		}
		var want []string
		for _, name := range []string{"b", "d/.git", "f", "y/.git"} {
			want = append(want, th.Dir+"/"+name)
		}
		if got := th.Backend.MadeGit(); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// TestMadeGitApart: what a program apart created in the same folder, such as an MCP server, is known like
// what a command created: when the program has ended too, and by the name that a command gave it.
func TestMadeGitApart(t *testing.T) {
	attack.Need(t, "git")
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		apart, err := th.Backend.Apart()
		if err != nil {
			t.Fatal(err)
		}
		of := *th
		of.Backend = apart
		if out, denials := of.Shell(t, "git init -q served; git init -q kept"); len(denials) > 0 {
			t.Errorf("%s %+v", out, denials)
		}
		if err := apart.Close(); err != nil {
			t.Error(err)
		}
		if out, denials := th.Shell(t, "mv served moved"); len(denials) > 0 {
			t.Errorf("%s %+v", out, denials)
		}
		if got, want := th.Backend.MadeGit(), []string{th.Dir + "/kept/.git", th.Dir + "/moved/.git"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// TestGitInACache: a cache outlives the session, and a link in a work tree can lead there. So git runs
// nothing in the repositories that commands make in one. Each attack works in another folder.
func TestGitInACache(t *testing.T) {
	attack.Need(t, "git")
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		cache := filepath.Join(filepath.Dir(th.Out), "cache")
		other := filepath.Join(filepath.Dir(th.Out), "other")
		for _, dir := range []string{cache, other} {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			th.Policy.Write = append(th.Policy.Write, sandbox.Root{Path: dir, Cache: dir == cache})
		}
		for name, script := range map[string]string{
			"settings":        `git init -q a; git -C a config core.fsmonitor evil`,
			"a hook":          `git init -q b; echo evil > b/.git/hooks/pre-commit`,
			"a bare one":      `git init -q --bare c; echo evil > c/hooks/pre-receive`,
			"of another name": `mkdir -p d/objects d/refs; printf '[core]\nfsmonitor = evil\n' > d/config; echo "ref: refs/heads/x" > d/HEAD`,
		} {
			const shows = `; grep -rqs evil . && echo lands; rm -rf *`
			if out, denials := th.Shell(t, "cd "+other+"; ("+script+") || true"+shows); !strings.Contains(out, "lands") {
				t.Errorf("%s does not work elsewhere: %s %+v", name, out, denials)
			}
			if out, denials := th.Shell(t, "cd "+cache+"; ("+script+") || true; test ! -e d/HEAD && rm -rf d"+shows); strings.Contains(out, "lands") || len(denials) == 0 {
				t.Errorf("%s: %s %+v", name, out, denials)
			}
		}
		if out, denials := th.Shell(t, "cd "+cache+`; git init -q --bare vcs; git -C vcs remote add origin https://example.com/r; git init -q x; cd x; echo 1 > f; git add f; git -c user.name=x -c user.email=x commit -qm x; echo done`); !strings.HasSuffix(out, "done\n") || len(denials) > 0 {
			t.Errorf("%s %+v", out, denials)
		}
	})
}

// TestMadeGitSettings runs these tests in every setting.
func TestMadeGitSettings(t *testing.T) {
	machine.Turn(t, 0) // outside CI these tests run in this setting
	tests.InSettings(t, "^(TestMadeGit|TestMadeGitApart)$")
}
