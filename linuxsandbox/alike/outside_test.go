//go:build linux

package alike

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/protect/protecttest"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// These tests compare the broker's refusals with the kernel's own answers. The calls of
// alike_test.go are made in a folder outside every root: without a sandbox, in a sandbox whose
// broker answers, and in one where Landlock does.

// TestOutsideAlike does that in every setting.
func TestOutsideAlike(t *testing.T) { tests.InSettings(t, "^TestOutsideAlikeInSetting$") }

// envOutside is the victim's folder. envFresh makes the victim recreate everything in it before
// each call.
const (
	envOutside = "CODEAGENT_TEST_OUTSIDE"
	envFresh   = "CODEAGENT_TEST_FRESH"
)

func TestOutsideAlikeInSetting(t *testing.T) {
	s := attack.CurrentSetting(t, "TestOutsideAlike")
	b := backendtest.New(t)
	defer b.Close()
	base, err := os.MkdirTemp(os.Getenv(attack.EnvStage), "outside")
	if err != nil {
		t.Fatal(err)
	}
	defer attack.RemoveAll(base)
	ws, out := filepath.Join(base, "ws"), filepath.Join(base, "out")
	sample, rows := sampleAlike(t, 31, s.Name == "user")
	env := []string{envOutside + "=" + out, envEvery + "=" + sample.String(), sandboxtest.NoPause}
	args := []string{os.Args[0], "-test.run=^TestOutsideVictim$"}
	bare := exec.Command(os.Args[0], args[1:]...)
	bare.Env, bare.Dir = append(env, envFresh+"=1"), base
	plain, err := bare.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, plain)
	}
	attack.RemoveAll(out)
	if err := os.Mkdir(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	furnishAlike(out)
	if err := os.Chdir(base); err != nil {
		t.Fatal(err)
	}
	before := pictureAlike(out)
	boxed := func(level sandbox.EvidenceLevel) string {
		st, text := sandboxtest.Output(t, b, sandbox.WorkspaceWrite(ws), sandbox.Command{Path: os.Args[0], Args: args, Env: env, Dir: ws, Evidence: level})
		if st.Exit != 0 {
			t.Fatalf("%+v\n%s", st, text)
		}
		return text
	}
	compareOutside(t, rows, string(plain), boxed(sandbox.EvidenceFull), boxed(sandbox.EvidenceNothing))
	if after := pictureAlike(out); after != before {
		t.Errorf("changed from\n%s\nto\n%s", before, after)
	}
}

// refusedWith is the errno with which a call outside is refused. Landlock does not handle changes
// of metadata; the broker or the filter refuses those.
func refusedWith(call string) string {
	switch verb, _, _ := strings.Cut(call, " "); verb {
	case "chmod", "utimes", "lutimes", "setxattr":
		return "EPERM"
	}
	return "EACCES"
}

// compareOutside checks so many calls: if it succeeds without a sandbox, the broker refuses it exactly
// when Landlock does; if it fails without one, it fails in the same way.
func compareOutside(t *testing.T, rows int, plain, full, none string) {
	t.Helper()
	a, b, c := strings.Split(plain, "\n"), strings.Split(full, "\n"), strings.Split(none, "\n")
	if rows == 0 || len(a) != rows+1 || len(b) != rows+1 || len(c) != rows+1 { // each ends with a line break
		t.Fatalf("%d, %d and %d lines of %d calls: %s", len(a), len(b), len(c), rows, b[len(b)-1])
	}
	wrong, refused := 0, 0
	for i := range a {
		call, bare, _ := strings.Cut(a[i], ": ")
		_, told, _ := strings.Cut(b[i], ": ")
		_, kernel, _ := strings.Cut(c[i], ": ")
		works := func(result string) bool { return strings.HasPrefix(result, "ok") }
		// Only opening a pipe shows whether it has a reader.
		right := told == bare || bare == "ENXIO" && told == "EACCES" && told == kernel
		if works(bare) && !works(told) {
			refused++
			right = told == refusedWith(call) || told == "EXDEV" && strings.HasPrefix(call, "link")
		}
		if !right || works(told) != works(kernel) {
			if wrong++; wrong <= 20 {
				t.Errorf("%s: plainly %s, by the broker %s, by Landlock %s", call, bare, told, kernel)
			}
		}
	}
	t.Logf("%d calls, %d of them refused, %d wrong", len(a), refused, wrong)
}

