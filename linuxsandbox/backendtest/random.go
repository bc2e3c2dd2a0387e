//go:build linux

package backendtest

// RandomOperations is a Python program with two arguments, the number of operations and the seed. It
// ignores failures.
const RandomOperations = `
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
