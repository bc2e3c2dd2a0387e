//go:build linux

package keeper

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// closeOnExec marks every descriptor from first on. A descriptor that stays open across execve(2)
// could be a way out of the sandbox. Linux has close_range(2) since 5.9, but containers with an old
// filter refuse it with EPERM or ENOSYS. Then each descriptor is marked one by one, and the child
// marks those up to last again. last is 0 if the kernel did it.
func closeOnExec(first int) (last int, err error) {
	err = unix.CloseRange(uint(first), ^uint(0)>>32, unix.CLOSE_RANGE_CLOEXEC)
	if err != unix.EPERM && err != unix.ENOSYS {
		return 0, err
	}
	if last, err = lastDescriptor(); err != nil {
		return 0, err
	}
	for fd := first; fd <= last; fd++ {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil && err != unix.EBADF {
			return 0, err
		}
	}
	// Descriptors opened from here on have O_CLOEXEC. The child marks up to 64 more to be safe.
	return last + 64, nil
}

// lastDescriptor is the highest descriptor that is open or could be.
func lastDescriptor() (int, error) {
	dir, err := unix.Open("/proc/self/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		var limit unix.Rlimit
		err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
		return int(min(limit.Max, 1<<20)), err // the kernel's own bound (fs.nr_open)
	}
	defer unix.Close(dir)
	last := dir
	buf := make([]byte, 4096)
	for {
		n, err := unix.ReadDirent(dir, buf)
		if err != nil || n == 0 {
			return last, err
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			if fd, err := strconv.Atoi(name); err == nil {
				last = max(last, fd)
			}
		}
	}
}
