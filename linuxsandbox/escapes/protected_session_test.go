//go:build linux

package escapes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/protect/protecttest"
	"codeagent/sandbox/sandboxtest"
)

// TestProtectedInSession (E10 to E15, E25, E26): repositories that the policy does not name are
// protected wherever they are. Those that the session creates are its own.
func TestProtectedInSession(t *testing.T) { tests.InSettings(t, "^TestProtectedInSessionInSetting$") }

// sessionRow is a script that must fail, or succeed if ok is set, in a workspace of furnishSession.
// Words of protecttest stand for names.
type sessionRow struct {
	name, script string
	ok           bool
	// grant is a file that is a separate write root.
	grant string
}

var sessionRows = []sessionRow{
	{"a hook of an old repository", `echo x > deep/old/.git/hooks/pre-commit`, false, ""},
	{"config of an old repository", `git -C deep/old config core.fsmonitor evil`, false, ""},
	{"its folder of hooks removed", `rm -r deep/old/.git/hooks`, false, ""},
	{"its folder moved away", `mv deep/old/.git deep/old/gone`, false, ""},
	{"an ancestor moved away", `mv deep elsewhere`, false, ""},
	{"an ancestor exchanged", `python3 -c 'import ctypes,sys; r = ctypes.CDLL(None).renameat2(-100, b"deep", -100, b"empty", 2); sys.exit(r != 0)'`, false, ""},
	{"a link in place of .git", `ln -s ../../empty deep/l && python3 -c 'import ctypes,sys; r = ctypes.CDLL(None).renameat2(-100, b"deep/l", -100, b"deep/old/.git", 2); sys.exit(r != 0)'`, false, ""},
	{"what marks it taken away", `rm bare.git/HEAD`, false, ""},
	{"what marks it moved away", `mv bare.git/objects bare.git/o`, false, ""},
	{"a hook of a bare repository", `echo x > bare.git/hooks/post-update`, false, ""},
	{"a bare repository moved away", `mv bare.git b.git`, false, ""},
	{"a .git that is a file", `echo "gitdir: $PWD/empty" > linked/.git`, false, ""},
	{"a .git that is a file, removed", `rm linked/.git`, false, ""},
	{"a .git that is a file, moved with its folder", `mv linked linked2`, false, ""},
	{"a reflog that leads out", `ln -sf "$PWD/empty/x" deep/old/.git/logs/HEAD`, false, ""},
	{"a message of a bare repository that leads out", `ln -s "$PWD/empty/x" bare.git/MERGE_MSG`, false, ""},
	{"a reflog that leads out, moved there", `ln -s "$PWD/empty/x" l && mv -f l deep/old/.git/logs/HEAD`, false, ""},
	{"a reflog that leads out, exchanged", `ln -s "$PWD/empty/x" l && python3 -c 'import ctypes,sys; r = ctypes.CDLL(None).renameat2(-100, b"l", -100, b"deep/old/.git/logs/HEAD", 2); sys.exit(r != 0)'`, false, ""},
	{"a reflog that leads out, by a second name of a link", `ln -s "$PWD/empty/x" l && ln -P l deep/old/.git/ORIG_HEAD`, false, ""},
	{"reflogs that lead out, in a folder", `mkdir o && ln -s "$PWD/empty/x" o/x && mv o deep/old/.git/logs/o`, false, ""},
	{"reflogs that lead out, in a folder of modules", `mkdir -p deep/old/.git/modules/o && ln -s "$PWD/empty/x" deep/old/.git/modules/o/x && mv deep/old/.git/modules/o deep/old/.git/logs/o`, false, ""},
	{"config through a second name", `ln deep/old/.git/config c && echo evil >> c`, false, ""},
	{"a temporary file as a hook", `python3 -c '
import ctypes, os, sys
fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o777)
sys.exit(ctypes.CDLL(None).linkat(-100, b"/proc/self/fd/%d" % fd, -100, b"deep/old/.git/hooks/pre-push", 0x400) != 0)'`, false, ""},
	{"a folder with a protected name, from the temporary files", `mkdir -p "$TMPDIR/d/{agent}" && python3 -c 'import os; os.rename(os.environ["TMPDIR"] + "/d", "d")'`, false, ""},
	{"the same by mv", `mkdir -p "$TMPDIR/e/{agent}" && echo x > "$TMPDIR/e/{agent}/settings.json" && mv "$TMPDIR/e" e`, false, ""},
	{"a link to where an editor's are", `mkdir v && echo x > v/{/editor} && ln -s v {editor/}`, false, ""},
	{"a folder renamed to where an editor's are", `mkdir w && echo x > w/{/editor} && mv w {editor/}`, false, ""},
	{"a file from the temporary files as a protected one", `echo x > "$TMPDIR/x" && mv "$TMPDIR/x" {shell}`, false, ""},
	{"other files of an old repository", `cd deep/old && echo 1 > a && git add a && git commit -qm a && git stash list && git gc -q && test "$(git log --oneline | wc -l)" = 2`, true, ""},
	{"a branch and a worktree of it", `cd deep/old && git branch b && git worktree add -q ../tree b && cd ../tree && echo 2 > b && git add b && git commit -qm b`, true, ""},
	{"a new repository", `git init -q new && cd new && git config user.name x && echo '#!/bin/sh' > .git/hooks/pre-commit && git commit -q --allow-empty -m n`, true, ""},
	{"a new repository moved", `git init -q n1 && mv n1 n2 && git -C n2 config a.b c && mv n2/.git n2/git && mv n2/git n2/.git && git -C n2 config a.b d`, true, ""},
	{"a new bare repository", `git init -q --bare nb.git && git -C nb.git config a.b c && echo > nb.git/hooks/update && rm -r nb.git`, true, ""},
	{"a clone", `git clone -q deep/old copy && git -C copy config a.b c && git -C copy remote add o2 /nowhere && rm -rf copy`, true, ""},
	{"a submodule of a new repository", `git init -q sup && cd sup && git -c protocol.file.allow=always submodule add -q "$PWD/../deep/old" sub && git commit -qm s && git -C sub config a.b c`, true, ""},
	{"a submodule of an old repository, with links", `git init -q sub && cd sub && ln -s a l && git add l && git commit -qm s && cd ../deep/old && git -c protocol.file.allow=always submodule add -q "$PWD/../../sub" m && test -L m/l && ! git -C m config core.symlinks`, true, ""},
	{"config that was granted", `cd deep/old && git config user.name c && git config push.default simple && git remote add o /nowhere && ! git config --file .git/config.worktree user.name c && test "$(git config user.name)" = c`, true, "deep/old/.git/config"},
	{"the same removed, and made again", `cd deep/old && cp .git/config c && rm .git/config && mv c .git/config && git config user.email c`, true, "deep/old/.git/config"},
	{"a program in config that was granted", `git -C deep/old config core.fsmonitor evil`, false, "deep/old/.git/config"},
	{"the same moved there", `cd deep/old && printf '[alias]\ns = !evil\n' > c && mv c .git/config`, false, "deep/old/.git/config"},
	{"the same written", `printf '[core]\nfsmonitor = evil\n' >> deep/old/.git/config`, false, "deep/old/.git/config"},
	{"the same through a second name", `ln deep/old/.git/config c && printf '[core]\nfsmonitor = evil\n' >> c`, false, "deep/old/.git/config"},
	{"the same through a second name moved there", `cd deep/old && cp .git/config c && ln c d && mv c .git/config && printf '[core]\nfsmonitor = evil\n' >> d && grep -q evil .git/config`, false, "deep/old/.git/config"},
	{"the same through a descriptor kept", `cd deep/old && cp .git/config c && exec 9>>c && mv c .git/config && printf '[core]\nfsmonitor = evil\n' >&9 && grep -q evil .git/config`, false, "deep/old/.git/config"},
	{"the same exchanged", `cd deep/old && printf '[core]\nfsmonitor = evil\n' > c && python3 -c 'import ctypes,sys; r = ctypes.CDLL(None).renameat2(-100, b"c", -100, b".git/config", 2); sys.exit(r != 0)'`, false, "deep/old/.git/config"},
	{"the same in the owner's lock", `printf '[core]\nfsmonitor = evil\n' > bare.git/config.lock`, false, "bare.git/config"},
	{"the same in a file made anew", `rm bare.git/config; printf '[core]\nfsmonitor = evil\n' > bare.git/config`, false, "bare.git/config"},
	{"folders called config and hooks", `mkdir -p src/config src/hooks && echo x > src/config/a && echo y > src/hooks/b && mv src src2 && rm -r src2`, true, ""},
	{"ordinary folders moved", `mkdir -p o/p/q && echo x > o/p/q/f && mv o o2 && mv o2/p o3 && rm -r o2 o3`, true, ""},
	{"a package from the temporary files, with a repository", `mkdir -p node_modules "$TMPDIR/p/{repository/}" && echo x > "$TMPDIR/p/{repository}" && python3 -c 'import os; os.rename(os.environ["TMPDIR"] + "/p", "node_modules/p")'`, false, ""},
	{"packages with protected names", `mkdir -p node_modules/.p/{agent} node_modules/.p/{editor/} "$TMPDIR/t/{agent}" && echo x > node_modules/.p/{agent}/x && echo x > node_modules/.p/{shell} && echo x > node_modules/.p/{editor} &&
ln -s .p node_modules/l && mv node_modules/.p node_modules/p && mv "$TMPDIR/t" node_modules/ && mkdir d && ln -s ../node_modules d/node_modules && rm -r node_modules/p/{agent} && mv node_modules/p/{shell} node_modules/p/x && mv node_modules/p/x x && rm -r node_modules`, true, ""},
	{"a program of a package, linked from bin", `mkdir -p p/bin p/lib/node_modules/a && ln -s ../lib/node_modules/a/cli.js p/bin/a && mv p q`, true, ""},
	{"a link into packages that was granted", `ln -s node_modules/a l`, true, "l"},
	{"a package moved out", `mkdir -p node_modules/p/d && echo x > node_modules/p/d/f && mv node_modules/p p && cat p/d/f`, true, ""},
	{"a folder to the temporary files and back", `mkdir -p t/u && echo x > t/u/f && mv t "$TMPDIR/t" && mv "$TMPDIR/t" t3 && cat t3/u/f`, true, ""},
}

