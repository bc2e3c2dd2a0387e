//go:build linux

package linuxsandbox

import (
	"os/exec"
	"slices"
	"testing"
)

// TestMadeGit: a git directory that the session created is known by its current name, also where a
// folder became one by a rename.
func TestMadeGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		missing(t, "git")
	}
	withAndWithoutMounts(t, func(t *testing.T, th *theatre) {
		if out, err := exec.Command("git", "init", "-q", th.dir+"/before").CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		if got := th.b.MadeGit(); len(got) > 0 {
			t.Errorf("%q", got)
		}
		out, denials := th.shell(t, `git init -q a; git init -q --bare b; git init -q c; rm -r c; mv a d; git init -q e; mv e/.git f; mkdir x; touch x/config; mkdir y; mv x y/.git`)
		if len(denials) > 0 {
			t.Fatalf("%s %+v", out, denials)
		}
		var want []string
		for _, name := range []string{"b", "d/.git", "f", "y/.git"} {
			want = append(want, th.dir+"/"+name)
		}
		if got := th.b.MadeGit(); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
