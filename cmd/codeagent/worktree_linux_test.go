//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/scripted"
)

// TestLinkedWorktree: the user makes a worktree with git and starts codeagent in it. Ordinary work
// succeeds without denials. Hooks and configuration stay closed. A .git file that leads to another
// repository opens nothing, and codeagent says so.
func TestLinkedWorktree(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		dir := filepath.Join(u.work, "p")
		git := func(script string) {
			t.Helper()
			cmd := u.asUser("bash", "-euc", script)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
		}
		git(`git config --global user.name u; git config --global user.email u@example.org; mkdir p; cd p; git init -q repo; cd repo; echo 1 > a; git add a; git commit -qm one
git worktree add -q ../tree; mkdir ../tree/sub; git init -q ../other; cd ../other; git commit -q --allow-empty -m other`)
		r := u.sandboxed(t, `set -eu; cd `+dir+`/tree; echo 2 > b; git add b; git commit -qm b; git switch -qc side HEAD~1; echo 3 > c; git add c; git stash -q; git stash pop -q
git commit -qm c; git rebase -q tree; git fetch -q ../other; git -c repack.updateServerInfo=false gc -q; git log --format=%s`, "--cd", dir+"/tree")
		if r.code != 0 || r.stdout != "c\nb\none\n" || len(r.report.Denials) > 0 || strings.Contains(r.stderr, "worktree") {
			t.Errorf("%v\n%+v", r, r.report.Denials)
		}
		for _, script := range []string{
			`cd ` + dir + `/tree; git config core.fsmonitor evil`,
			`echo x > ` + dir + `/repo/.git/hooks/pre-commit`,
			`ln -sf ` + u.home + `/.absent ` + dir + `/repo/.git/packed-refs`,
		} {
			if r := u.sandboxed(t, script, "--cd", dir+"/tree"); r.code == 0 || !r.report.Denied {
				t.Errorf("%s: %v", script, r)
			}
		}
		r = u.sandboxed(t, `set -eu; mkdir -p deep; cd deep; echo 5 > e; git add e; git commit -qm e; git rm -q --cached e; git reset -q --soft HEAD~1`, "--cd", dir+"/tree/sub")
		if r.code != 0 || len(r.report.Denials) > 0 {
			t.Errorf("in a subfolder: %v\n%+v", r, r.report.Denials)
		}
		git(`rm -r p/tree/sub`)
		// A turn commits. The user makes a branch of it in another worktree, and undoes the turn.
		srv := serve(t, scripted.Reply{Calls: []scripted.Call{shellCall("echo 4 > d && git add d && git commit -qm d")}}, scripted.Reply{Text: "done"})
		cmd := u.codeagent("exec", "--cd", dir+"/tree", "--model", "test", "commit")
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
		if r := run1(t, cmd); r.code != 0 || strings.Contains(r.stderr, "refused") {
			t.Errorf("commit: %v", r)
		}
		git(`cd p/repo; git branch taken side; git -C ../tree log --format=%s -1 | grep -q d`)
		if r := run1(t, u.codeagent("undo", "--cd", dir+"/tree")); r.code != 0 {
			t.Errorf("undo: %v", r)
		}
		git(`cd p/repo; git fsck --strict; test "$(git log --format=%s -1 taken)" = d; test "$(git log --format=%s -1 side)" = c; cd ../tree; test -z "$(git status --short)"; ! test -e d`)
		git(`mkdir p/forged; cp p/tree/.git p/forged/.git`)
		r = u.sandboxed(t, `cd `+dir+`/forged; git commit -q --allow-empty -m forged`, "--cd", dir+"/forged")
		if r.code == 0 || !r.report.Denied || !strings.Contains(r.stderr, "its repository stays read-only") {
			t.Errorf("forged: %v", r)
		}
		if log, err := os.ReadFile(dir + "/repo/.git/logs/refs/heads/side"); err != nil || strings.Contains(string(log), "forged") {
			t.Errorf("%v %s", err, log)
		}
	})
}
