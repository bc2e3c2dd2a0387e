//go:build linux

package keeper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"codeagent/linuxsandbox/kernel"
	"codeagent/linuxsandbox/spec"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// testWalls shows that another program has mounted what it was ordered to, and nothing else.
//
// Threat: that program looks names up once more, as the user. Between codeagent's look and its own, another
// program of the user can put a link at such a name, so that a folder of the host is writable that no policy names.
func testWalls(w *spec.Walls) error {
	if !w.Shared {
		if err := testAlone(w); err != nil {
			return err
		}
	}
	for _, path := range slices.Concat(w.ReadOnly, []string{"/"}) {
		at, err := kernel.OpenPath(path)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		var fs unix.Statfs_t
		if err == nil {
			err = unix.Fstatfs(at, &fs)
			unix.Close(at)
		}
		if err != nil {
			return &os.PathError{Op: "look at", Path: path, Err: err}
		}
		if fs.Flags&unix.ST_RDONLY == 0 {
			return fmt.Errorf("%s is not read-only", path)
		}
	}
	for _, want := range w.Shown {
		is, err := spec.PlaceOf(want.Path, want.Path)
		if err != nil {
			return &os.PathError{Op: "look at", Path: want.Path, Err: err}
		}
		if is != want {
			return fmt.Errorf("%s is not the file or folder that it was when the policy was made", want.Path)
		}
	}
	return nil
}

// cutOff gives this thread mounts of its own, in which nothing that is mounted outside appears any more. Threat: bwrap
// leaves them slaves of the host's, so that a disk that somebody mounts while a command runs would be writable for it.
func cutOff() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	return os.NewSyscallError("make mounts private", unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
}

// shut reports whether the way to path leads through a folder of another user that is closed to this one. bwrap leaves
// mounts behind it as they are, such as those of root's containers. A folder of this user does not count: another program
// could open it.
func shut(path string) bool {
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		var st unix.Stat_t
		if unix.Lstat(dir, &st) == nil {
			return int(st.Uid) != unix.Getuid() && unix.Access(dir, unix.X_OK) == unix.EACCES
		}
	}
	return false
}

// writableMounts lists where mounts are writable.
func writableMounts(table string) (paths []string, err error) {
	all, err := kernel.Mounts(table)
	last := map[string]bool{}
	for _, m := range all {
		last[m.Path] = m.Writable
	}
	for path, writable := range last {
		if writable {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// testAlone shows that the command cannot write to any other mount, nor to other processes.
func testAlone(w *spec.Walls) error {
	if unix.Getpid() != 1 {
		return errors.New("the keeper is not process 1 of a PID namespace")
	}
	table, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return err
	}
	open, err := writableMounts(string(table))
	if err != nil {
		return err
	}
	for _, path := range open {
		if !sandbox.CoveredBy(w.Writable, path) && !shut(path) {
			return fmt.Errorf("the mount at %s is writable", path)
		}
	}
	return nil
}
