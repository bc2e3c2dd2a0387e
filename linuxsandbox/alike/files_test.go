//go:build linux

package alike

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox/backendtest"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"

	"golang.org/x/sys/unix"
)

// What the broker carries out must look as if the kernel had done it: the same result, the same
// errno, the same files. The same calls run without a sandbox and inside it, each time in a
// separate folder, and the results are compared line by line.

// TestFilesAlike does that in every setting.
func TestFilesAlike(t *testing.T) { tests.InSettings(t, "^TestFilesAlikeInSetting$") }

// These variables tell the victim its folder, and to make only every n-th call.
const (
	envAlike = "CODEAGENT_TEST_ALIKE"
	envEvery = "CODEAGENT_TEST_EVERY"
)

func TestFilesAlikeInSetting(t *testing.T) {
	s := attack.CurrentSetting(t, "TestFilesAlike")
	b := backendtest.New(t)
	defer b.Close()
	base, err := os.MkdirTemp(os.Getenv(attack.EnvStage), "alike")
	if err != nil {
		t.Fatal(err)
	}
	defer attack.RemoveAll(base)
	// Both runs use the same path, so that names and links are equal.
	dir := filepath.Join(base, "work")
	all := strings.HasPrefix(s.Name, "user") && !strings.Contains(s.Name, "namespaces")
	sample, rows := sampleAlike(t, 29, all)
	env := []string{envAlike + "=" + dir, envEvery + "=" + sample.String(), sandboxtest.NoPause}
	args := []string{os.Args[0], "-test.run=^TestFilesAlikeVictim$"}
	steps := func() {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	steps()
	bare := exec.Command(os.Args[0], args[1:]...)
	bare.Env, bare.Dir = env, dir
	plain, err := bare.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, plain)
	}
	attack.RemoveAll(dir)
	steps()
	p := sandbox.WorkspaceWrite(dir)
	st, boxed := sandboxtest.Output(t, b, p, sandbox.Command{Path: os.Args[0], Args: args, Env: env, Dir: dir})
	if st.Exit != 0 {
		t.Fatalf("%+v\n%s", st, boxed)
	}
	compareLines(t, rows, string(plain), boxed)
}

// sampleAlike chooses calls of alikeTable, and counts them.
func sampleAlike(t *testing.T, home int, all bool) (sample machine.Rows, rows int) {
	t.Helper()
	sample = machine.SampleOf(t, home, all)
	for i := range alikeTable("/") {
		if sample.Has(i) {
			rows++
		}
	}
	return sample, rows
}

// compareLines reports the differences between the lines of so many calls, up to a limit.
func compareLines(t *testing.T, rows int, plain, boxed string) {
	t.Helper()
	a, b := strings.Split(plain, "\n"), strings.Split(boxed, "\n")
	if rows == 0 || len(a) <= rows || len(b) != len(a) { // a name in a result may break a line
		t.Fatalf("%d and %d lines of %d calls: %s", len(a), len(b), rows, b[len(b)-1])
	}
	wrong := 0
	for i := range a {
		if a[i] != b[i] {
			if wrong++; wrong <= 20 {
				t.Errorf("plain   %s\nsandbox %s", a[i], b[i])
			}
		}
	}
	t.Logf("%d calls, %d of them differ", len(a), wrong)
}

// TestFilesAlikeVictim makes the calls.
func TestFilesAlikeVictim(t *testing.T) {
	dir := os.Getenv(envAlike)
	if dir == "" {
		attack.BodyOf(t, "TestFilesAlike")
	}
	unix.Umask(0o027)
	for i, c := range alikeCases(dir) {
		if !inSample(t, i) {
			continue
		}
		in := filepath.Join(dir, fmt.Sprintf("w%d", i))
		furnishAlike(in)
		result := c.do()
		fmt.Printf("%s: %s | %s\n", c.name, result, pictureAlike(in))
		if err := os.Chdir(dir); err != nil {
			fmt.Println(err)
		}
		if err := os.RemoveAll(in); err != nil {
			fmt.Println(err)
		}
	}
	os.Exit(0)
}

type alikeCase struct {
	name string
	do   func() string
}

