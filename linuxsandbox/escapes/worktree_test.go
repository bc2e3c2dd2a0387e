//go:build linux

package escapes

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
	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// TestLinkedWorktrees: git works in a linked worktree without a denial that matters, in every
// setting. Files that name programs for git, and files of other worktrees, cannot be written.
func TestLinkedWorktrees(t *testing.T) { tests.InSettings(t, "^TestLinkedWorktreesInSetting$") }

// worktreeRow is a script that runs in the work tree of furnishWorktree. With ok it must
// succeed. Otherwise it must succeed without a sandbox and fail in it.
type worktreeRow struct {
	name, script string
	ok           bool
}

// worktreeKinds make a work tree "tree" on the branch tree, whose git directory is elsewhere.
var worktreeKinds = map[string]string{
	"linked": `git init -q repo; cd repo; echo 1 > a; git add a; git commit -qm one; git worktree add -q ../tree; git worktree add -q ../second`,
	"submodule": `git init -q lib; cd lib; echo 1 > a; git add a; git commit -qm one; cd ..; git init -q .; git config user.name s
for m in tree second; do git -c protocol.file.allow=always submodule --quiet add ./lib $m; done; git commit -qm super; git -C tree switch -qc tree`,
	"separate": `git init -q --separate-git-dir sep tree; cd tree; git config core.worktree "$PWD"; echo 1 > a; git add a; git commit -qm one; git switch -qc tree`,
}

// submoduleRows are for the kind submodule.
var submoduleRows = []worktreeRow{
	{"a hook", `echo x > ../.git/modules/tree/hooks/pre-commit`, false},
	{"hooks moved away", `mv ../.git/modules/tree/hooks ../.git/modules/tree/h; mkdir ../.git/modules/tree/hooks`, false},
	{"its configuration", `git config core.fsmonitor evil`, false},
	{"its configuration, renamed", `cp ../.git/modules/tree/config c; mv c ../.git/modules/tree/config`, false},
	{"the configuration of its work tree", `echo "[core]" > ../.git/modules/tree/config.worktree`, false},
	{"where its repository is", `echo /nowhere > ../.git/modules/tree/commondir`, false},
	{"a repository in it", `git init -q n; git init -q --bare ../.git/modules/tree/modules/n; echo "[core]" >> ../.git/modules/tree/modules/n/config`, false},
	{"the .git file", `echo "gitdir: ../.git" > .git`, false},
	{"its git directory moved away", `mv ../.git/modules/tree ../.git/modules/gone`, false},
	{"the superproject's configuration", `git -C .. config core.fsmonitor evil`, false},
	{"a hook of the superproject", `echo x > ../.git/hooks/pre-commit`, false},
	{"the superproject's HEAD", `echo x > ../.git/HEAD`, false},
	{"the superproject's index", `echo 1 > ../b; git -C .. add b`, false},
	{"the superproject's objects", `echo x > ../.git/objects/x`, false},
	{"the superproject's refs", `git -C .. branch x`, false},
	{"another submodule", `echo x > ../.git/modules/second/HEAD`, false},
	{"a new submodule", `mkdir ../.git/modules/new`, false},
	{"a reflog that leads out", `ln -sf "$PWD/../other/o" ../.git/modules/tree/logs/refs/heads/tree`, false},
	{"a message that leads out", `ln -sf "$PWD/../other/o" ../.git/modules/tree/MERGE_MSG`, false},
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
	attack.Need(t, "git")
	attack.CurrentSetting(t, "TestLinkedWorktrees")
	b := backendtest.New(t)
	defer b.Close()
	base, err := os.MkdirTemp(os.Getenv(attack.EnvStage), "worktree")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { attack.RemoveAll(base) })
	sample := machine.Sample(t, 3)
	for kind := range worktreeKinds {
		rows := worktreeRows
		if kind != "linked" { // what works, and its own attacks
			rows = []worktreeRow{rows[0], rows[2]}
		}
		if kind == "submodule" {
			rows = append(rows, submoduleRows...)
		}
		for i, row := range rows {
			if row.ok || sample.Has(i) {
				t.Run(kind+", "+row.name, func(t *testing.T) { runWorktree(t, b, filepath.Join(base, kind+strconv.Itoa(i)), kind, row) })
			}
		}
	}
	t.Run("forged", func(t *testing.T) { forgedWorktree(t, b, filepath.Join(base, "forged")) })
}

func runWorktree(t *testing.T, b *linuxsandbox.Backend, dir, kind string, row worktreeRow) {
	command := []string{"bash", "-eu", "-o", "pipefail", "-c", row.script}
	tree := furnishWorktree(t, dir, kind)
	if !row.ok {
		bare := exec.Command("/bin/bash", command[1:]...)
		bare.Env, bare.Dir = backendtest.JobEnv(dir, dir+"/temp"), tree
		if out, err := bare.CombinedOutput(); err != nil {
			t.Fatalf("does not work without a sandbox: %v\n%s", err, out)
		}
		attack.RemoveAll(dir)
		furnishWorktree(t, dir, kind)
	}
	p := worktreePolicy(t, dir, tree)
	st, out := sandboxtest.Output(t, b, p, sandbox.Command{Path: "/bin/bash", Args: command, Dir: tree, Env: backendtest.JobEnv(dir, dir+"/temp")})
	if (st.Exit == 0) != row.ok {
		t.Errorf("%+v\n%s", st, out)
	}
}

// forgedWorktree: git itself follows a .git file that a command left, and writes to a repository
// that does not belong to the workspace. In the sandbox that repository stays closed.
func forgedWorktree(t *testing.T, b *linuxsandbox.Backend, dir string) {
	const forge = `mkdir -p ws/.x/worktrees/w; cd ws; echo "gitdir: .x/worktrees/w" > .git; cd .x; cp ../../repo/.git/HEAD .; mkdir objects; cd worktrees/w
cp ../../HEAD .; echo "$OLDPWD/../../repo/.git" > commondir; echo "$PWD/../../../.git" > gitdir; cd ../../..; git commit -q --allow-empty -m "$MESSAGE"; git -C ../repo log --oneline -1 main | grep "$MESSAGE"`
	for _, boxed := range []bool{false, true} {
		furnishWorktree(t, dir, "linked")
		tree, env := dir+"/ws", backendtest.JobEnv(dir, dir+"/temp")
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
			st, out := sandboxtest.Output(t, b, p, sandbox.Command{Path: "/bin/bash", Args: []string{"bash", "-c", "git commit -q --allow-empty -m boxed"}, Dir: tree, Env: env})
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

// furnishWorktree makes a work tree of that kind, another repository, and a home folder. It returns the work tree.
func furnishWorktree(t *testing.T, dir, kind string) string {
	t.Helper()
	for _, name := range []string{"temp", "home"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/bin/bash", "-euc", worktreeKinds[kind]+`
cd "$1"; git init -q other; cd other; echo 1 > o; git add o; git commit -qm other`, "-", dir)
	cmd.Dir, cmd.Env = dir, backendtest.JobEnv(dir, dir+"/temp")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "tree")
}
