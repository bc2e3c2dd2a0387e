//go:build linux

package escapes

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
)

// TestClosedGit: git makes repositories below somebody else's work tree. What a program of the owner
// would run in them cannot be made there, and does not get there by a rename. Each attack works
// without the sandbox. Outside CI this is a sample.
func TestClosedGit(t *testing.T) {
	attack.Need(t, "git")
	const owner = `cd "$1"; rm -rf own; git init -q own; cd own; git config user.name o; git config user.email o@example; echo 1 > a; git add a; git commit -qm one; git init -q nested; : > nested/.git/index.lock; mkdir nested/.git/rebase-merge; : > nested/.git/rebase-merge/git-rebase-todo.lock; `
	// A hook or setting that the owner's git would take is printed.
	const shows = `
git checkout-index -a -f 2>/dev/null
for d in . .git nested/.git .git/modules/* .git/worktrees/* sub sub/.git; do cat $d/hooks/pre-commit $d/hooks/post-checkout $d/config $d/config.lock $d/config.worktree $d/commondir $d/index.lock 2>/dev/null | grep -e evil -e "hooksPath =" -e "worktree =" -e promisor; cat $d/MERGE_RR $d/rebase-merge/git-rebase-todo $d/rebase-merge/git-rebase-todo.lock $d/rebase-merge/strategy $d/rebase-apply/apply-opt $d/sequencer/opts 2>/dev/null | grep -a -e evil; done; true`
	const (
		stopped = `GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -i --root >/dev/null 2>&1; `
		two     = `git config user.name >/dev/null; for i in 2 3; do echo $i > f$i; git add f$i; git commit -qm $i; done; `
	)
	const evilIndex = `mkdir -p .hit/hooks; echo evil > .hit/hooks/post-checkout; git add .hit; LC_ALL=C sed 's/\.hit.hooks/.git\/hooks/' .git/index > e; rm -r .hit; `
	sample := machine.Sample(t, 6)
	for i, row := range []struct {
		name, script string
		ok           bool
	}{
		{"init, commit and settings", `git init -q sub; cd sub; git config user.name x; git config user.email x@y; git remote add origin https://example.com/r; echo 1 > f; git add f; git commit -qm one; git branch x; git stash list; git gc -q; cd ..; rm -rf sub`, true},
		{"clone", `git clone -q . sub; git -C sub fetch -q; git clone -q --bare . bare`, true},
		{"worktree", `git worktree add -q w; cd w; echo 2 > b; git add b; git -c user.name=x -c user.email=x@y commit -qm two; cd ..; git worktree list; test "$(cat .git/worktrees/w/commondir)" = ../..; git worktree remove -f w`, true},
		{"worktree of its own repository", `git clone -q . sub; cd sub; git worktree add -q ../w2; git -C ../w2 status; git config extensions.worktreeConfig true`, true},
		{"submodule's repository", `mkdir .git/modules; git clone -q --separate-git-dir .git/modules/m . m; git -C m status; git -C m config core.worktree ../../../m`, true},
		{"a branch that follows another", `git branch -q o; git checkout -q --track -b t o; git rev-parse --abbrev-ref HEAD | grep -qx t`, true},
		{"a rebase with an edit in place", two + `git branch k; { git log --format="pick %h" -1 k~1; git log --format="drop %h" -1; } > t
for e in 'cp t' 'python3 -c "import sys; open(sys.argv[1], \"w\").write(open(\"t\").read())"' 'f() { cat t > "$1"; }; f' 'f() { printf "" > "$1"; cat t >> "$1"; }; f' 'f() { dd status=none if=t of="$1"; }; f' 'f() { rm "$1"; cat t | tee "$1"; }; f'; do
GIT_SEQUENCE_EDITOR="$e" git rebase -q -i HEAD~2; test "$(git log -1 --format=%s)" = 2; git reset -q --hard k; done`, true},
		{"rebase, cherry-pick and am with options", two + `git rebase -q -X theirs --no-ff HEAD~2; git format-patch -q -2 -o p; git reset -q --hard HEAD~2; git am -q -C1 p/*; git branch k; git reset -q --hard HEAD~2; git cherry-pick -X patience k~1 k >/dev/null
git reset -q --hard HEAD~2; echo 4 > f3; git add f3; git commit -qm 4; ! git -c rerere.enabled=true cherry-pick --strategy=ort k~1 k >/dev/null 2>&1; grep -q ort .git/sequencer/opts; echo 5 > f3; git add f3; GIT_EDITOR=true git -c rerere.enabled=true cherry-pick --continue >/dev/null; GIT_EDITOR=true git revert HEAD HEAD~1 > /dev/null`, true},
		{"sub moved", `git init -q sub; mv sub x; git -C x status; mv x sub`, true},

		{"a hook", `git init -q sub; echo evil > sub/.git/hooks/pre-commit`, false},
		{"a hook by rename", `git init -q sub; echo evil > e; mv e sub/.git/hooks/pre-commit`, false},
		{"a hook by link", `git init -q sub; echo evil > e; ln e sub/.git/hooks/pre-commit`, false},
		{"a hook by exchange", `git init -q sub; echo evil > sub/.git/hooks/a.b; mv sub/.git/hooks/a.b sub/.git/hooks/pre-commit`, false},
		{"hooks as a link", `git init -q sub; rm -r sub/.git/hooks; mkdir e; echo evil > e/pre-commit; ln -s ../../e sub/.git/hooks`, false},
		{"hooks as a folder moved", `git init -q sub; rm -r sub/.git/hooks; mkdir e; echo evil > e/pre-commit; mv -T e sub/.git/hooks`, false},
		{".git as a folder moved", `mkdir -p sub/e; echo evil > sub/e/config; mv sub/e sub/.git`, false},
		{".git as a link", `mkdir -p sub e; echo evil > e/config; ln -s ../e sub/.git`, false},
		{"settings", `git init -q sub; git -C sub config core.fsmonitor evil`, false},
		{"settings written", `git init -q sub; printf '[core]\nfsmonitor = evil' > sub/.git/config`, false},
		{"settings included", `git init -q sub; git -C sub config include.path evil`, false},
		{"settings through a descriptor kept", `git init -q sub; cp sub/.git/config sub/.git/config.lock; exec 9>>sub/.git/config.lock; mv sub/.git/config.lock sub/.git/config; printf '[core]\nfsmonitor = evil\n' >&9`, false},
		{"settings through a hard link kept", `git init -q sub; cp sub/.git/config e; ln e f; mv e sub/.git/config; printf '[core]\nfsmonitor = evil\n' >> f`, false},
		{"settings of a module without HEAD", `mkdir -p .git/modules/m; printf '[core]\nfsmonitor = evil' > .git/modules/m/config`, false},
		{"a hook of a module without HEAD", `mkdir -p .git/modules/m/hooks; echo evil > .git/modules/m/hooks/post-checkout`, false},
		{"a hook of a module with HEAD later", `mkdir -p .git/modules/a/b/hooks; echo evil > .git/modules/a/b/hooks/post-checkout; cp .git/HEAD .git/modules/a/b; cp -r .git/modules/a/b .git/modules/m; mv .git/modules/a/b .git/modules/x`, false},
		{"a module as a link", `mkdir -p .git/modules e; printf '[core]\nfsmonitor = evil' > e/config; ln -s ../../e .git/modules/m`, false},
		{"commondir through a descriptor kept", `mkdir -p .git/worktrees/w; exec 9> .git/worktrees/w/commondir; echo ../.. >&9; cp .git/HEAD .git/worktrees/w; echo /evil >&9`, false},
		{"commondir written later", `mkdir -p .git/worktrees/w; echo ../.. > .git/worktrees/w/commondir; cp .git/HEAD .git/worktrees/w; echo /evil > .git/worktrees/w/commondir`, false},
		{"the lock of the owner's settings", `echo evil > .git/config.lock`, false},
		{"the lock of a nested repository's settings", `echo evil > nested/.git/config.lock`, false},
		{"a lock renamed from", `echo evil > e; mv e nested/.git/config.lock`, false},
		{"hooks in a folder named like a switch", `git init -q sub; git -C sub config core.hooksPath on`, false},
		{"a work tree at the owner's hooks", `git init -q sub; git -C sub config core.worktree ../../.git/hooks`, false},
		{"a remote that git fetches from by itself", `git init -q sub; git -C sub config remote.x.promisor true`, false},
		{"beside the owner's .git", `mkdir objects refs; cp .git/HEAD .; echo evil > config`, false},
		{"an index with a path in .git", evilIndex + `mv e .git/index.lock; mv .git/index.lock .git/index`, false},
		{"the same through a link", evilIndex + `ln e f; mv -f f .git/index`, false},
		{"the same by exchange", evilIndex + `python3 -c "import ctypes; ctypes.CDLL(None).renameat2(-100, b'e', -100, b'.git/index', 2)"`, false},
		{"the same written", evilIndex + `cat e > .git/index`, false},
		{"the same in a new file", evilIndex + `rm .git/index; cat e > .git/index`, false},
		{"the same through a descriptor kept", evilIndex + `cp .git/index g; exec 9<>g; mv g .git/index; cat e >&9`, false},
		{"the lock of the owner's settings made, and taken for them", `py='import os,sys; os.close(os.open(".git/config.lock", os.O_CREAT|os.O_EXCL|os.O_WRONLY)); f = open("e", "w"); f.write("evil"); f.close()'; python3 -c "$py"; mv e .git/config.lock; mv .git/config.lock .git/config`, false},
		{"the owner's lock written", `echo evil > nested/.git/index.lock`, false},
		{"the owner's lock replaced", `echo evil > e; mv e nested/.git/index.lock`, false},
		{"the owner's lock made anew", `rm -f nested/.git/index.lock; echo evil > nested/.git/index.lock`, false},
		{"a step that is a program", stopped + `echo exec evil >> .git/rebase-merge/git-rebase-todo`, false},
		{"the same by rename", stopped + `sed -i '$ax evil' .git/rebase-merge/git-rebase-todo`, false},
		{"the same by git", two + `GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i -x evil --root`, false},
		{"the same in a worktree", `git worktree add -q w; cd w; GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -i --root >/dev/null 2>&1; cd ..; echo exec evil >> .git/worktrees/w/rebase-merge/git-rebase-todo`, false},
		{"the same through a descriptor kept", stopped + `exec 9>>.git/rebase-merge/git-rebase-todo; echo noop >&9; mkdir x; echo "exec evil" >&9`, false},
		{"the same through a hard link", stopped + `cd .git/rebase-merge; ln git-rebase-todo ../../e; echo "exec evil" >> ../../e`, false},
		{"the same through the file moved", stopped + `cd .git/rebase-merge; mv git-rebase-todo e; exec 9>>e; mv e git-rebase-todo; echo "exec evil" >&9`, false},
		{"the same by exchange", stopped + `cd .git/rebase-merge; echo exec evil > e; python3 -c "import ctypes; ctypes.CDLL(None).renameat2(-100, b'e', -100, b'git-rebase-todo', 2)"`, false},
		{"the same in a folder moved", `mkdir .git/x; echo exec evil > .git/x/git-rebase-todo; mv .git/x .git/rebase-merge`, false},
		{"the same through a link", `mkdir e; echo exec evil > e/git-rebase-todo; ln -s ../e .git/rebase-merge`, false},
		{"the same in the owner's lock", `echo exec evil > nested/.git/rebase-merge/git-rebase-todo.lock`, false},
		{"a strategy that is a program", stopped + `echo evil > .git/rebase-merge/strategy`, false},
		{"a strategy of a cherry-pick", `mkdir .git/sequencer; git config -f .git/sequencer/opts options.strategy evil`, false},
		{"an option of am that names a file", `mkdir .git/rebase-apply; echo " '--build-fake-ancestor=evil'" > .git/rebase-apply/apply-opt`, false},
		{"a path of rerere outside", `printf '%040d\t../evil\0' 1 > e; mv e .git/MERGE_RR`, false},
		{"commondir moved there", `mkdir -p .git/worktrees/w; echo /evil > e; mv e .git/worktrees/w/commondir`, false},
	} {
		if !sample.Has(i) {
			continue
		}
		t.Run(row.name, func(t *testing.T) {
			backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
				furnish := func() {
					if out, err := exec.Command("/bin/bash", "-euc", owner, "-", th.Dir).CombinedOutput(); err != nil {
						t.Fatalf("%v %s", err, out)
					}
				}
				evil := func() bool {
					out, err := exec.Command("/bin/bash", "-c", "cd "+th.Dir+"/own; "+shows).Output()
					if err != nil {
						t.Fatal(err)
					}
					return len(out) > 0
				}
				furnish()
				if !row.ok {
					if out, err := exec.Command("/bin/bash", "-euc", "cd "+th.Dir+"/own; "+row.script).CombinedOutput(); err != nil || !evil() {
						t.Fatalf("does not work without a sandbox: %v %s", err, out)
					}
					furnish()
				}
				out, denials := th.Shell(t, "set -eu; cd own; "+row.script+"; echo done")
				// Git goes on where only its settings do not get the name that it wants.
				refused := slices.ContainsFunc(denials, func(d sandbox.Denial) bool { return d.Operation != "rename" || d.Target != th.Dir+"/own/.git/config" })
				if got := strings.HasSuffix(out, "done\n"); row.ok && (!got || refused) {
					t.Errorf("%s %+v", out, denials)
				}
				if evil() {
					t.Errorf("the owner's git takes it: %s %+v", out, denials)
				}
			})
		})
	}
}