func TestProtectedInSessionInSetting(t *testing.T) {
	if s := attack.CurrentSetting(t, "TestProtectedInSession"); s.UID == 0 && !machine.Thorough() {
		t.Skip("only with CI=true as root")
	}
	b := backendtest.New(t)
	defer b.Close()
	base, err := os.MkdirTemp(os.Getenv(attack.EnvStage), "session")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { attack.RemoveAll(base) })
	for i, row := range sessionRows {
		t.Run(row.name, func(t *testing.T) {
			dir := filepath.Join(base, string(rune('a'+i%26))+strings.Repeat("x", i/26))
			ws, temp := filepath.Join(dir, "ws"), filepath.Join(dir, "temp")
			furnishSession(t, ws, temp)
			p := sandbox.WorkspaceWrite(ws)
			p.Temp = temp
			if row.grant != "" {
				p.Write = append(p.Write, sandbox.Root{Path: filepath.Join(ws, row.grant), Optional: true})
			}
			command := []string{"bash", "-eu", "-o", "pipefail", "-c", protecttest.In(row.script)}
			if !row.ok {
				bare := exec.Command("/bin/bash", command[1:]...)
				bare.Env, bare.Dir = backendtest.JobEnv(ws, temp), ws
				if out, err := bare.CombinedOutput(); err != nil {
					t.Fatalf("does not work without a sandbox: %v\n%s", err, out)
				}
				attack.RemoveAll(dir)
				furnishSession(t, ws, temp)
			}
			st, out := sandboxtest.Output(t, b, p, sandbox.Command{Path: "/bin/bash", Args: command, Dir: ws, Env: backendtest.JobEnv(ws, temp)})
			if (st.Exit == 0) != row.ok {
				t.Errorf("%+v\n%s", st, out)
			}
		})
	}
}

// furnishSession creates a workspace with repositories.
func furnishSession(t *testing.T, ws, temp string) {
	t.Helper()
	for _, dir := range []string{ws, temp} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/bin/bash", "-euc", `mkdir empty deep; git init -q deep/old; git -C deep/old commit -q --allow-empty -m old
git init -q --bare bare.git; : > bare.git/config.lock; git -C deep/old worktree add -q "$PWD/linked"; test -f linked/.git`)
	cmd.Dir, cmd.Env = ws, backendtest.JobEnv(ws, temp)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