// furnishAlike creates the folder in and changes to it.
func furnishAlike(in string) {
	steps := []error{
		os.Mkdir(in, 0o755), os.Chdir(in), os.WriteFile("f", []byte("hello"), 0o644), os.Mkdir("d", 0o755),
		os.WriteFile("d/x", []byte("x"), 0o600), os.Mkdir("e", 0o700), os.Symlink("f", "l"), os.Symlink("d", "ld"), os.Symlink("d/new", "dang"),
		os.Symlink("loop", "loop"), os.Symlink(in+"/f", "al"), os.Symlink("../"+filepath.Base(in)+"/d/", "up"), os.Symlink("f/", "lf"),
		os.Symlink("f/.", "lfd"), os.Symlink("d/new/", "ln"), unix.Mkfifo("p", 0o644),
	}
	for _, err := range steps {
		if err != nil {
			fmt.Println(err)
		}
	}
}

// pictureAlike lists the contents of the folder.
func pictureAlike(in string) string {
	var out []string
	for _, dir := range []string{"", "d", "e"} {
		entries, err := os.ReadDir(filepath.Join(in, dir))
		if err != nil {
			continue
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			var st unix.Stat_t
			if err := unix.Lstat(filepath.Join(in, path), &st); err != nil {
				out = append(out, path+"?")
				continue
			}
			size := st.Size
			if st.Mode&unix.S_IFMT == unix.S_IFDIR {
				size = 0
			}
			link, _ := os.Readlink(filepath.Join(in, path))
			out = append(out, fmt.Sprintf("%s %o %d %d %s", path, st.Mode, size, st.Nlink, filepath.Base(link)))
		}
	}
	return strings.Join(out, ", ")
}

func errnoName(err error) string {
	if err == nil {
		return "ok"
	}
	if errno, ok := err.(unix.Errno); ok {
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

// alikePaths name existing and missing entries, and indirect paths to both.
func alikePaths(dir string) []string {
	return []string{
		"f", "d", "l", "ld", "dang", "loop", "al", "up", "p", "none", "none/x", "f/x", "d/x", "ld/x", "up/x", "d/new", "ld/new", "up/new",
		"f/", "f/.", "f/..", "lf", "lf/x", "lfd", "ln", "d/", "l/", "ld/", "none/", "dang/", "loop/", ".", "..", "d/.", "d/..", "./f", "d/../f", "ld/../f", "up/../f", "", "/", "//", "d//x", "e/../none",
		strings.Repeat("n", 255), strings.Repeat("n", 256), strings.Repeat("d/", 2100), "/proc/self/cwd/f", "/proc/self/cwd/none", "/proc/self/cwd/d/new",
		"/proc/thread-self/cwd/f", "/dev/null", "/proc/self/nothing", dir + "/absent/x",
	}
}

func alikeCases(dir string) []alikeCase { return append(alikeTable(dir), alikeSingles()...) }

func alikeTable(dir string) []alikeCase {
	var out []alikeCase
	add := func(name string, do func() string) { out = append(out, alikeCase{name, do}) }
	paths := alikePaths(dir)
	short := func(p string) string { return strings.ReplaceAll(p[:min(len(p), 60)], dir, "DIR") }
	for _, f := range []struct {
		name  string
		flags int
	}{
		{"W", unix.O_WRONLY}, {"RW+C", unix.O_RDWR | unix.O_CREAT}, {"W+CX", unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL},
		{"W+T", unix.O_WRONLY | unix.O_TRUNC}, {"W+NF", unix.O_WRONLY | unix.O_NOFOLLOW}, {"W+C+NF", unix.O_WRONLY | unix.O_CREAT | unix.O_NOFOLLOW},
		{"R+C", unix.O_CREAT}, {"R+T", unix.O_TRUNC}, {"W+D", unix.O_WRONLY | unix.O_DIRECTORY}, {"W+C+T+A", unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC | unix.O_APPEND | unix.O_CLOEXEC},
		{"W+P", unix.O_WRONLY | unix.O_PATH}, {"TMP", unix.O_RDWR | unix.O_TMPFILE}, {"TMP+R", unix.O_TMPFILE}, {"RW+SYNC", unix.O_RDWR | unix.O_SYNC},
	} {
		for _, p := range paths {
			if f.flags&unix.O_TMPFILE == unix.O_TMPFILE && (strings.HasPrefix(p, "/") || len(p) > 4000) {
				continue // a folder outside, which only one run may write: two errors at once
			}
			add("open "+f.name+" "+short(p), func() string { return openAlike(p, f.flags|unix.O_NONBLOCK) })
		}
	}
	for _, p := range paths {
		if strings.HasPrefix(p, "/dev/") || p == "/proc/self/nothing" {
			continue // outside: refused either way, but by different layers
		}
		add("mkdir "+short(p), func() string { return errnoName(unix.Mkdir(p, 0o1777)) })
		add("rmdir "+short(p), func() string { return errnoName(unix.Rmdir(p)) })
		add("unlink "+short(p), func() string { return errnoName(unix.Unlink(p)) })
		add("unlinkat "+short(p), func() string { return errnoName(unix.Unlinkat(unix.AT_FDCWD, p, unix.AT_REMOVEDIR)) })
		add("symlink "+short(p), func() string { return errnoName(unix.Symlink("anything at all", p)) })
		add("truncate "+short(p), func() string { return errnoName(unix.Truncate(p, 3)) })
		if !strings.HasPrefix(p, "/") {
			add("chmod "+short(p), func() string { return errnoName(unix.Chmod(p, 0o700)) })
			add("utimes "+short(p), func() string { return errnoName(unix.UtimesNano(p, make([]unix.Timespec, 2))) })
			add("lutimes "+short(p), func() string {
				return errnoName(unix.UtimesNanoAt(unix.AT_FDCWD, p, make([]unix.Timespec, 2), unix.AT_SYMLINK_NOFOLLOW))
			})
			add("setxattr "+short(p), func() string { return errnoName(unix.Setxattr(p, "user.codeagent", []byte("x"), 0)) })
		}
		add("mknod "+short(p), func() string { return errnoName(unix.Mknod(p, 0o664, 0)) })
		add("mkfifo "+short(p), func() string { return errnoName(unix.Mkfifo(p, 0o666)) })
		add("socket node "+short(p), func() string { return errnoName(unix.Mknod(p, unix.S_IFSOCK|0o666, 0)) })
	}
	out = append(out, alikePairs(paths, short)...)
	return append(out, alikeScoped(paths, short)...)
}

// openAlike opens a file, writes to it, and reports the result.
func openAlike(path string, flags int) string {
	fd, err := unix.Open(path, flags, 0o1666)
	if err != nil {
		return errnoName(err)
	}
	return fileAlike(fd)
}

func fileAlike(fd int) string {
	defer unix.Close(fd)
	got, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	kept, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	_, err := unix.Write(fd, []byte("w"))
	var st unix.Stat_t
	bad := unix.Fstat(fd, &st)
	// An existing file is opened through its descriptor, which is a link in /proc.
	got &^= unix.O_NOFOLLOW
	return fmt.Sprintf("ok flags %o %d write %s mode %o %s", got, kept, errnoName(err), st.Mode, errnoName(bad))
}

func alikePairs(paths []string, short func(string) string) []alikeCase {
	var out []alikeCase
	add := func(name string, do func() string) { out = append(out, alikeCase{name, do}) }
	some := []string{"f", "d", "e", "l", "ld", "dang", "p", "none", "d/x", "d/new", "e/new", "f/", "d/", "none/", ".", "d/..", "e/sub", "d/sub/", "", "al"}
	for _, from := range some {
		for _, to := range some {
			for _, flags := range []uint{0, unix.RENAME_NOREPLACE, unix.RENAME_EXCHANGE, 8} {
				add(fmt.Sprintf("rename %d %s %s", flags, from, to), func() string {
					return errnoName(unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags))
				})
			}
			for _, flags := range []int{0, unix.AT_SYMLINK_FOLLOW, unix.AT_REMOVEDIR} {
				add(fmt.Sprintf("link %d %s %s", flags, from, to), func() string {
					return errnoName(unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags))
				})
			}
		}
	}
	return out
}

