//go:build linux

package denials

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/linuxsandbox/broker/evidence"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// TestReadsSeen: with Command.Reads each refused read is recorded, by whatever way, and no other open
// is.
func TestReadsSeen(t *testing.T) { tests.InSettings(t, "^TestReadsSeenInSetting$") }

const floodReads = evidence.MaxDenials + 200

// envReads tells the victim its stage.
const envReads = "CODEAGENT_TEST_READS"

// silentRead is one way to read a secret. It has a file of its own, which the trace names.
type silentRead struct {
	name string
	// file is below the stage; "" for home/.ssh/N.
	file string
	do   func(stage, file string) error
	// masked: only a mount keeps it shut.
	masked bool
}

func openRead(dir int, path string, flags int) error {
	fd, err := unix.Openat(dir, path, flags|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// openIn opens a file through a descriptor of a folder.
func openIn(folder, path string) error {
	fd, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return openRead(fd, path, unix.O_RDONLY)
}

// openLimited opens a file by openat2, through a descriptor of a folder.
func openLimited(folder, path string, resolve uint64) error {
	dir, err := unix.Open(folder, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	fd, err := unix.Openat2(dir, path, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC, Resolve: resolve})
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// readInOneMount is a row that opens a link which the test has made.
const readInOneMount = "by openat2 and a link, in one mount"

// openBy opens a path that a link in the workspace leads to.
func openBy(stage, target, rest string) error {
	link := filepath.Join(stage, "work", "link-"+filepath.Base(target))
	_ = os.Remove(link)
	if err := os.Symlink(target, link); err != nil {
		return err
	}
	return openRead(unix.AT_FDCWD, link+rest, unix.O_RDONLY)
}

var silentReads = []silentRead{
	{name: "by its name", do: func(_, f string) error { return openRead(unix.AT_FDCWD, f, unix.O_RDONLY) }},
	{name: "by openat2", do: func(_, f string) error { return openLimited("/", f, 0) }},
	{name: "in a scope of openat2", do: func(stage, f string) error {
		return openLimited(stage, strings.TrimPrefix(f, stage+"/"), unix.RESOLVE_BENEATH)
	}},
	{name: "by openat2, from the cache", do: func(_, f string) error {
		_ = unix.Access(f, unix.F_OK)    // so that it is there
		return openLimited("/", f, 0x20) // RESOLVE_CACHED
	}},
	{name: readInOneMount, do: func(stage, _ string) error { return openLimited(stage, "made", unix.RESOLVE_NO_XDEV) }},
	{name: "by the root of its child", do: func(_, f string) error {
		child := exec.Command("/bin/cat")
		in, err := child.StdinPipe()
		if err == nil {
			err = child.Start()
		}
		if err != nil {
			return err
		}
		defer child.Wait()
		defer in.Close()
		return openRead(unix.AT_FDCWD, fmt.Sprintf("/proc/%d/root%s", child.Process.Pid, f), unix.O_RDONLY)
	}},
	{name: "with O_CREAT", do: func(_, f string) error { return openRead(unix.AT_FDCWD, f, unix.O_RDONLY|unix.O_CREAT) }},
	{name: "by a link", do: func(stage, f string) error { return openBy(stage, f, "") }},
	{name: "by a link to its folder", do: func(stage, f string) error { return openBy(stage, filepath.Dir(f), "/"+filepath.Base(f)) }},
	{name: "from the working folder", do: func(_, f string) error {
		return openRead(unix.AT_FDCWD, "../home/.ssh/"+filepath.Base(f), unix.O_RDONLY)
	}},
	{name: "by a descriptor of its folder", do: func(_, f string) error { return openIn(filepath.Dir(f), filepath.Base(f)) }},
	{name: "by a descriptor and ..", do: func(stage, f string) error { return openIn(stage+"/work", "../home/.ssh/"+filepath.Base(f)) }},
	{name: "by a descriptor of itself", do: func(_, f string) error {
		fd, err := unix.Open(f, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return openRead(unix.AT_FDCWD, fmt.Sprint("/proc/self/fd/", fd), unix.O_RDONLY)
	}},
	{name: "by /proc/self/root", do: func(_, f string) error { return openRead(unix.AT_FDCWD, "/proc/self/root"+f, unix.O_RDONLY) }},
	{name: "by /proc/thread-self/cwd", do: func(_, f string) error {
		return openRead(unix.AT_FDCWD, "/proc/thread-self/cwd/../home/.ssh/"+filepath.Base(f), unix.O_RDONLY)
	}},
	{name: "by a child", do: func(_, f string) error {
		if err := exec.Command("/bin/cat", f).Run(); err != nil {
			return unix.EACCES
		}
		return nil
	}},
	{name: "by a thread", do: func(_, f string) error {
		done := make(chan error)
		go func() { done <- openRead(unix.AT_FDCWD, f, unix.O_RDONLY) }()
		return <-done
	}},
	{name: "to list its folder", file: "home/.ssh/sub", do: func(_, f string) error { return openRead(unix.AT_FDCWD, f, unix.O_RDONLY|unix.O_DIRECTORY) }},
	{name: "a file that is closed itself", file: "home/.netrc", do: func(_, f string) error { return openRead(unix.AT_FDCWD, f, unix.O_RDONLY) }},
	{name: "to list a folder above", file: "home", do: func(_, f string) error { return openRead(unix.AT_FDCWD, f, unix.O_RDONLY|unix.O_DIRECTORY) }},
	{name: "a record of codeagent", file: "state/sessions/old", masked: true, do: func(_, f string) error { return openRead(unix.AT_FDCWD, f, unix.O_RDONLY) }},
	{name: "a record by a link", file: "state/sessions/other", masked: true, do: func(stage, f string) error { return openBy(stage, filepath.Dir(f), "/other") }},
	{name: "by a pattern", file: "work/sub/.env", masked: true, do: func(_, f string) error { return openRead(unix.AT_FDCWD, f, unix.O_RDONLY) }},
	{name: "in a closed part of a write root", file: "work/shut/f", masked: true, do: func(_, f string) error { return openRead(unix.AT_FDCWD, f, unix.O_RDONLY) }},
	{name: "to write what a pattern closes", file: "work/other/.env", masked: true, do: func(_, f string) error { return openRead(unix.AT_FDCWD, f, unix.O_RDWR) }},
}

func (r silentRead) path(stage string, i int) string {
	if r.file == "" {
		return fmt.Sprintf("%s/home/.ssh/%d", stage, i)
	}
	return filepath.Join(stage, r.file)
}

// harmlessReads are opens that are no refused reads.
var harmlessReads = []silentRead{
	{name: "a reference", file: "home/.ssh/quiet", do: func(_, f string) error { return openRead(unix.AT_FDCWD, f, unix.O_PATH) }},
	{name: "what is not there", file: "home/.ssh/quiet", do: func(_, f string) error { return openRead(unix.AT_FDCWD, f+"-not", unix.O_RDONLY) }},
	{name: "nothing in a closed folder", file: "state/sessions/quiet", do: func(_, f string) error { return openRead(unix.AT_FDCWD, f+"-not", unix.O_RDONLY) }},
	{name: "a file as a folder", file: "home/.ssh/quiet", do: func(_, f string) error { return openRead(unix.AT_FDCWD, f, unix.O_RDONLY|unix.O_DIRECTORY) }},
	{name: "a link that is not followed", file: "home/.ssh/quiet", do: func(stage, f string) error {
		link := stage + "/work/unfollowed"
		_ = os.Remove(link)
		if err := os.Symlink(f, link); err != nil {
			return err
		}
		return openRead(unix.AT_FDCWD, link, unix.O_RDONLY|unix.O_NOFOLLOW)
	}},
	{name: "no path", do: func(string, string) error {
		_, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(0), 8, 0, 0, 0, 0)
		return errno
	}},
	{name: "a memfd again", do: func(string, string) error {
		fd, err := unix.MemfdCreate("m", unix.MFD_CLOEXEC)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return openRead(unix.AT_FDCWD, fmt.Sprint("/proc/self/fd/", fd), unix.O_RDONLY)
	}},
	{name: "standard input", do: func(string, string) error { return openRead(unix.AT_FDCWD, "/dev/stdin", unix.O_RDONLY) }},
	{name: "shared memory", do: func(string, string) error { return openRead(unix.AT_FDCWD, "/dev/shm", unix.O_RDONLY) }},
	{name: "the private folder", do: func(string, string) error { return openRead(unix.AT_FDCWD, os.Getenv("TMPDIR"), unix.O_RDONLY) }},
}

// ordinaryFiles calls visit with what ordinary programs open, and with everything of the stage.
func ordinaryFiles(stage string, visit func(path string)) {
	for _, root := range []string{stage + "/home", stage + "/work", stage + "/state", stage + "/temp", "/etc", "/usr/lib/locale", "/usr/share/zoneinfo", "/proc/self/task", "/proc/sys/kernel", "/sys/kernel/mm"} {
		left := 1500
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if left--; left < 0 {
				return fs.SkipAll
			}
			visit(path)
			return nil
		})
	}
	for _, path := range []string{"/", "/usr", "/bin", "/bin/sh", "/lib", "/lib64", "/dev", "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/tty", "/dev/ptmx",
		"/dev/pts", "/dev/shm", "/proc", "/proc/self", "/proc/self/exe", "/proc/self/cwd", "/proc/version", "/tmp", "/var/tmp", "/var", "/root", "/srv"} {
		visit(path)
	}
	for dir := stage; dir != "/"; dir = filepath.Dir(dir) {
		visit(dir)
	}
}

// TestReadsVictim makes the opens that its environment says, and prints how each ended.
func TestReadsVictim(t *testing.T) {
	what, stage, _ := strings.Cut(os.Getenv(envReads), " ")
	say := func(name string, err error) { fmt.Printf("%s=%d\n", name, errnoIn(err)) }
	switch what {
	case "":
		attack.BodyOf(t, "TestReadsSeen")
	case "silent":
		for i, r := range silentReads {
			say(r.name, r.do(stage, r.path(stage, i)))
		}
	case "harmless":
		for i, r := range harmlessReads {
			say(r.name, r.do(stage, r.path(stage, i)))
		}
	case "ordinary":
		for line := range strings.Lines(os.Getenv("PATHS")) {
			path := strings.TrimSuffix(line, "\n")
			say(path, openRead(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY))
		}
	case "flood":
		for i := range floodReads {
			_ = openRead(unix.AT_FDCWD, fmt.Sprintf("%s/flood/%d", stage, i), unix.O_RDONLY)
		}
	}
	os.Exit(0)
}

func errnoIn(err error) int {
	errno := syscall.Errno(0)
	if err != nil && !errors.As(err, &errno) {
		errno = unix.EIO
	}
	return int(errno)
}

// readsStage furnishes a stage, and returns the policy under which its secrets are closed.
func readsStage(t *testing.T) (stage string, p sandbox.Policy) {
	t.Helper()
	stage, err := os.MkdirTemp(os.Getenv(attack.EnvStage), "reads")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { attack.RemoveAll(stage) })
	files := []string{"home/.ssh/quiet", "home/.ssh/sub/deep", "home/.config/open", "home/open", "state/sessions/quiet", "work/file", "work/sub/file", "temp/f"}
	for i, r := range silentReads {
		if name := strings.TrimPrefix(r.path(stage, i), stage+"/"); name != "home" && name != "home/.ssh/sub" {
			files = append(files, name)
		}
	}
	for i := range floodReads {
		files = append(files, fmt.Sprint("flood/", i))
	}
	for _, name := range files {
		path := filepath.Join(stage, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("secret"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	made := slices.IndexFunc(silentReads, func(r silentRead) bool { return r.name == readInOneMount })
	err = errors.Join(os.Chmod(stage+"/home/open", 0), os.Symlink(silentReads[made].path(".", made), stage+"/made"))
	if err != nil {
		t.Fatal(err)
	}
	p = sandbox.WorkspaceWrite(stage + "/work")
	p.Temp = stage + "/temp"
	p.DenyRead = []string{stage + "/home/.ssh", stage + "/home/.netrc"}
	return stage, p
}

// TestReadsSeenInSetting is the body of TestReadsSeen.
func TestReadsSeenInSetting(t *testing.T) {
	attack.CurrentSetting(t, "TestReadsSeen")
	b := backendtest.New(t)
	defer b.Close()
	stage, p := readsStage(t)
	f := backendtest.Facts(t, b)
	if f.Namespaces {
		p.DenyRead = append(p.DenyRead, stage+"/work/shut")
		p.DenyGlobs, p.Protected.Own, p.Protected.Hidden = []string{"**/.env"}, []string{stage + "/state"}, []string{stage + "/state/sessions"}
	}
	both := func(what, paths string) (bare, boxed map[string]syscall.Errno, trace sandbox.Trace) {
		t.Helper()
		args := []string{"victim", "-test.run=^TestReadsVictim$"}
		env := []string{envReads + "=" + what + " " + stage, "PATHS=" + paths, "TMPDIR=" + p.Temp, sandboxtest.NoPause}
		plain := exec.Command(os.Args[0], args[1:]...)
		plain.Dir, plain.Env = stage+"/work", env
		out, err := plain.Output()
		if err != nil {
			t.Fatal(err)
		}
		said, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer said.Close()
		proc, err := sandboxtest.Start(b, t.Context(), p, sandbox.Command{Path: os.Args[0], Args: args, Dir: stage + "/work", Env: env, Stdout: said, Reads: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if st, err := proc.Wait(); err != nil || st.Exit != 0 {
			t.Fatalf("%+v %v", st, err)
		}
		text, err := os.ReadFile(said.Name())
		if err != nil {
			t.Fatal(err)
		}
		if trace = proc.Trace(); !trace.Reads {
			t.Error("the trace does not say that reads were seen")
		}
		return errnos(t, string(out)), errnos(t, string(text)), trace
	}
	of := func(tr sandbox.Trace, target string) (out []sandbox.Denial) {
		for _, d := range tr.Denials {
			if d.Target == target {
				out = append(out, d)
			}
		}
		return out
	}

	bare, boxed, trace := both("silent", "")
	for i, r := range silentReads {
		found := of(trace, r.path(stage, i))
		switch {
		case r.masked && !f.Namespaces:
		case bare[r.name] != 0:
			t.Errorf("%s: %v without a sandbox: nothing is shown", r.name, bare[r.name])
		case boxed[r.name] == 0:
			t.Errorf("%s: could be read", r.name)
		case len(found) != 1 || found[0].Kind != sandbox.KindRead || found[0].Count != 1 || found[0].Moot || found[0].Evidence != sandbox.EvidenceKernel:
			t.Errorf("%s: %v, recorded %+v", r.name, boxed[r.name], found)
		}
	}

	_, boxed, trace = both("harmless", "")
	if len(trace.Denials) > 0 {
		t.Errorf("recorded, and harmless: %+v\n%v", trace.Denials, boxed)
	}

	var paths []string
	ordinaryFiles(stage, func(path string) {
		if !slices.Contains(paths, path) && !strings.ContainsAny(path, "\n=") {
			paths = append(paths, path)
		}
	})
	compared := map[string]int{}
	for part := range slices.Chunk(paths, 1000) { // an environment has a limit
		bare, boxed, trace = both("ordinary", strings.Join(part, "\n"))
		for _, path := range part {
			target := path // a link is named by what it leads to
			if real, err := filepath.EvalSymlinks(path); err == nil && !strings.HasPrefix(path, "/proc") {
				target = real
			}
			found := slices.ContainsFunc(of(trace, target), func(d sandbox.Denial) bool { return !d.Moot })
			refused := boxed[path] == unix.EACCES && bare[path] == 0
			if compared[fmt.Sprint(boxed[path])]++; found != refused {
				t.Errorf("%s: %v without a sandbox, %v in it, recorded: %v", path, bare[path], boxed[path], found)
			}
		}
		for _, d := range trace.Denials {
			if !d.Moot && boxed[d.Target] == 0 && slices.Contains(part, d.Target) {
				t.Errorf("recorded, and not refused: %+v", d)
			}
		}
	}
	t.Logf("%d opens compared: %v", len(paths), compared)

	// A flood is bounded, and its trace says that it is not whole.
	p.DenyRead = append(p.DenyRead, stage+"/flood")
	if _, _, trace = both("flood", ""); len(trace.Denials) != evidence.MaxDenials || trace.Evidence != sandbox.EvidencePartial {
		t.Errorf("after a flood: %d denials, %s", len(trace.Denials), trace.Evidence)
	}
}
