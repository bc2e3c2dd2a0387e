//go:build linux

package alike

import (
	"testing"

	"codeagent/linuxsandbox/backendtest"
)

// TestLocks: in a write root, the temporary folder and files without a name, locks work as without
// a sandbox: they exclude others, wait, pass to a waiter, and can be interrupted by signals.
func TestLocks(t *testing.T) {
	backendtest.WithAndWithoutMounts(t, func(t *testing.T, th *backendtest.Theatre) {
		out, denials := th.Python(t, locksOfItsOwn)
		const want = "outside ENOLCK\nshared 0\nfree 0\nbusy EAGAIN\nwaited 0\ninterrupted alarm\nno name 0\nreference EBADF\nnone EBADF\nunknown EINVAL\n"
		if out != want || len(denials) != 1 {
			t.Errorf("%q, %+v", out, denials)
		}
	})
}

const locksOfItsOwn = `
import errno, fcntl, os, signal, subprocess, sys
def tried(name, fd, how):
    try: fcntl.flock(fd, how); print(name, 0)
    except OSError as e: print(name, errno.errorcode[e.errno])
    except KeyboardInterrupt: print(name, "alarm")
outside = os.open("../away/file", os.O_RDONLY)
tried("outside", outside, fcntl.LOCK_EX)
tried("shared", outside, fcntl.LOCK_SH)
open("lock", "w").close()
one, other = os.open("lock", os.O_RDONLY), os.open("lock", os.O_RDONLY)
tried("free", one, fcntl.LOCK_EX)
tried("busy", other, fcntl.LOCK_SH | fcntl.LOCK_NB)
child = subprocess.Popen([sys.executable, "-c", "import fcntl, sys; print(flush=True); fcntl.flock(open('lock'), fcntl.LOCK_EX); print('waited', 0, flush=True)"], stdout=subprocess.PIPE)
child.stdout.readline()
fcntl.flock(one, fcntl.LOCK_UN)
print(child.stdout.readline().decode(), end="")
child.wait()
tried_first = fcntl.flock(one, fcntl.LOCK_EX)
def alarm(*_): raise KeyboardInterrupt
signal.signal(signal.SIGALRM, alarm)
signal.setitimer(signal.ITIMER_REAL, 0.2)
tried("interrupted", other, fcntl.LOCK_EX)
tried("no name", os.memfd_create("x"), fcntl.LOCK_EX)
tried("reference", os.open("lock", os.O_PATH), fcntl.LOCK_SH)
tried("none", 999, fcntl.LOCK_EX)
tried("unknown", one, 77)
`