func alikeScoped(paths []string, short func(string) string) []alikeCase {
	var out []alikeCase
	for _, resolve := range []uint64{0, unix.RESOLVE_BENEATH, unix.RESOLVE_IN_ROOT, unix.RESOLVE_NO_SYMLINKS, unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS} {
		for _, p := range paths {
			if resolve != 0 && (strings.HasPrefix(p, "/proc") || strings.HasPrefix(p, "/dev")) {
				continue
			}
			for _, flags := range []uint64{unix.O_RDONLY, unix.O_WRONLY, unix.O_RDWR | unix.O_CREAT} {
				out = append(out, alikeCase{fmt.Sprintf("openat2 %#x %#x %s", resolve, flags, short(p)), func() string {
					mode := uint64(0)
					if flags&unix.O_CREAT != 0 {
						mode = 0o644
					}
					fd, err := -1, error(unix.EAGAIN)
					// Repeat until no rename on the machine interferes (openat2(2)).
					for n := 0; err == unix.EAGAIN && n < 1000; n++ {
						fd, err = unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{Flags: flags | unix.O_NONBLOCK, Mode: mode, Resolve: resolve})
					}
					if err != nil {
						return errnoName(err)
					}
					return fileAlike(fd)
				}})
			}
		}
	}
	return out
}

