//go:build linux

package alike

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// TestSharedMemory: in every setting a session has its own shared memory and named semaphores, and
// cannot access those of another program.
func TestSharedMemory(t *testing.T) { tests.InSettings(t, "^TestSharedMemoryInSetting$") }

func TestSharedMemoryInSetting(t *testing.T) {
	b, _ := backendtest.InSetting(t, "TestSharedMemory")
	name := "codeagent-test-" + strconv.Itoa(os.Getpid())
	victim := filepath.Join(kernel.ShmDir, name)
	if err := os.WriteFile(victim, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(victim)
	temp := t.TempDir()
	const script = `
import multiprocessing as m, os, sys
from multiprocessing import shared_memory as s
name = sys.argv[1]
def work(lock, queue, other):
    memory = s.SharedMemory(other)
    with lock: queue.put(bytes(memory.buf[:4]))
if __name__ == "__main__":
    m.set_start_method("fork")
    a = s.SharedMemory(name + "-own", create=True, size=64); a.buf[:4] = b"mine"
    lock, queue = m.Lock(), m.Queue()
    p = m.Process(target=work, args=(lock, queue, a.name)); p.start(); print(queue.get()); p.join()
    a.close(); a.unlink()
    try: s.SharedMemory(name + "-own"); print("still there")
    except FileNotFoundError: print("gone")
    s.SharedMemory(name + "-left", create=True, size=64).close()
    for what in ("open(v, 'r+')", "os.unlink(v)", "os.rename(v, v + 'x')", "os.chmod(v, 0o777)", "os.truncate(v, 0)", "os.link(v, v + 'y')"):
        try: eval(what, {"os": os, "v": "/dev/shm/" + name}); print("could", what)
        except OSError: pass
    os._exit(0)
`
	p := sandbox.WorkspaceWrite(t.TempDir())
	p.Temp = temp
	_, out := sandboxtest.Output(t, b, p, sandbox.Command{
		Path: "/usr/bin/python3", Args: []string{"python3", "-W", "ignore", "-uc", script, name}, Dir: "/", Env: []string{"PATH=" + attack.Path, "TMPDIR=" + temp},
	})
	if out != "b'mine'\ngone\n" {
		t.Errorf("%q", out)
	}
	if text, err := os.ReadFile(victim); string(text) != "theirs" || err != nil {
		t.Errorf("another program's memory holds %q, %v", text, err)
	}
	if left, err := filepath.Glob(victim + "?*"); len(left) > 0 || err != nil {
		t.Errorf("left on the machine: %v, %v", left, err)
	}
}
