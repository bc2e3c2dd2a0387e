//go:build linux

package changes

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// randomOperations is a program with two arguments, the number of operations and the seed. It
// ignores failures.
const randomOperations = `
import ctypes, mmap, os, random, shutil, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
r = random.Random(int(sys.argv[2]))
def path():
    return "/".join(r.choice("abcd") for i in range(r.choice([1, 1, 2, 2, 3])))
def write(p, flags, f=lambda fd: os.write(fd, str(r.random()).encode())):
    fd = os.open(p, flags, 0o644)
    try: f(fd)
    finally: os.close(fd)
def mapped(fd):
    m = mmap.mmap(fd, 0); m[0] = r.randrange(256); m.flush()
def nameless(fd):
    os.write(fd, b"nameless")
    libc.linkat(-100, b"/proc/self/fd/%d" % fd, -100, path().encode(), 0x400)
def reopened(fd):
    write("/proc/self/fd/%d" % fd, os.O_WRONLY | os.O_TRUNC)
# A move copies modes by name: a file's onto the folder that has just come to stand
# there would shut the folder to all that follow, and to the test.
chmod = os.chmod
os.chmod = lambda p, mode, **how: chmod(p, mode | 0o700, **how)
opened = []
def kept_open(p):
    opened.append(os.open(p, os.O_RDWR))
def late():
    os.write(r.choice(opened), b"late")
def bound(p):
    socket.socket(socket.AF_UNIX).bind(p)
def into(p):
    here = os.getcwd(); os.chdir(p)
    try: write(path(), os.O_WRONLY | os.O_CREAT)
    finally: os.chdir(here)
do = [
    lambda: write(path(), os.O_WRONLY | os.O_CREAT), lambda: write(path(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    lambda: write(path(), os.O_WRONLY | os.O_APPEND), lambda: write(path(), os.O_WRONLY | os.O_CREAT | os.O_EXCL),
    lambda: write(path(), os.O_RDWR, mapped), lambda: write(r.choice([".", path()]), os.O_RDWR | os.O_TMPFILE, nameless),
    lambda: write(path(), os.O_RDONLY, reopened), lambda: write(path(), os.O_RDONLY, lambda fd: os.fchmod(fd, r.choice([0o700, 0o711, 0o755]))),
    lambda: kept_open(path()), late, late, lambda: into(path()),
    lambda: os.truncate(path(), r.randrange(9)), lambda: os.unlink(path()), lambda: os.unlink(path()), lambda: os.rmdir(path()),
    lambda: os.mkdir(path()), lambda: os.mkdir(path()), lambda: os.makedirs(path()), lambda: shutil.rmtree(path()),
    lambda: os.rename(path(), path()), lambda: os.rename(path(), path()), lambda: os.rename(path(), path()),
    lambda: libc.renameat2(-100, path().encode(), -100, path().encode(), r.choice([1, 2, 2])),
    lambda: os.link(path(), path()), lambda: os.link(path(), path(), follow_symlinks=False), lambda: os.symlink(path(), path()),
    lambda: os.chmod(path(), r.choice([0o700, 0o750, 0o755])), lambda: os.utime(path()),
    lambda: bound(path()),
    lambda: shutil.move(path(), path()),
    lambda: shutil.move(path(), os.environ["TMPDIR"]), lambda: shutil.move(os.environ["TMPDIR"] + "/" + path(), path()),
]
for i in range(int(sys.argv[1])):
    try: r.choice(do)()
    # A folder that others fill while it is moved into itself has no end.
    except (OSError, ValueError, IndexError, RecursionError, shutil.Error): pass
`

// TestKeptAtRandom: whatever programs do, one after the other or at the same time, is restored.
func TestKeptAtRandom(t *testing.T) {
	b, f := backendtest.InSetting(t, "TestKeptElsewhere")
	if !f.Broker {
		t.Skip("no broker here: " + f.NoBroker)
	}
	runs := machine.Times(6, 24)
	changed := 0
	for seed := range runs {
		ws, p := keptPlace(t, sandbox.WorkspaceWrite())
		furnishAtRandom(t, b, p, ws, seed)
		before, album := treeOf(t, ws), newAlbum()
		if seed%3 == 2 { // programs that change the same folders
			var all sync.WaitGroup
			for i := range 3 {
				all.Go(func() { operate(t, b, p, ws, 100, 1000*seed+i, album) })
			}
			all.Wait()
		} else {
			operate(t, b, p, ws, 200, seed, album)
		}
		changed += len(differences(before, treeOf(t, ws)))
		album.putBack(t)
		if wrong := differences(before, treeOf(t, ws)); len(wrong) > 0 {
			t.Errorf("seed %d: not put back:\n%s\ntold %q", seed, strings.Join(wrong, "\n"), album.told)
		}
	}
	if changed < 5*runs {
		t.Errorf("%d changes in %d runs show little", changed, runs)
	}
}

// furnishAtRandom fills the workspace as such a program does, but gives no file a second name: if
// one name is written and then removed, the content remains under the other.
func furnishAtRandom(t *testing.T, b *linuxsandbox.Backend, p sandbox.Policy, ws string, seed int) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	name := func() string { return string("abcd"[r.IntN(4)]) }
	var script strings.Builder
	for range 30 {
		dir := name() + "/" + name()
		fmt.Fprintf(&script, "mkdir -p %s; echo %d > %s/%s; chmod %o %s\n", dir, r.Int(), dir, name(), []int{0o700, 0o750, 0o755}[r.IntN(3)], dir)
	}
	script.WriteString("ln -s a/b a/link; ln -s ../b b/d; true\n")
	if st, out := runKept(t, b, p, ws, "set +e; { "+script.String()+"} 2>/dev/null", nil); st.Exit != 0 {
		t.Fatalf("%+v\n%s", st, out)
	}
}

func operate(t *testing.T, b *linuxsandbox.Backend, p sandbox.Policy, ws string, count, seed int, observer sandbox.ChangeObserver) {
	st, out := sandboxtest.Output(t, b, p, sandbox.Command{
		Path: attack.Need(t, "python3"), Args: []string{"python3", "-c", randomOperations, fmt.Sprint(count), fmt.Sprint(seed)}, Dir: ws, Env: backendtest.JobEnv(ws, p.Temp), Observer: observer,
	})
	// A process that writes to a mapped file which another one truncates gets SIGBUS.
	if st.Signal != int(unix.SIGBUS) && (st.Exit != 0 || st.Signal != 0) {
		t.Errorf("seed %d: %+v\n%s", seed, st, out)
	}
}
