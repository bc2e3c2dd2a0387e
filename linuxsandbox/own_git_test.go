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

// TestMadeGitApart: what a program apart created in the same folder, such as an MCP server, is known like
// what a command created: when the program has ended too, and by the name that a command gave it.
func TestMadeGitApart(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		missing(t, "git")
	}
	withAndWithoutMounts(t, func(t *testing.T, th *theatre) {
		apart, err := th.b.Apart()
		if err != nil {
			t.Fatal(err)
		}
		of := *th
		of.b = apart
		if out, denials := of.shell(t, "git init -q served; git init -q kept"); len(denials) > 0 {
			t.Errorf("%s %+v", out, denials)
		}
		if err := apart.Close(); err != nil {
			t.Error(err)
		}
		if out, denials := th.shell(t, "mv served moved"); len(denials) > 0 {
			t.Errorf("%s %+v", out, denials)
		}
		if got, want := th.b.MadeGit(), []string{th.dir + "/kept/.git", th.dir + "/moved/.git"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
