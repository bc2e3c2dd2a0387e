//go:build linux

package linuxsandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// programRoutes are ways to start $OTHER, a copy of /bin/echo that no list has. Each prints "started" if nothing stops it.
// $LOADER is its dynamic loader.
var programRoutes = []struct{ name, script string }{
	{"by its path", `$OTHER started`},
	{"by its name", `PATH=${OTHER%/*}; other started`},
	{"by a link that was there", `./link started`},
	{"by a link made inside", `ln -s $OTHER l; ./l started`},
	{"as a copy in the workspace", `python3 -c 'import shutil, os; shutil.copy(os.environ["OTHER"], "copy")'; ./copy started`},
	{"by a hard link", `ln $OTHER hard 2>/dev/null || python3 -c 'import shutil, os; shutil.copy(os.environ["OTHER"], "hard")'; ./hard started`},
	{"by its loader", `$LOADER $OTHER started`},
	{"by its loader, through another process", `/proc/$$/root$LOADER $OTHER started; true`},
	{"by its loader, whose name nobody else can read", `python3 -c 'import ctypes, mmap, os
c = ctypes.CDLL(None, use_errno=True); f = c.syscall(447, 0)
if f < 0: f = os.memfd_create("n")  # a kernel without memfd_secret(2)
os.ftruncate(f, 4096); m = mmap.mmap(f, 4096); name = os.environ["LOADER"].encode() + b"\0"; m[:len(name)] = name
argv = (ctypes.c_char_p * 4)(b"ld", os.environ["OTHER"].encode(), b"started"); env = (ctypes.c_char_p * 1)()
c.execve(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(m))), argv, env); print("errno", ctypes.get_errno())'`},
	{"by a link to its loader", `ln -s $LOADER ld; ./ld $OTHER started`},
	{"by exec", `exec $OTHER started`},
	{"by a path through /proc", `/proc/self/root$OTHER started`},
	{"by the folder's descriptor", `exec 7<${OTHER%/*}; /proc/self/fd/7/other started`},
	{"by its own descriptor", `python3 -c 'import os; os.execve(os.open(os.environ["OTHER"], os.O_RDONLY), ["other", "started"], {})'`},
	{"by a descriptor of its loader", `python3 -c 'import os; os.execve(os.open(os.environ["LOADER"], os.O_RDONLY), ["ld", os.environ["OTHER"], "started"], {})'`},
	{"from memory", `python3 -c 'import os
f = os.memfd_create("m"); os.write(f, open(os.environ["OTHER"], "rb").read()); os.execve(f, ["m", "started"], {})'`},
	{"as the interpreter of a script", `printf "#!$OTHER started\n" > s; chmod +x s; ./s`},
	{"as the interpreter of an interpreter", `printf "#!$OTHER started\n" > s; printf "#!$PWD/s\n" > t; chmod +x s t; ./t`},
	{"by a program that starts others", `python3 -c 'import subprocess, os; subprocess.run([os.environ["OTHER"], "started"])'`},
	{"by posix_spawn", `python3 -c 'import os; os.waitpid(os.posix_spawn(os.environ["OTHER"], ["other", "started"], {}), 0)'`},
	{"in a session of its own", `python3 -c 'import os
if os.fork(): os.wait()
else: os.setsid(); os.execv(os.environ["OTHER"], ["other", "started"])'`},
}

// TestPrograms: with a list of programs nothing else starts, and each refusal names the file. What it lists works, and so
// does a shell's own text.
func TestPrograms(t *testing.T) {
	for name, b := range map[string]*Backend{"namespaces": newBackend(t), "none": newPlainBackend(t)} {
		t.Run(name, func(t *testing.T) {
			defer b.Close()
			testPrograms(t, b)
		})
	}
}

// TestProgramsAsUser runs it as an ordinary user.
func TestProgramsAsUser(t *testing.T) { tests.AsUser(t, "^TestPrograms$") }

func testPrograms(t *testing.T, b *Backend) {
	var listed []string
	for _, name := range []string{"bash", "python3", "ln", "chmod"} {
		file, err := filepath.EvalSymlinks("/usr/bin/" + name)
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, file)
	}
	echo, err := os.ReadFile("/bin/echo")
	if err != nil {
		t.Fatal(err)
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other := base + "/out/other"
	if err := os.Mkdir(base+"/out", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, echo, 0o755); err != nil {
		t.Fatal(err)
	}
	fd, err := kernel.OpenPath(other)
	if err != nil {
		t.Fatal(err)
	}
	loader, _, err := kernel.InterpreterOf(fd)
	if err != nil || loader == "" {
		t.Fatalf("the loader of echo: %q, %v", loader, err)
	}
	run := func(t *testing.T, programs []string, script string) (string, []sandbox.Denial) {
		ws, err := os.MkdirTemp(base, "ws")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(other, ws+"/link"); err != nil {
			t.Fatal(err)
		}
		p := sandbox.WorkspaceWrite(ws)
		p.Programs = programs
		_, out, denials := sandboxtest.Traced(t, b, p, sandbox.Command{Path: "/bin/bash", Args: []string{"bash", "-c", script}, Dir: ws,
			Env: []string{"PATH=/usr/bin:/bin", "OTHER=" + other, "LOADER=" + loader, "LC_ALL=C"}})
		return out, denials
	}
	for _, route := range programRoutes {
		t.Run(route.name, func(t *testing.T) {
			if out, _ := run(t, nil, route.script); !strings.Contains(out, "started") {
				t.Fatalf("does not work without a list: %s", out)
			}
			out, denials := run(t, listed, route.script)
			if strings.Contains(out, "started") {
				t.Errorf("starts all the same: %s", out)
			}
			if unread := "errno 14\n"; out != unread && !slices.ContainsFunc(denials, func(d sandbox.Denial) bool { return strings.HasPrefix(d.Operation, "execve") && d.Why != "" }) {
				t.Errorf("no denial says so: %v %s", denials, out)
			}
		})
	}
	if out, denials := run(t, listed, `printf "#!/usr/bin/python3\nprint('fine')\n" > s; chmod +x s; python3 s; echo built in`); out != "fine\nbuilt in\n" || len(denials) > 0 {
		t.Errorf("what the list has: %q, %v", out, denials)
	}
}
