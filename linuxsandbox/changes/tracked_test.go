//go:build linux

package changes

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	runner "codeagent/exec"
	"codeagent/gitrun"
	"codeagent/internal/attack"
	"codeagent/internal/git"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/protect/protecttest"
)

// trackedRow is a script in the owner's work tree. With ok it must succeed without a denial; otherwise it must do
// harm without the sandbox and none in it.
type trackedRow struct {
	name, script string
	ok           bool
	// unwritten are the files with protected names, and their contents, that the script checks out, and that are not
	// there. The script itself succeeds.
	unwritten string
}

// clean: git sees no difference, and the shell file has the content of $1.
const clean = `clean() { test -z "$(git status --porcelain)"; test "$(cat {shell})" = "$1"; }; `

// opens makes the file named by its first argument as git does.
const opens = `: > .git/index.lock; open() { python3 -c 'import mmap, os, sys, threading, time
path = sys.argv[1]
fd = os.open(path, os.O_RDWR|os.O_CREAT|os.O_EXCL)
'"$2" "$1"; }; rm -f {shell}; `

var trackedRows = []trackedRow{
	{"switch and back", clean + `git switch -q old; clean 1; test "$(cat {agent2}/deep/x)" = 1; test -x {agent2}/deep/x; git switch -q main; clean "1
2"; test ! -e {agent2}`, true, ""},
	{"merge, checkout, stash, reset and restore", clean + `git merge -q origin/main; clean 3; rm {shell} {editor}; git checkout -q -- .; clean 3; echo x >> a; git rm -q {shell}; git stash -q; clean 3; git stash pop -q; test ! -e {shell}
git reset -q --hard; clean 3; git restore -s old {shell} {editor}; test "$(cat {shell} {editor})" = "1
1"; git reset -q --hard HEAD~1`, true, ""},
	{"a worktree below", `git worktree add -q wt old; cd wt; ` + clean + `clean 1; git switch -q --detach main; test ! -e {agent2}; git switch -q old; clean 1; cd ..; git worktree remove wt`, true, ""},
	{"a clone below", `git clone -q . wt; cd wt; ` + clean + `clean "1
2"; git switch -q old; clean 1; git worktree add -q ../wt2 -b third`, true, ""},
	{"clones, repositories and worktrees of its own", `cd ..; git clone -q own cl; cd cl; ` + clean + `git switch -q old; clean 1; echo evil > {shell}; mkdir -p {agent}; echo evil > {agent}/x; cd ../own; git worktree add -q ../wt2 old; cd ../wt2; clean 1; echo mine > {shell}; mkdir ../n; git init -q ../n; echo evil > ../n/{shell}`, true, ""},

	{"line ends of core.autocrlf", clean + `printf '[core]\nautocrlf = true\n' >> "$HOME/.gitconfig"; git switch -q old; test "$(od -c {shell} | grep -c '\\r')" = 1; git switch -q main; git switch -q old; test -z "$(git status --porcelain)"`, true, ""},

	{"a mode that no commit has", opens + `open {shell} 'os.write(fd, b"1\n")'`, false, ""},
	{"content that was never committed", `rm {shell}; echo evil > {shell}`, false, ""},
	{"the same as git makes it", opens + `open {shell} 'os.write(fd, b"evil")'`, false, ""},
	{"more than a version", opens + `open {shell} 'os.write(fd, b"1\n2\nevil")'`, false, ""},
	{"content committed in the session", `b=$(echo evil | git hash-object -w --stdin); git update-index --cacheinfo 100644,$b,{shell}; git commit -qm evil; rm {shell}; git checkout -q -- {shell}`, false, ""},
	{"content of another path", `rm {shell}; cp docs/evil {shell}`, false, ""},
	{"content of the name in another folder", `rm {shell}; cp docs/{shell} {shell}`, false, ""},
	{"a folder moved there meanwhile", opens + `rm docs/{editor}; rm -r {editor/}; open docs/{editor} 'os.write(fd, b"evil"); os.rename("docs/{editor/}", "{editor/}")'`, false, ""},
	{"a descriptor opened again", opens + `open {shell} 'os.write(fd, b"1\n"); again = os.open("/proc/self/fd/%d" % fd, os.O_RDONLY); os.close(fd)
while not os.path.exists(path): time.sleep(.001)
os.write(os.open("/proc/self/fd/%d" % again, os.O_RDWR), b"evil")'`, false, ""},
	{"a mapping", opens + `open {shell} 'os.write(fd, b"1\n  "); m = mmap.mmap(fd, 4); os.close(fd); m[0:4] = b"evil"'`, false, ""},
	{"content that is swapped", opens + `open {shell} 'os.write(fd, b"evil"); os.ftruncate(fd, 4)
for i in range(2000): os.pwrite(fd, (b"1\n1\n", b"evil")[i % 2], 0); os.ftruncate(fd, (2, 4)[i % 2])'`, false, ""},
	{"a link", `rm {editor}; ln -s ../docs/evil {editor}`, false, ""},
	{"a link in place of the folder", `rm -r {editor/}; mkdir e; echo evil > e/{/editor}; ln -s e {editor/}`, false, ""},
	{"a hard link", `rm {shell}; ln docs/evil {shell}`, false, ""},
	{"a rename", `rm {shell}; mv docs/evil {shell}`, false, ""},
	{"a written file", `echo evil > {shell}`, false, ""},
	{"a hook", opens + `open .git/hooks/pre-commit 'os.write(fd, b"evil")'; cp docs/evil .git/hooks/post-checkout`, false, ""},
	{"a worktree of the same", `git worktree add -q wt old; cp docs/evil wt/{shell}`, false, ""},
	{"other content in a clone below", `git clone -q . wt; echo evil > wt/{shell}`, false, ""},
	{"a clone of something else", `git init -q o; b=$(echo evil | git -C o hash-object -w --stdin); git -C o update-index --add --cacheinfo 100644,$b,{shell}; git -C o commit -qm evil; git clone -q o wt`, false, ""},
	{"a repository made at the top of a folder that was there", `cd docs/empty; git init -q .; echo evil > {shell}`, false, ""},
	{"a repository of its own in place of another folder", `cd ..; mkdir n; git init -q n; mv plain p2; mv n plain; echo evil > plain/{shell}`, false, ""},
	{"content that cannot be brought back", `rm owners/{shell}`, false, ""},
	{"a repository in place of the history", `mkdir n; git -C n init -q; mv n/.git wt; mv wt n/.git; cp docs/evil n/{shell}`, false, ""},
	// git does not compare what is in the store with its name: the commit of old gets another tree.
	{"a forged store", `b=$(echo evil | git hash-object -w --stdin); t=$(git rev-parse old^{tree}); f=.git/objects/${t:0:2}/${t:2}; rm -f $f
python3 -c 'import sys, zlib; b = bytes.fromhex(sys.argv[1]); t = b"100644 {shell}\0" + b; open(sys.argv[2], "wb").write(zlib.compress(b"tree %d\0" % len(t) + t))' $b $f; rm {shell}; git checkout -q old -- {shell}`, false, ""},

	// The commits of the branch unseen are not those of HEAD or its upstream.
	{"switch to what was never seen", `git switch -q unseen; test "$(cat a)" = b`, false, theUnseen},
	{"merge it", `git merge -q unseen; test "$(cat a)" = b`, false, theUnseen},
	{"a worktree of it", `git worktree add -q wt unseen; test "$(cat wt/a)" = b`, false, inWt(theUnseen)},
	{"a clone of it", `git clone -q -b unseen . wt; test "$(cat wt/a)" = b`, false, inWt(theUnseen)},
	{"a file of it", `git checkout -q unseen -- {shell}`, false, "{shell} 1\n2\nevil"},
	{"restore, cherry-pick and stash", `git restore -s unseen {editor}; git reset -q --hard; git cherry-pick -n unseen; git stash -q; git stash pop -q; git reset -q --hard; git restore -s unseen {shell}`, false, "{shell} 1\n2\nevil"},
	{"rebase onto it", `git switch -qc mine; echo m > m; git add m; git commit -qm m; git rebase -q unseen; test "$(cat a m)" = "b
m"`, false, theUnseen},
	{"another program that holds the lock", `: > .git/index.lock; rm {shell}; cp docs/evil {shell}`, false, "{shell} evil\n"},
	{"more than one operation", clean + `git switch -q unseen; git switch -q main; clean "1
2"; git checkout -q unseen -- {editor}`, false, "{editor} 1\n2\nevil"},
}

