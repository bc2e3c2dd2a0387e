package undo

import "golang.org/x/sys/unix"

// birth returns the creation time of the file in nanoseconds, or 0 if the file system does not
// report it. No program can set that time.
func birth(dir int, name string) int64 {
	var st unix.Statx_t
	flags := unix.AT_SYMLINK_NOFOLLOW
	if name == "." {
		name, flags = "", flags|unix.AT_EMPTY_PATH
	}
	if unix.Statx(dir, name, flags, unix.STATX_BTIME, &st) != nil || st.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
}

// fileClock returns the least time in nanoseconds that a file made now can have as its birth: that of
// the coarse clock, which goes by steps of 1 to 10 ms. Since Linux 6.13 a birth may be more precise.
func fileClock() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now) // it cannot fail
	return now.Nano()
}

// flush syncs everything written to the file system of dir.
func flush(dir int) error { return unix.Syncfs(dir) }
