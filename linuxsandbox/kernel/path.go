//go:build linux

// Package kernel wraps the Linux calls that several rooms below linuxsandbox share: paths opened
// through no link, descriptors with high numbers, vfork, the capabilities of a thread, and what
// /proc shows about processes. It imports nothing of ours and decides nothing. Start with path.go,
// which opens every path of a policy.
package kernel

import (
	"golang.org/x/sys/unix"
)

// OpenPath opens path as a reference (O_PATH). No component may be a symbolic link: policy paths
// are canonical, so a link there is new.
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

// StatPath returns the state of the file that OpenPath opens.
func StatPath(path string) (unix.Stat_t, error) {
	var st unix.Stat_t
	fd, err := OpenPath(path)
	if err != nil {
		return st, err
	}
	defer unix.Close(fd)
	return st, unix.Fstat(fd, &st)
}