const theUnseen = "{agent2}/deep/x evil\n, {editor} 1\n2\nevil, {shell} 1\n2\nevil"

func inWt(files string) string {
	return "wt/" + strings.ReplaceAll(files, ", ", ", wt/")
}

// TestTracked: a checkout brings back files with protected names that the owner's commits had when the session
// began, and nothing else comes under their names.
func TestTracked(t *testing.T) {
	attack.Need(t, "git")
	made := t.TempDir()
	owner := protecttest.In(`cd "$1"; export HOME="$1"; git config --global init.defaultBranch main; git config --global user.name o; git config --global user.email o@example; git config --global core.editor true; git init -q own; cd own
put() { mkdir -p {editor/}; printf "$1" > {editor}; printf "$1" > {shell}; git add .; git commit -qm "$1"; }
mkdir -p ../plain docs/{editor/} docs/empty {agent2}/deep; echo 1 > {agent2}/deep/x; chmod +x {agent2}/deep/x; echo evil | tee docs/{shell} docs/{editor} > docs/evil; echo a > a; put '1\n'; git branch old; git rm -qr {agent2}; put '1\n2\n'; put '3\n'
git switch -qc unseen HEAD~1; mkdir -p {agent2}/deep; echo evil > {agent2}/deep/x; echo b > a; put '1\n2\nevil'; git switch -q main
git update-ref refs/remotes/origin/main HEAD; git reset -q --hard HEAD~1; git config branch.main.remote origin; git config branch.main.merge refs/heads/main; git config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'
mkdir -p owners docs/empty; echo owners > owners/{shell}; echo owners >> .git/info/exclude`)
	if out, err := exec.Command("/bin/bash", "-euc", owner, "-", made).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	harm := protecttest.In(`cat {editor} {shell} .git/hooks/* wt/{shell} n/{shell} docs/empty/{shell} ../plain/{shell} 2>/dev/null | grep evil; test ! -x {shell} || echo evil; cat owners/{shell} || echo gone; true`)
	sample := machine.Sample(t, 8)
	for i, row := range trackedRows {
		if !row.ok && !sample.Has(i) {
			continue
		}
		t.Run(row.name, func(t *testing.T) {
			backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
				own := filepath.Join(th.Dir, "own")
				furnish := func() {
					if out, err := exec.Command("/bin/sh", "-euc", `cd "$2"; rm -rf own cl n wt wt2 plain p2; cp -a "$1/." .`, "-", made, th.Dir).CombinedOutput(); err != nil {
						t.Fatalf("%v %s", err, out)
					}
				}
				harmed := func() bool {
					out, err := exec.Command("/bin/bash", "-c", "cd "+own+"; "+harm).Output()
					if err != nil {
						t.Fatal(err)
					}
					return string(out) != "owners\n"
				}
				script := "set -eu; cd own; " + protecttest.In(row.script) + "; echo done"
				furnish()
				if !row.ok {
					bare := exec.Command("/bin/bash", "-c", script)
					bare.Dir, bare.Env = th.Dir, th.Env("", "")
					if out, err := bare.CombinedOutput(); err != nil || !harmed() {
						t.Fatalf("does no harm without a sandbox: %v %s", err, out)
					}
					furnish()
				}
				asked := gitrun.New(gitrun.Options{Runner: runner.New(runner.Options{Backend: th.Backend, Files: runner.OS{}}), Program: "/usr/bin/git", Policy: th.Policy})
				of := git.Tree{Top: own, Dirs: []string{own + "/.git"}}
				history := asked.History(own, gitrun.Tips(t.Context(), of))
				out, denials := th.Confined(t, sandbox.Command{
					Path: "bash", Args: []string{"bash", "-c", script}, Env: th.Env("", ""),
					Versions: func(top, name string) (v sandbox.Versions) {
						if top == own {
							v = history.Versions(t.Context(), name)
						}
						return v
					},
				})
				// Some calls of git want no more than to be refused: its settings, and its folder once it seems empty.
				denials = slices.DeleteFunc(denials, func(d sandbox.Denial) bool { return row.ok && git.IsEntry(filepath.Base(d.Target)) })
				if got := strings.HasSuffix(out, "done\n"); row.ok && (!got || len(denials) > 0) {
					t.Errorf("%s %+v", out, denials)
				}
				text, _ := os.ReadFile(filepath.Join(own, protecttest.In("{shell}")))
				var unwritten []string
				for _, d := range denials {
					if d.Unwritten != nil {
						unwritten = append(unwritten, strings.TrimPrefix(d.Target, own+"/")+" "+string(d.Unwritten.Content))
					}
				}
				slices.Sort(unwritten)
				want := strings.Split(protecttest.In(row.unwritten), ", ")
				slices.Sort(want)
				if row.unwritten != "" && (!strings.HasSuffix(out, "done\n") || !slices.Equal(unwritten, want)) {
					t.Errorf("%s unwritten %q, want %q; %+v", out, unwritten, want, denials)
				}
				if harmed() || !row.ok && len(denials) == 0 && string(text) != "1\n" {
					t.Errorf("harm: %v; %s %+v", harmed(), out, denials)
				}
			})
		})
	}
}
