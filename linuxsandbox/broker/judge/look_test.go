//go:build linux

package judge

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// TestLookThrough: a large folder is looked through without the lock. The look is valid until
// something is made or moved in the folder or above it.
func TestLookThrough(t *testing.T) {
	ws := t.TempDir()
	big := filepath.Join(ws, "big")
	fill(t, big, lookHeld+10)
	fill(t, filepath.Join(ws, "small"), lookHeld-10)
	p := sandboxtest.Resolved(sandbox.WorkspaceWrite(ws))
	newJudge := func() *Judge {
		j, _ := New(Options{Policy: p, Protection: PlanProtection(p, []string{ws}, nil), Files: new(Files), Walk: new(pathwalk.Walker)})
		return j
	}
	dir, err := unix.Open(ws, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	spot := func(name string) pathwalk.Spot { return pathwalk.Spot{Dir: dir, Last: name, Path: ws} }
	through := func(j *Judge, name, found string, want error) {
		t.Helper()
		if got, err := j.lookThrough(spot(name), filepath.Join(ws, name)); got != found || err != want {
			t.Errorf("%s: %q, %v; want %q, %v", name, got, err, found, want)
		}
	}
	j := newJudge()
	through(j, "small", "", nil)
	for round, change := range []struct {
		path  string
		holds bool
	}{{filepath.Join(ws, "elsewhere"), true}, {big + "ger", true}, {filepath.Join(big, "1"), false}, {ws, false}} {
		j = newJudge()
		through(j, "big", "", errTooMany)
		j.MakeLooks()
		through(j, "big", "", nil)
		j.Changed(change.path)
		want := error(nil)
		if !change.holds {
			want = errTooMany
		}
		through(j, "big", "", want)
		if j.ForgetLooks(); len(j.looks.due) > 0 {
			t.Errorf("round %d: due", round)
		}
	}
	j = newJudge()
	for range lookRounds {
		through(j, "big", "", errTooMany)
		j.MakeLooks()
		j.Changed(filepath.Join(big, "x"))
	}
	through(j, "big", "", nil) // under the lock
	if err := os.Mkdir(filepath.Join(big, "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(big, "deep", ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	found := filepath.Join(big, "deep", ".git")
	through(j, "big", found, nil)
	j = newJudge()
	through(j, "big", "", errTooMany)
	j.MakeLooks()
	through(j, "big", found, nil)
	for range maxChanges + 1 {
		j.Changed("/elsewhere")
	}
	through(j, "big", "", errTooMany)
	j.ForgetLooks()
}

// fill makes a folder with that many files.
func fill(t *testing.T, dir string, files int) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
