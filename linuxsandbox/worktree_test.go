//go:build linux

package linuxsandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"codeagent/config"
	"codeagent/hostfile"
	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/sandbox"
)

// TestLinkedWorktrees: git works in a linked worktree without a denial that matters, in every
// setting. Files that name programs for git, and files of other worktrees, cannot be written.
func TestLinkedWorktrees(t *testing.T) { inSettings(t, "^TestLinkedWorktreesInSetting$") }

// worktreeRow is a script that runs in the linked worktree of furnishWorktree. With ok it must
// succeed. Otherwise it must succeed without a sandbox and fail in it.
type worktreeRow struct {
	name, script string
	ok           bool
}

var worktreeRows = []worktreeRow{
	{"add, commit, amend, stash", `echo 2 > b; git add b; git commit -qm two; echo 3 >> b; git stash -q; git stash pop -q; git commit -qa --amend -m both; test -z "$(git status --short)"; git fsck`, true},
	{"branches, rebase, merge, cherry-pick, reset", `echo f > f; git add f; git commit -qm f; git switch -qc feature HEAD~1; echo g > g; git add g; git commit -qm g; git rebase -q tree
echo h > h; git add h; git commit -qm h; git switch -q tree; git cherry-pick feature > pick; rm pick; git merge -q -m m feature; git reset -q --hard HEAD~1; git tag t; git tag -d t`, true},
	{"fetch, pull and pack", `git fetch -q ../other main; git merge -q --allow-unrelated-histories -m m FETCH_HEAD; git pack-refs --all; git stash list; git repack -qad; git prune; git branch x; git branch -qD x; ! test -e ../repo/.git/packed-refs.lock`, true},
	{"all of git gc", `git reflog expire --expire=now --all; git gc -q; test -z "$(find .. -name 'HEAD.lock' -o -name 'gc.pid')"; git worktree prune; git worktree list; git fsck`, true},
	{"conflict and abort", `echo 1 > c; git add c; git commit -qm c; git switch -qc side HEAD~1; echo 2 > c; git add c; git commit -qm d; ! git rebase tree; git rebase --abort; git reflog > /dev/null`, true},

	{"a hook", `echo x > ../repo/.git/hooks/pre-commit`, false},
	{"a folder in place of the hooks", `mv ../repo/.git/hooks ../repo/.git/gone; mkdir ../repo/.git/hooks`, false},
	{"the configuration", `git config core.fsmonitor evil`, false},
	{"the configuration, by its name", `echo "[core]" >> ../repo/.git/config`, false},
	{"its lock renamed", `cp ../repo/.git/config c; mv c ../repo/.git/config`, false},
	{"the configuration of this worktree", `echo "[core]" >> ../repo/.git/worktrees/tree/config.worktree`, false},
	{"the configuration of the main worktree", `echo "[core]" >> ../repo/.git/config.worktree`, false},
	{"where this worktree's repository is", `echo /nowhere > ../repo/.git/worktrees/tree/commondir`, false},
	{"where this worktree is", `echo /nowhere > ../repo/.git/worktrees/tree/gitdir`, false},
	{"this worktree's folder moved away", `mv ../repo/.git/worktrees/tree ../repo/.git/worktrees/gone`, false},
	{"the .git file", `echo "gitdir: $PWD/x" > .git`, false},
	{"the .git file removed", `rm .git`, false},
	{"attributes", `mkdir -p ../repo/.git/info; echo "* filter=x" > ../repo/.git/info/attributes`, false},
	{"another worktree", `echo x > ../repo/.git/worktrees/second/HEAD`, false},
	{"the main worktree", `echo x > ../repo/.git/HEAD`, false},
	{"a new worktree", `git worktree add -q ../repo/.git/third`, false},
	{"objects of somebody else", `echo "$PWD/../other/.git/objects" > ../repo/.git/objects/info/alternates`, false},
	{"objects of somebody else, by a link", `ln -s "$PWD/alternates" ../repo/.git/objects/info/alternates`, false},
	{"objects of somebody else, in another folder", `mkdir i; echo /x > i/alternates; mv ../repo/.git/objects/info j; mv i ../repo/.git/objects/info`, false},
	{"refs moved away", `mv ../repo/.git/refs ../repo/.git/r; ln -s "$PWD" ../repo/.git/refs`, false},
	{"a reflog that leads out", `mkdir -p ../repo/.git/logs/refs/heads; ln -sf "$PWD/../other/o" ../repo/.git/logs/refs/heads/main`, false},
	{"a message that leads out", `ln -sf "$PWD/../other/o" ../repo/.git/worktrees/tree/MERGE_MSG`, false},
	{"a reflog that leads out, moved there", `ln -s "$PWD/../other/o" l; mv -f l ../repo/.git/worktrees/tree/logs/HEAD`, false},
	{"reflogs that lead out, in a folder", `mkdir d; ln -s "$PWD/../other/o" d/x; python3 -c 'import os; os.rename("d", "../repo/.git/worktrees/tree/logs/d")'`, false},
	{"a ref that leads out", `ln -s "$PWD/../other/.git" ../repo/.git/refs/heads/out; echo x > ../repo/.git/refs/heads/out/config`, false},
	{"packed refs that lead out", `ln -sf "$PWD/../other/o" ../repo/.git/packed-refs`, false},
	{"packed refs that lead out, moved there", `ln -s "$PWD/../other/o" l; mv -f l ../repo/.git/packed-refs`, false},
	{"a list of commits that leads out", `ln -s "$PWD/../other/o" ../repo/.git/shallow`, false},
	{"conflicts that lead out, in a folder", `mkdir d; ln -s "$PWD/../other/o" d/x; mv -T d ../repo/.git/rr-cache`, false},
	{"the repository's files", `echo x > ../repo/a`, false},
}

