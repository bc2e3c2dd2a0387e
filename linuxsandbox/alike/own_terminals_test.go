//go:build linux

package alike

import (
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// TestOwnTerminals: in every setting a command creates terminals of its own, and can open no other
// one.
func TestOwnTerminals(t *testing.T) { tests.InSettings(t, "^TestOwnTerminalsInSetting$") }

func TestOwnTerminalsInSetting(t *testing.T) {
	b, _ := backendtest.InSetting(t, "TestOwnTerminals")
	const script = `
import fcntl, os, pty, sys, termios, tty
pid, near = pty.fork()
if pid == 0:
    os.write(os.open("/dev/tty", os.O_RDWR), b"on " + os.ttyname(0).encode() + b"\n")
    os._exit(0)
number = os.ptsname(near) if hasattr(os, "ptsname") else None
said = b""
while b"\n" not in said: said += os.read(near, 99)
os.waitpid(pid, 0); os.close(near)
print(said.decode().split("/")[1:3])
a, z = os.openpty()
tty.setraw(z); os.write(a, b"typed"); print(os.read(z, 9))
name = os.ttyname(z); os.close(a); os.close(z)
for path in (name, sys.argv[1]):
    try: os.open(path, os.O_RDWR | os.O_NOCTTY); print("opened", path)
    except OSError: print("refused")
try: fcntl.ioctl(os.openpty()[0], termios.TIOCSTI, b"x"); print("pushed")
except OSError as e: print(e.strerror)
`
	near, far := attack.OpenTerminal(t)
	defer near.Close()
	defer far.Close()
	_, out := sandboxtest.Output(t, b, sandbox.WorkspaceWrite(t.TempDir()), sandbox.Command{
		Path: "/usr/bin/python3", Args: []string{"python3", "-uc", script, far.Name()}, Dir: "/", Env: []string{"PATH=" + attack.Path},
	})
	if out != "['dev', 'pts']\nb'typed'\nrefused\nrefused\nOperation not permitted\n" {
		t.Errorf("%q", out)
	}
}
