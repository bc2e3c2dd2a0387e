//go:build linux

package escapes

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// wayEscapes write outside through every kind of path that can lead there.
func wayEscapes() []attempt {
	// through writes to a path after way has prepared it.
	through := func(name, escape string, way func(p place) (string, error)) attempt {
		return outside(name, escape, func(p place) error {
			path, err := way(p)
			if err != nil {
				return fmt.Errorf("make the way: %w", err)
			}
			return writeTo(path, unix.O_WRONLY|unix.O_CREAT)
		})
	}
	link := func(target func(p place) string, rest string) func(p place) (string, error) {
		return func(p place) (string, error) { return p.in + "/l" + rest, os.Symlink(target(p), p.in+"/l") }
	}
	path := func(f func(p place) string) func(p place) (string, error) {
		return func(p place) (string, error) { return f(p), nil }
	}
	outFile := func(p place) string { return p.out + "/file" }
	return []attempt{
		through("symlink in the last component", "E1", link(outFile, "")),
		through("symlink in a middle component", "E22", link(func(p place) string { return p.out }, "/file")),
		through("dangling symlink", "E3", link(func(p place) string { return p.out + "/not-yet" }, "")),
		through("relative symlink", "E3", link(func(p place) string { return "../../out/" + base(p.out) + "/file" }, "")),
		through("symlink with .. in it", "E3", link(func(p place) string { return p.in + "/sub/../../../out/" + base(p.out) + "/file" }, "")),
		through("chain of symlinks", "E22", func(p place) (string, error) {
			err := os.Symlink(p.out+"/file", p.in+"/chain0")
			for i := range 20 {
				err = errors.Join(err, os.Symlink(fmt.Sprintf("chain%d", i), fmt.Sprintf("%s/chain%d", p.in, i+1)))
			}
			return p.in + "/chain20", err
		}),
		through("symlink to the root", "E22", func(p place) (string, error) { return p.in + "/r" + p.out + "/file", os.Symlink("/", p.in+"/r") }),
		through("symlink that is swapped after it was looked at", "E7", func(p place) (string, error) {
			err := os.Symlink(p.in+"/mine", p.in+"/l")
			_, looked := os.ReadFile(p.in + "/l")
			return p.in + "/l", errors.Join(err, looked, os.Symlink(p.out+"/file", p.in+"/l2"), os.Rename(p.in+"/l2", p.in+"/l"))
		}),
		through("..", "E6", path(func(p place) string { return p.in + "/../../out/" + base(p.out) + "/file" })),
		through(".. from the working folder", "E4", path(func(p place) string { return "../../out/" + base(p.out) + "/file" })),
		through(".. above the root", "E6", path(func(p place) string { return strings.Repeat("../", 40) + p.out + "/file" })),
		through("doubled slashes and dots", "E6", path(func(p place) string { return "//." + p.out + "//./file" })),
		through("/proc/self/root", "E6", path(func(p place) string { return "/proc/self/root" + p.out + "/file" })),
		through("/proc/PID/root", "E6", path(func(p place) string { return "/proc/" + strconv.Itoa(os.Getpid()) + "/root" + p.out + "/file" })),
		through("/proc/thread-self/root", "E6", path(func(p place) string { return "/proc/thread-self/root" + p.out + "/file" })),
		through("/proc/self/cwd/..", "E6", path(func(p place) string { return "/proc/self/cwd/../../out/" + base(p.out) + "/file" })),
		through("/proc/self/fd/N/..", "E6", func(p place) (string, error) {
			fd, err := unix.Open(p.in, unix.O_PATH, 0)
			return fmt.Sprintf("/proc/self/fd/%d/../../out/%s/file", fd, base(p.out)), err
		}),
		through("/dev/fd/N of a file that is open to read", "E6", reopened("/dev/fd/", unix.O_RDONLY)),
		through("/proc/self/fd/N of a file that is open as a path", "E6", reopened("/proc/self/fd/", unix.O_PATH)),
		through("working folder outside", "E4", func(p place) (string, error) { return "file", os.Chdir(p.out) }),
		outside("open below a folder's descriptor", "E22", func(p place) error {
			return withFD(p.out, unix.O_PATH|unix.O_DIRECTORY, func(fd int) error { return writeAt(fd, "file", unix.O_WRONLY) })
		}),
		outside("fchdir", "E4", func(p place) error {
			return withFD(p.out, unix.O_RDONLY|unix.O_DIRECTORY, func(fd int) error {
				return errors.Join(unix.Fchdir(fd), writeTo("file", unix.O_WRONLY))
			})
		}),
		outside("openat2", "E22", func(p place) error {
			fd, err := unix.Openat2(unix.AT_FDCWD, p.out+"/new", &unix.OpenHow{Flags: create | unix.O_CLOEXEC, Mode: 0o644})
			if err == nil {
				err = unix.Close(fd)
			}
			return err
		}),
		through("a sibling that begins with the root's name", "E8", func(p place) (string, error) {
			return p.Base + "/out/" + base(p.out) + "/" + base(p.in) + "-beside", nil
		}),
		through("a name of strange bytes", "E61", path(func(p place) string { return p.out + "/a\n\xff\"(" })),
		outside("unlink through a symlinked folder", "E22", func(p place) error {
			return errors.Join(os.Symlink(p.out, p.in+"/d"), unix.Unlink(p.in+"/d/file"))
		}),
		outside("rename through a symlinked folder", "E22", func(p place) error {
			return errors.Join(os.Symlink(p.out, p.in+"/d"), unix.Rename(p.in+"/d/file", p.in+"/d/moved"))
		}),
		outside("mkdir through a symlinked folder", "E22", func(p place) error {
			return errors.Join(os.Symlink(p.out, p.in+"/d"), unix.Mkdir(p.in+"/d/made", 0o755))
		}),
	}
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// reopened opens the file through the name of a descriptor.
func reopened(prefix string, flags int) func(p place) (string, error) {
	return func(p place) (string, error) {
		fd, err := unix.Open(p.out+"/file", flags, 0)
		return prefix + strconv.Itoa(fd), err
	}
}