// TestOutsideVictim makes the calls.
func TestOutsideVictim(t *testing.T) {
	dir := os.Getenv(envOutside)
	if dir == "" {
		attack.BodyOf(t, "TestOutsideAlike")
	}
	for i, c := range alikeTable(dir) {
		if !inSample(t, i) {
			continue
		}
		if os.Getenv(envFresh) != "" {
			attack.RemoveAll(dir)
			furnishAlike(dir)
		}
		if err := os.Chdir(dir); err != nil {
			fmt.Println(err)
		}
		fmt.Printf("%s: %s\n", c.name, c.do())
		_ = os.Chdir("/")
	}
	os.Exit(0)
}

// TestReplica: for calls and targets of every kind, the broker, which knows the rules, and
// Landlock, which enforces them, allow the same.
func TestReplica(t *testing.T) { backendtest.WithAndWithoutMounts(t, replica) }

func replica(t *testing.T, th *backendtest.Theatre) {
	// The pipe is not beside the workspace: there it would appear in the command's own /tmp, which
	// Landlock opens, and a read-only mount does not stop writes to a pipe.
	pipe := filepath.Join(attack.Stage(t, os.Getuid()), "pipe")
	single := th.Out + "-granted"
	if err := errors.Join(os.WriteFile(single, []byte("x"), 0o644), unix.Mkfifo(pipe, 0o644), os.Symlink(th.In, th.Out+"-link")); err != nil {
		t.Fatal(err)
	}
	th.Policy.Write = append(th.Policy.Write, sandbox.Root{Path: single})
	results := map[sandbox.EvidenceLevel]string{}
	for _, level := range []sandbox.EvidenceLevel{sandbox.EvidenceFull, sandbox.EvidenceNothing} {
		th.Policy.Temp = t.TempDir() // another session: without mounts this session's folder contains the replacement for /dev/shm
		cmd := sandbox.Command{
			Path: th.Binary, Args: []string{"victim", "-test.run=^TestReplicaVictim$"}, Evidence: level,
			Env: append(th.Env("", th.Out), "TMPDIR="+th.Policy.Temp, "PIPE="+pipe, envOutside+"=replica"),
		}
		results[level], _ = th.Confined(t, cmd)
	}
	full, none := strings.Split(results[sandbox.EvidenceFull], "\n"), strings.Split(results[sandbox.EvidenceNothing], "\n")
	if len(full) != len(none) || len(full) < 300 {
		t.Fatalf("%d and %d lines: %s", len(full), len(none), full)
	}
	for i := range full {
		if strings.HasSuffix(full[i], ": ok") != strings.HasSuffix(none[i], ": ok") {
			t.Errorf("by the broker %s, by Landlock %s", full[i], none[i])
		}
	}
	t.Logf("%d calls", len(full)-1)
}

// replicaTargets name one entry of every kind. made is the script that recreates it.
func replicaTargets(ws, temp, out string) map[string]string {
	return map[string]string{
		"workspace": ws + "/r", "absent in the workspace": ws + "/n", "the workspace": ws, "protected": ws + protecttest.In("/{shell}"),
		"temporary": temp + "/r", "absent in temp": temp + "/n", "temp": temp,
		"outside": out, "absent outside": out + "-absent", "folder outside": filepath.Dir(out), "link into the workspace": out + "-link", "link out": ws + "/out",
		"pipe outside": os.Getenv("PIPE"), "granted": out + "-granted", "beside it": out + "-granted2", "null": "/dev/null", "zero": "/dev/zero", "absent device": "/dev/nothing",
		"terminal": "/dev/tty", "proc": "/proc/self/comm", "proc's": "/proc/sys/kernel/hostname", "system": "/etc/passwd", "root": "/", "shm": "/dev/shm/r", "tmp": "/tmp/r",
		"a descriptor": "/proc/self/fd/59", "deleted": "/proc/self/fd/58", "memory": "/proc/self/fd/57",
	}
}

