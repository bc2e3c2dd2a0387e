//go:build linux

package changes

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/linuxsandbox/plan"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// keptWays are ways to change the content of a workspace, one script each. py runs a line of
// Python.
var keptWays = []struct{ name, script string }{
	{"redirection", `echo x > a`},
	{"redirection that appends", `echo x >> a`},
	{"redirection to a new file", `echo x > new`},
	{"touch of a new file", `touch new`},
	{"cut short", `: > a`},
	{"truncate", `truncate -s 2 a`},
	{"truncate by path", `py 'os.truncate("a", 1)'`},
	{"ftruncate", `py 'f = open("a", "r+"); f.truncate(1)'`},
	{"opened to read and cut short", `py 'os.open("a", os.O_RDONLY | os.O_TRUNC)'`},
	{"dd into the middle", `printf X | dd of=a bs=1 seek=1 conv=notrunc status=none`},
	{"fallocate", `py 'f = open("a", "r+"); os.posix_fallocate(f.fileno(), 0, 9999)'`},
	{"written through a map", `py 'f = open("a", "r+b"); m = mmap.mmap(f.fileno(), 0); m[0] = 88; m.flush()'`},
	{"written through a link", `echo x > l`},
	{"written through a link to a folder", `echo other > ld/x`},
	{"written by another name", `echo x >> h1`},
	{"written by a name made for it", `ln a second; echo x >> second`},
	{"written by a name made for it, without the old one", `ln a second; rm a; echo x >> second`},
	{"written by its descriptor in /proc", `exec 3<a; echo x > /proc/self/fd/3`},
	{"written by a path through /proc", `echo x > /proc/self/cwd/a`},
	{"written by ..", `cd d/sub; echo x > ../../a`},
	{"copied over", `cp b a`},
	{"copied over by reflink or not", `cp --reflink=auto b a`},
	{"sed -i", `sed -i s/one/other/ a`},
	{"perl -i", `perl -pi -e s/one/other/ a`},
	{"os.replace", `py 'open("n", "w").write("new"); os.replace("n", "a")'`},
	{"rm", `rm a`},
	{"rm of a link", `rm l ld`},
	{"rm and made anew", `rm a; echo new > a`},
	{"rm, and a folder of that name", `rm a; mkdir a; echo x > a/x`},
	{"rm -r", `rm -r d`},
	{"rm -r and made anew", `rm -r d; mkdir d; echo x > d/x; echo y > d/other`},
	{"rmdir", `rmdir e`},
	{"rmdir and a file of that name", `rmdir e; echo x > e`},
	{"rmdir of one that is not empty", `rmdir d || rmdir e`},
	{"mkdir", `mkdir new`},
	{"mkdir -p", `mkdir -p new/er/est; echo x > new/er/est/x`},
	{"mv", `mv a new`},
	{"mv over another", `mv a b`},
	{"mv there and back", `mv a new; echo x >> new; mv new a`},
	{"mv in a circle", `mv a t; mv b a; mv t b`},
	{"mv of a link", `mv l new`},
	{"mv of a folder", `mv d new`},
	{"mv of a folder, and changed there", `mv d new; echo x >> new/x; rm new/sub/y; touch new/sub/z`},
	{"mv of a folder, and made anew", `mv d new; mkdir d; echo other > d/x`},
	{"mv of a folder that something was made in", `mkdir d/n; echo x > d/n/f; echo x >> d/x; mv d new; echo x > new/n/g`},
	{"mv of a folder over an empty one", `mv -T d e; echo x > e/x`},
	{"mv into a folder", `mv a d`},
	{"mv out to the folder for temporary files", `mv a d "$TMPDIR"`},
	{"mv in from there", `echo x > "$TMPDIR/n"; mkdir "$TMPDIR/nd"; echo x > "$TMPDIR/nd/x"; mv "$TMPDIR/n" a; mv "$TMPDIR/nd" .`},
	{"exchange of two files", `py 'exchange("a", "d/x")'`},
	{"exchange of two folders", `py 'exchange("d", "e")'; echo x > e/x; echo new > d/new`},
	{"exchange of a file and a folder", `py 'exchange("a", "d")'; echo x >> d; echo x > a/x`},
	{"ln", `ln a new`},
	{"ln -s", `ln -s a new`},
	{"ln -sf", `ln -sfn b l`},
	{"chmod", `chmod 4700 a || chmod 700 a`},
	{"chmod of a folder", `chmod 700 d`},
	{"chmod of the workspace", `chmod 700 .`},
	{"chmod -R", `chmod -R go-rwx d`},
	{"fchmod", `py 'f = open("a"); os.fchmod(f.fileno(), 0o600)'`},
	{"fchmod of a folder", `py 'os.fchmod(os.open("d", os.O_RDONLY), 0o700)'`},
	{"chmod, then written", `chmod 600 b; echo x >> b`},
	{"chmod of a folder, then emptied", `chmod 700 d; rm -r d`},
	{"mkfifo", `mkfifo new`},
	{"rm of a FIFO", `rm p; echo x > p`},
	{"mknod", `mknod new p`},
	{"bind", `py 's = socket.socket(socket.AF_UNIX); s.bind("d/sock")'`},
	{"rm of a socket", `rm sock`},
	{"O_TMPFILE and a name for it", `py 'f = os.open(".", os.O_TMPFILE | os.O_RDWR); os.write(f, b"x"); name(f, "new")'`},
	{"cp -a", `cp -a d new`},
	{"cp -al", `cp -al d new; echo x >> new/x`},
	{"tar x over what is there", `tar cf "$TMPDIR/t.tar" d a; rm -r d; echo x > a; tar xf "$TMPDIR/t.tar"; tar xf "$TMPDIR/t.tar" -C e; echo x > e/d/x`},
	{"patch", `printf -- '--- a\n+++ a\n@@ -1 +1,2 @@\n one\n+more\n' | patch -s a`},
	{"find -delete", `find d -type f -delete`},
	{"rename of many", `for f in a b d/x; do mv "$f" "$f.bak"; done`},
	{"file by file", `for i in $(seq 50); do echo $i > f$i; done; rm a b`},
	{"sqlite", `py 'import sqlite3; d = sqlite3.connect("new.db"); d.execute("create table t(a)"); d.commit()'`},
	{"by threads at once", `py 'import threading; t = [threading.Thread(target=lambda i=i: open(f"d/n{i}", "w").write(open("a", "a+").name)) for i in range(16)]; [x.start() for x in t]; [x.join() for x in t]; open("d/x", "a").write("!")'`},
	{"by processes at once", `for i in 1 2 3 4 5 6 7 8; do (echo $i >> a; echo $i >> d/x; mv b b$i && mv b$i b || true) 2>/dev/null & done; wait; echo x >> d/sub/y`},
	{"git commit", `cd repo; echo more >> tracked; git add .; git commit -qm more`},
	{"git checkout and reset", `cd repo; git checkout -q -b other; git rm -q tracked; git commit -qm gone; git reset -q --hard HEAD~1`},
	{"git stash", `cd repo; echo more >> tracked; git stash -q`},
	{"git init", `git init -q new; cd new; echo x > x; git add .`},
}

