//go:build linux

// Package kernel holds the calls of Linux that several rooms below linuxsandbox make
// alike: paths opened through no link, descriptors with high numbers, vfork, the
// capabilities of a thread, and what /proc shows of processes. It imports nothing of
// ours and decides nothing. Start with path.go, by which every path of a policy is
// opened.
package kernel

import (
	"golang.org/x/sys/unix"
)

// OpenPath opens path for reference only (O_PATH). No component may be a
// symbolic link: policy paths are canonical, so a link there is new.
func OpenPath(path string) (int, error) {
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
			Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
		})
		if err != unix.EINTR && err != unix.EAGAIN {
			return fd, err
		}
	}
}

// StatPath looks at what OpenPath opens.
func StatPath(path string) (unix.Stat_t, error) {
	var st unix.Stat_t
	fd, err := OpenPath(path)
	if err != nil {
		return st, err
	}
	defer unix.Close(fd)
	return st, unix.Fstat(fd, &st)
}