// alikeSingles are cases that do not fit a table.
func alikeSingles() []alikeCase {
	dirfd := func(do func(fd int) error) func() string {
		return func() string {
			fd, err := unix.Open("d", unix.O_RDONLY|unix.O_DIRECTORY, 0)
			if err != nil {
				return errnoName(err)
			}
			defer unix.Close(fd)
			return errnoName(do(fd))
		}
	}
	return []alikeCase{
		{"mkdirat", dirfd(func(fd int) error { return unix.Mkdirat(fd, "sub", 0o777) })},
		{"a folder that is gone", dirfd(func(fd int) error {
			_ = os.RemoveAll("d")
			return unix.Mkdirat(fd, "sub", 0o777)
		})},
		{"renameat", dirfd(func(fd int) error { return unix.Renameat(fd, "x", unix.AT_FDCWD, "y") })},
		{"linkat", dirfd(func(fd int) error { return unix.Linkat(fd, "x", unix.AT_FDCWD, "y", 0) })},
		{"symlinkat", dirfd(func(fd int) error { return unix.Symlinkat("t", fd, "s") })},
		{"a bad descriptor", func() string { return errnoName(unix.Mkdirat(77, "sub", 0o777)) }},
		{"a bad descriptor, absolute", func() string { return errnoName(unix.Mkdirat(77, "/proc", 0o777)) }},
		{"a file as a folder", func() string {
			fd, _ := unix.Open("f", unix.O_RDONLY, 0)
			defer unix.Close(fd)
			return errnoName(unix.Mkdirat(fd, "sub", 0o777))
		}},
		{"a temporary file gets a name", func() string {
			fd, err := unix.Open(".", unix.O_RDWR|unix.O_TMPFILE, 0o666)
			if err != nil {
				return errnoName(err)
			}
			err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, "named", unix.AT_SYMLINK_FOLLOW)
			return errnoName(err) + fileAlike(fd)
		}},
		{"an open file by its descriptor", func() string {
			fd, _ := unix.Open("f", unix.O_RDONLY, 0)
			defer unix.Close(fd)
			return openAlike(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_WRONLY|unix.O_TRUNC)
		}},
		{"a file without a name by its descriptor", func() string {
			fd, _ := unix.Open("f", unix.O_RDONLY, 0)
			defer unix.Close(fd)
			_ = unix.Unlink("f")
			return openAlike(fmt.Sprintf("/dev/fd/%d", fd), unix.O_RDWR)
		}},
		{"a pipe by its descriptor", func() string {
			var p [2]int
			_ = unix.Pipe2(p[:], unix.O_CLOEXEC)
			defer unix.Close(p[0])
			defer unix.Close(p[1])
			return openAlike(fmt.Sprintf("/proc/self/fd/%d", p[1]), unix.O_WRONLY)
		}},
		{"no descriptor is left", func() string {
			var old unix.Rlimit
			_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &old)
			now := old
			now.Cur = 3
			_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &now)
			result := openAlike("f", unix.O_WRONLY)
			_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &old)
			return result
		}},
		{"another umask", func() string {
			old := unix.Umask(0o002)
			defer unix.Umask(old)
			return openAlike("made", unix.O_WRONLY|unix.O_CREAT) + errnoName(unix.Mkdir("e/sub", 0o777)) + errnoName(unix.Mkfifo("e/p", 0o666))
		}},
		{"no umask", func() string {
			old := unix.Umask(0)
			defer unix.Umask(old)
			return openAlike("made", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) + errnoName(unix.Mkdir("e/sub", 0o1777))
		}},
		{"a folder that hands its group on", func() string {
			_ = unix.Chmod("e", 0o2770)
			old := unix.Umask(0)
			defer unix.Umask(old)
			return openAlike("e/made", unix.O_WRONLY|unix.O_CREAT) + errnoName(unix.Mkdir("e/sub", 0o777))
		}},
		{"a folder without permissions", func() string {
			_ = unix.Chmod("e", 0)
			defer unix.Chmod("e", 0o700)
			if os.Getuid() == 0 {
				return ""
			}
			return openAlike("e/made", unix.O_WRONLY|unix.O_CREAT) + errnoName(unix.Mkdir("e/sub", 0o777)) + errnoName(unix.Rename("f", "e/f"))
		}},
	}
}

// inSample reports whether the i-th row is in the sample that the environment selects.
func inSample(t *testing.T, i int) bool {
	t.Helper()
	rows, err := machine.ParseRows(os.Getenv(envEvery))
	if err != nil {
		t.Fatal(err)
	}
	return rows.Has(i)
}
