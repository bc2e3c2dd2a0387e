//go:build linux

package kernel

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"codeagent/hostfile"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// FuzzCanonicalAgainstKernel: for a path among links, some made by the fuzzer, Canonical agrees
// with the kernel.
func FuzzCanonicalAgainstKernel(f *testing.F) {
	for _, seed := range [][2]string{
		{"../b", "d/l/x"}, {"l", "l"}, {"/", "l/tmp"}, {".", "l/l/l/f"}, {"d/../f", "l"}, {"missing", "l"}, {"d/missing/..", "l"},
		{"f/", "l"}, {"//", "d//./l"}, {"..", "l/../l"}, {"\xff", "l"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, target, name string) {
		if target == "" || len(target) > 200 || len(name) > 200 || strings.ContainsRune(target+name, 0) {
			return
		}
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(os.MkdirAll(root+"/d/e", 0o755), os.WriteFile(root+"/f", nil, 0o644),
			os.Symlink(target, root+"/l"), os.Symlink(target, root+"/d/l"))
		if err != nil {
			t.Fatal(err)
		}
		asked := root + "/" + name
		got, err := sandbox.Canonical(hostfile.OS{}, root, asked)
		fd, bad := unix.Open(asked, unix.O_PATH|unix.O_CLOEXEC, 0)
		if bad != nil {
			if err == nil && errors.Is(bad, unix.ELOOP) {
				t.Errorf("%q is %q; the kernel says %v", asked, got, bad)
			}
			return
		}
		defer unix.Close(fd)
		where, bad := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if bad != nil || strings.HasPrefix(where, "/proc/") || strings.HasPrefix(where, "/dev/") {
			return // these are names of processes, not of files
		}
		if err != nil || got != where {
			t.Errorf("%q is %q, %v; the kernel says %q", asked, got, err, where)
		}
		rooted(t, got)
	})
}

// rooted checks that the backend opens exactly the named file as a root.
func rooted(t *testing.T, path string) {
	t.Helper()
	fd, err := OpenPath(path)
	if errors.Is(err, fs.ErrPermission) {
		return
	}
	if err != nil {
		t.Errorf("a canonical path cannot be opened as a root: %s: %v", path, err)
		return
	}
	defer unix.Close(fd)
	if where, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)); err != nil || where != path {
		t.Errorf("root %s opens %s, %v", path, where, err)
	}
}