func TestReplicaVictim(t *testing.T) {
	if os.Getenv(envOutside) != "replica" {
		attack.BodyOf(t, "TestReplica")
	}
	ws, temp, out := os.Getenv("WS"), os.Getenv("TMPDIR"), os.Getenv("TARGET")
	memory, err := unix.MemfdCreate("m", 0)
	if err == nil {
		err = unix.Dup2(memory, 57)
	}
	if err != nil {
		t.Fatal(err)
	}
	calls := replicaCalls(ws)
	for _, target := range slices.Sorted(maps.Keys(replicaTargets(ws, temp, out))) {
		path := replicaTargets(ws, temp, out)[target]
		for _, c := range calls {
			for _, dir := range []string{ws, temp} {
				_ = os.Remove(dir + "/n")
				_ = os.Remove(dir + "/r")
				_ = os.WriteFile(dir+"/r", []byte("r"), 0o644)
			}
			_ = os.Remove(ws + "/out")
			_ = os.Symlink(out, ws+"/out")
			replicaFiles(out, temp)
			fmt.Printf("%s, %s: %s\n", c.name, target, errnoName(c.do(path)))
		}
	}
	os.Exit(0)
}

// replicaFiles opens a file outside as descriptor 59, and one in temp that it then removes as 58,
// both for reading.
func replicaFiles(out, temp string) {
	for fd, path := range map[int]string{59: out, 58: temp + "/gone"} {
		if fd == 58 {
			_ = os.WriteFile(path, []byte("g"), 0o644)
		}
		opened, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			fmt.Println(err)
			continue
		}
		_ = unix.Dup2(opened, fd)
		unix.Close(opened)
		if fd == 58 {
			_ = os.Remove(path)
		}
	}
}

// TestPipesShown: a command cannot write to a pipe of the host beside a workspace in /tmp: Landlock
// opens the folder around it only for reading.
func TestPipesShown(t *testing.T) {
	b := backendtest.New(t)
	defer b.Close()
	th := backendtest.NewTheatre(t, b)
	th.Policy.Temp = t.TempDir()
	pipe := filepath.Join(filepath.Dir(th.Out), "pipe")
	if err := unix.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	reader, err := unix.Open(pipe, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(reader)
	e, err := sandboxtest.Enforcement(b, th.Policy)
	if err != nil {
		t.Fatal(err)
	}
	stated := slices.ContainsFunc(e.Weaknesses, func(w sandbox.Weakness) bool { return w.ID == "temp-pipes" })
	for _, level := range []sandbox.EvidenceLevel{sandbox.EvidenceNothing, sandbox.EvidenceFull} {
		th.Trace(t, level, "echo > "+pipe)
		n, err := unix.Read(reader, make([]byte, 9))
		if n > 0 || stated {
			t.Errorf("%s: written to, stated: %v", level, stated)
		}
		t.Logf("%s: %d %v, stated: %v", level, n, err, stated)
	}
}

type replicaCall struct {
	name string
	do   func(path string) error
}

func replicaCalls(ws string) []replicaCall {
	opens := func(flags int) func(string) error {
		return func(path string) error {
			fd, err := unix.Open(path, flags|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0o644)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}
	}
	mine := ws + "/r"
	return []replicaCall{
		{"open to write", opens(unix.O_WRONLY)},
		{"open to read and write", opens(unix.O_RDWR)},
		{"open to append", opens(unix.O_WRONLY | unix.O_APPEND)},
		{"open or create", opens(unix.O_WRONLY | unix.O_CREAT)},
		{"create", opens(unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL)},
		{"read or create", opens(unix.O_CREAT)},
		{"read and empty", opens(unix.O_TRUNC)},
		{"refer", opens(unix.O_PATH)},
		{"openat2", func(p string) error {
			fd, err := unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{Flags: unix.O_WRONLY | unix.O_NONBLOCK})
			if err == nil {
				unix.Close(fd)
			}
			return err
		}},
		{"nameless", opens(unix.O_TMPFILE | unix.O_RDWR)},
		{"truncate", func(p string) error { return unix.Truncate(p, 0) }},
		{"mkdir", func(p string) error { return unix.Mkdir(p, 0o755) }},
		{"rmdir", unix.Rmdir},
		{"unlink", unix.Unlink},
		{"symlink", func(p string) error { return unix.Symlink("x", p) }},
		{"mkfifo", func(p string) error { return unix.Mkfifo(p, 0o644) }},
		{"rename onto", func(p string) error { return unix.Rename(mine, p) }},
		{"rename away", func(p string) error { return unix.Rename(p, ws+"/n") }},
		{"rename beside", func(p string) error { return unix.Rename(p, p+"2") }},
		{"exchange", func(p string) error {
			return unix.Renameat2(unix.AT_FDCWD, mine, unix.AT_FDCWD, p, unix.RENAME_EXCHANGE)
		}},
		{"link onto", func(p string) error { return unix.Link(mine, p) }},
		{"link away", func(p string) error { return unix.Link(p, ws+"/n") }},
	}
}