const keptPrelude = `py() { python3 -c "
import ctypes, mmap, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def exchange(a, b):
    if libc.renameat2(-100, a.encode(), -100, b.encode(), 2): raise OSError(ctypes.get_errno())
def name(fd, a):
    if libc.linkat(-100, f'/proc/self/fd/{fd}'.encode(), -100, a.encode(), 0x400): raise OSError(ctypes.get_errno())
$1"; }
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e
umask 022
`

// furnishKept creates the workspace that the scripts expect; repo is for those that use git.
func furnishKept(t *testing.T, ws string, repo bool) {
	t.Helper()
	at := func(name string) string { return filepath.Join(ws, name) }
	steps := []error{os.MkdirAll(at("d/sub"), 0o755), os.Mkdir(at("e"), 0o755), os.Symlink("a", at("l")), os.Symlink("d", at("ld")), unix.Mkfifo(at("p"), 0o644)}
	for name, text := range map[string]string{"a": "one\n", "b": "two\n", "d/x": "x\n", "d/sub/y": "y\n", "h1": "h\n"} {
		steps = append(steps, os.WriteFile(at(name), []byte(text), 0o644))
	}
	steps = append(steps, os.Chmod(at("b"), 0o755), os.Chmod(at("d"), 0o750), os.Link(at("h1"), at("h2")), unix.Mknod(at("sock"), unix.S_IFSOCK|0o755, 0))
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	if !repo {
		return
	}
	cmd := exec.Command("bash", "-euc", `git init -q repo; cd repo; echo t > tracked; git add .; git -c user.name=n -c user.email=e commit -qm first`)
	cmd.Dir, cmd.Env = ws, []string{"PATH=" + attack.Path, "HOME=" + ws, "GIT_CONFIG_GLOBAL=/dev/null"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestKept: whatever way a command changes its workspace, the change observer received everything
// that is needed to restore it, in time.
func TestKept(t *testing.T) { tests.InSettings(t, "^TestKeptInSetting$") }

// TestKeptInSetting is the body of TestKept, in a process of the setting.
func TestKeptInSetting(t *testing.T) {
	b, f := backendtest.InSetting(t, "TestKept")
	attack.Need(t, "python3", "git", "perl", "patch")
	// With nothing protected, the roots are brokered only for the change observer.
	for name, p := range map[string]sandbox.Policy{"protected names": sandbox.WorkspaceWrite(), "nothing protected": {}} {
		t.Run(name, func(t *testing.T) {
			for _, row := range keptWays {
				if name == "nothing protected" && !strings.HasPrefix(row.name, "redirection") {
					continue
				}
				t.Run(row.name, func(t *testing.T) { tryKept(t, b, f, p, row.script) })
			}
		})
	}
}

func tryKept(t *testing.T, b *linuxsandbox.Backend, f plan.Facts, p sandbox.Policy, script string) {
	ws, p := keptPlace(t, p)
	furnishKept(t, ws, strings.HasPrefix(script, "cd repo"))
	before := treeOf(t, ws)
	album := newAlbum()
	if st, out := runKept(t, b, p, ws, script, album); st.Exit != 0 || st.Signal != 0 {
		t.Fatalf("%+v\n%s", st, out)
	}
	if len(differences(before, treeOf(t, ws))) == 0 {
		t.Fatal("it changes nothing, so nothing is shown")
	}
	e, err := sandboxtest.Enforcement(b, p)
	if err != nil || e.Observes != f.Broker || e.Observes != (len(album.told) > 0) {
		t.Fatalf("%d paths were reported, Observes is %v, Broker is %v, error %v", len(album.told), e.Observes, f.Broker, err)
	}
	if !e.Observes {
		return
	}
	album.putBack(t)
	for _, d := range differences(before, treeOf(t, ws)) {
		t.Error("not put back: " + d)
	}
}

// keptPlace returns a workspace, and p with the workspace and a folder for temporary files.
func keptPlace(t *testing.T, p sandbox.Policy) (string, sandbox.Policy) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p = p.Clone()
	ws := filepath.Join(base, "ws")
	p.Temp = filepath.Join(base, "temp")
	if err := errors.Join(os.Mkdir(ws, 0o755), os.Mkdir(p.Temp, 0o700), unix.Chmod(ws, 0o755)); err != nil {
		t.Fatal(err)
	}
	p.Write = append(p.Write, sandbox.Root{Path: ws})
	return ws, p
}

func runKept(t *testing.T, b *linuxsandbox.Backend, p sandbox.Policy, ws, script string, observer sandbox.ChangeObserver) (sandbox.Status, string) {
	t.Helper()
	return sandboxtest.Output(t, b, p, keptJob(ws, p.Temp, script, observer))
}

func keptJob(ws, temp, script string, observer sandbox.ChangeObserver) sandbox.Command {
	return sandbox.Command{
		Path: "/bin/bash", Args: []string{"bash", "-eu", "-o", "pipefail", "-c", keptPrelude + script}, Dir: ws, Env: backendtest.JobEnv(ws, temp), Observer: observer,
	}
}
