package main

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codeagent/internal/scripted"
)

// gone are ways to lose files, with the words of their results: whatever program it is and
// however the command is written, the sandbox reports each change before it is made.
var gone = []struct{ name, command, deleted, needs string }{
	{"rm", "rm -rf data", "deleted 500 files", ""},
	{"substituted", `sh -c "$(echo rm -rf data)"`, "deleted 500 files", ""},
	{"find", "find data -type f -delete", "deleted 500 files", "find"},
	{"python", `python3 -c 'import shutil; shutil.rmtree("data")'`, "deleted 500 files", "python3"},
	{"git clean", "git clean -qfdx data", "deleted 500 files", "git"},
	{"git reset", "git reset -q --hard", "overwrote 3 files", "git"},
	{"moved first", "mv data elsewhere && rm -rf elsewhere", "deleted 500 files", ""},
	{"replaced", "for f in data/1*; do echo x > $f; done", "overwrote 111 files", ""},
}

// dangerousTree fills the workspace with 500 files that git ignores, and with three tracked
// ones that have changes.
func dangerousTree(t *testing.T, u user) {
	t.Helper()
	script := `mkdir data && i=0 && while [ $i -lt 500 ]; do echo $i > data/$i; i=$((i+1)); done
if command -v git > /dev/null; then
	echo data > .gitignore && echo bin >> .gitignore && git init -q . && for f in a b c; do echo old > $f; done &&
	git add a b c .gitignore && git -c user.name=a -c user.email=a@b commit -qm a && for f in a b c; do echo changed > $f; done
fi`
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = u.work
	cmd.Env = append(os.Environ(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	u.owns(t)
}

// owns gives everything in the workspace to u.
func (u user) owns(t *testing.T) {
	t.Helper()
	if u.uid < 0 {
		return
	}
	err := filepath.WalkDir(u.work, func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, u.uid, u.uid)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// worktree is treeOf without what git keeps for itself.
func worktree(t *testing.T, u user) map[string]string {
	t.Helper()
	all := treeOf(t, u.work)
	for name := range all {
		if name == "/.git" || strings.HasPrefix(name, "/.git/") {
			delete(all, name)
		}
	}
	return all
}

// TestDangerousInside: what a command deletes or overwrites of files that the session had not
// made is said in its result, once, and undo brings it back.
func TestDangerousInside(t *testing.T) {
	eachUser(t, func(t *testing.T, u user) {
		dangerousTree(t, u)
		was := worktree(t, u)
		for i, g := range gone {
			if os.Getenv("CI") != "true" && i != time.Now().YearDay()%len(gone) {
				continue // each day another one
			}
			t.Run(g.name, func(t *testing.T) {
				if g.needs != "" {
					need(t, g.needs)
				}
				srv, err := scripted.Start(context.Background(), scripted.InOrder(
					scripted.Reply{Calls: []scripted.Call{{Name: "shell", Arguments: arguments("command", "echo x > own && "+g.command+"; rm own")}}}, scripted.Reply{Text: "done"}))
				if err != nil {
					t.Fatal(err)
				}
				defer srv.Close()
				cmd := u.codeagent("exec", "--model", "test", "go")
				cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
				r := run1(t, cmd)
				line := g.deleted + " that this session had not made; /undo brings all of it back"
				if r.code != 0 || strings.Count(r.stderr, line) != 1 {
					t.Errorf("the user does not read %q: %v", line, r)
				}
				requests := srv.Requests()
				messages := requests[len(requests)-1].Messages
				if got := messages[len(messages)-1].Text; strings.Count(got, "[undo] The command "+line+".") != 1 {
					t.Errorf("the model does not read %q:\n%s", line, got)
				}
				if d := differences(was, worktree(t, u)); d == "" {
					t.Error("the command lost nothing")
				}
				if r := run1(t, u.codeagent("undo")); r.code != 0 {
					t.Errorf("undo: %v", r)
				}
				if d := differences(was, worktree(t, u)); d != "" {
					t.Errorf("not as it was:\n%s", d)
				}
			})
		}
	})
}

// TestOwnFilesAreNotDangerous: nothing is said of files that the session made itself, in this
// command or an earlier one.
func TestOwnFilesAreNotDangerous(t *testing.T) {
	u := newUser(t, "self", -1)
	r := u.play(t, "go", scripted.Reply{Calls: []scripted.Call{shellCall("mkdir a b; for i in 1 2 3 4; do echo > a/$i; echo > b/$i; done; rm -r a")}},
		scripted.Reply{Calls: []scripted.Call{shellCall("for i in 1 2 3 4; do echo x > b/$i; done; rm -r b")}}, scripted.Reply{Text: "done"})
	if r.code != 0 || strings.Contains(r.stdout+r.stderr, "/undo") {
		t.Errorf("%v", r)
	}
	if _, err := os.Lstat(u.work + "/b"); err == nil {
		t.Error("b was not deleted")
	}
}