func TestLinkedWorktreesInSetting(t *testing.T) {
	if _, err := lookIn(jobPath, "git"); err != nil {
		missing(t, "git")
	}
	currentSetting(t, "TestLinkedWorktrees")
	b := newBackend(t)
	defer b.Close()
	base, err := os.MkdirTemp(os.Getenv(envStage), "worktree")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { attack.RemoveAll(base) })
	sample := machine.Sample(t, 3)
	for i, row := range worktreeRows {
		if !row.ok && !sample.Has(i) {
			continue
		}
		t.Run(row.name, func(t *testing.T) {
			dir := filepath.Join(base, strconv.Itoa(i))
			command := []string{"bash", "-eu", "-o", "pipefail", "-c", row.script}
			tree := furnishWorktree(t, dir)
			if !row.ok {
				bare := exec.Command("/bin/bash", command[1:]...)
				bare.Env, bare.Dir = jobEnv(dir, dir+"/temp"), tree
				if out, err := bare.CombinedOutput(); err != nil {
					t.Fatalf("does not work without a sandbox: %v\n%s", err, out)
				}
				attack.RemoveAll(dir)
				furnishWorktree(t, dir)
			}
			p := worktreePolicy(t, dir, tree)
			st, out := run(t, b, p, sandbox.Command{Path: "/bin/bash", Args: command, Dir: tree, Env: jobEnv(dir, dir+"/temp")})
			if (st.Exit == 0) != row.ok {
				t.Errorf("%+v\n%s", st, out)
			}
		})
	}
	t.Run("forged", func(t *testing.T) { forgedWorktree(t, b, filepath.Join(base, "forged")) })
}

// forgedWorktree: git itself follows a .git file that a command left, and writes to a repository
// that does not belong to the workspace. In the sandbox that repository stays closed.
func forgedWorktree(t *testing.T, b *Backend, dir string) {
	const forge = `mkdir -p ws/.x/worktrees/w; cd ws; echo "gitdir: .x/worktrees/w" > .git; cd .x; cp ../../repo/.git/HEAD .; mkdir objects; cd worktrees/w
cp ../../HEAD .; echo "$OLDPWD/../../repo/.git" > commondir; echo "$PWD/../../../.git" > gitdir; cd ../../..; git commit -q --allow-empty -m "$MESSAGE"; git -C ../repo log --oneline -1 main | grep "$MESSAGE"`
	for _, boxed := range []bool{false, true} {
		furnishWorktree(t, dir)
		tree, env := dir+"/ws", jobEnv(dir, dir+"/temp")
		if err := os.Mkdir(tree, 0o755); err != nil {
			t.Fatal(err)
		}
		bare := exec.Command("/bin/bash", "-euc", forge)
		bare.Env, bare.Dir = append(env, "MESSAGE=bare"), dir
		if out, err := bare.CombinedOutput(); err != nil {
			t.Fatalf("does not work without a sandbox: %v\n%s", err, out)
		}
		if boxed {
			p := worktreePolicy(t, dir, tree)
			st, out := run(t, b, p, sandbox.Command{Path: "/bin/bash", Args: []string{"bash", "-c", "git commit -q --allow-empty -m boxed"}, Dir: tree, Env: env})
			log, err := exec.Command("git", "-c", "safe.directory=*", "-C", dir+"/repo", "log", "--format=%s", "main").Output()
			if st.Exit == 0 || err != nil || string(log) != "bare\none\n" {
				t.Errorf("%+v %s\n%v %s", st, out, err, log)
			}
		}
		attack.RemoveAll(dir)
	}
}

// worktreePolicy is the policy of a session that starts in tree with the default settings.
func worktreePolicy(t *testing.T, dir, tree string) sandbox.Policy {
	t.Helper()
	getenv := func(string) string { return "" }
	c, err := config.Load(t.Context(), config.Sources{Workspace: tree, Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	paths, err := config.FindPaths(getenv, filepath.Join(dir, "home"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := config.Policy(c, config.Place{Workspace: tree, Home: filepath.Join(dir, "home"), Paths: paths, Temp: filepath.Join(dir, "temp"), Files: hostfile.OS{}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// furnishWorktree makes a repository with two linked worktrees, another one, and a home folder. It
// returns the first worktree.
func furnishWorktree(t *testing.T, dir string) string {
	t.Helper()
	for _, name := range []string{"temp", "home"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/bin/bash", "-euc", `git init -q repo; cd repo; echo 1 > a; git add a; git commit -qm one; git worktree add -q ../tree; git worktree add -q ../second
git init -q ../other; cd ../other; echo 1 > o; git add o; git commit -qm other`)
	cmd.Dir, cmd.Env = dir, jobEnv(dir, dir+"/temp")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "tree")
}
