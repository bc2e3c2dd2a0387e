//go:build linux

package escapes

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// lockEscapes lock files outside, so that a program of the host that locks them waits.
func lockEscapes() []attempt {
	how := func(how uintptr) func(p place) error {
		return func(p place) error { return lockOpen(p.out+"/file", how) }
	}
	return []attempt{
		locked("exclusive", "/file", how(unix.LOCK_EX)),
		locked("shared", "/file", how(unix.LOCK_SH)),
		locked("without waiting", "/file", how(unix.LOCK_EX|unix.LOCK_NB)),
		locked("high bits", "/file", how(unix.LOCK_EX|1<<32)),
		locked("shared, then exclusive", "/file", func(p place) error {
			fd, err := unix.Open(p.out+"/file", unix.O_RDONLY, 0)
			return errors.Join(err, unix.Flock(fd, unix.LOCK_SH), unix.Flock(fd, unix.LOCK_EX))
		}),
		locked("a folder", "/dir", func(p place) error { return lockOpen(p.out+"/dir", unix.LOCK_EX) }),
		locked("through a symlink of the workspace", "/file", func(p place) error {
			return errors.Join(os.Symlink(p.out+"/file", p.in+"/l"), lockOpen(p.in+"/l", unix.LOCK_EX))
		}),
		locked("through /proc/self/root", "/file", func(p place) error { return lockOpen("/proc/self/root"+p.out+"/file", unix.LOCK_EX) }),
		withLockedFile("a thread with descriptors of its own", "/file", lockByThread),
		locked("a descriptor that is swapped", "/file", lockSwapped),
		withLockedFile("by a program that may only be executed", "/file", blind("flock")),
	}
}

// locked is a row that locks a file in the folder outside, and then lets the host try.
func locked(name, file string, do func(p place) error) attempt {
	return withLockedFile(name, file, func(p place) error { return errors.Join(do(p), hostTries(p)) })
}

// withLockedFile is such a row that calls hostTries itself.
func withLockedFile(name, file string, do func(p place) error) attempt {
	return attempt{
		name: "lock: " + name, escape: "E60", protects: "programs outside that lock files which a command may read", weakness: "locks", do: do, alone: true,
		before: func(h *host, p place) {
			h.put(p.out+"/file", "data\n", 0o644)
			h.put(p.out+"/dir/file", "data\n", 0o644)
			ready, goOn := h.pipe(p.in+"/ready"), h.pipe(p.in+"/go")
			busy := make(chan error, 1)
			h.hosts[p.in] = func() error {
				_, _ = unix.Write(ready, []byte("x")) // in case the victim never got that far
				return <-busy
			}
			go func() {
				err := waitByte(ready)
				if err == nil {
					err = withFD(p.out+file, unix.O_RDONLY, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
				}
				_, _ = unix.Write(goOn, []byte("x"))
				busy <- err
			}()
		},
		landed: func(h *host, p place) bool {
			err := h.hosts[p.in]()
			if err != nil && !errors.Is(err, unix.EWOULDBLOCK) {
				h.t.Errorf("the host's own lock: %v", err)
			}
			return err != nil
		},
	}
}

// hostTries returns when the host has tried.
func hostTries(p place) error {
	if err := writeTo(p.in+"/ready", unix.O_WRONLY); err != nil {
		return err
	}
	return withFD(p.in+"/go", unix.O_RDONLY, waitByte)
}

// lockOpen locks path and leaves it open.
func lockOpen(path string, how uintptr) error {
	fd, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return rawCall(unix.SYS_FLOCK, uintptr(fd), how)
}

// lockByThread locks through a descriptor that is another file for the rest of the process.
func lockByThread(p place) error {
	mine, err := unix.Open(p.in+"/mine", unix.O_RDONLY, 0)
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		fd, err := unix.Open(p.out+"/file", unix.O_RDONLY, 0)
		err = errors.Join(err, unix.Unshare(unix.CLONE_FILES), unix.Dup3(fd, mine, 0), unix.Flock(mine, unix.LOCK_EX))
		done <- errors.Join(err, hostTries(p))
	}()
	return errors.Join(err, <-done)
}

// lockSwapped locks a descriptor that another thread switches between the workspace's file and the
// one outside.
func lockSwapped(p place) error {
	mine, err := unix.Open(p.in+"/mine", unix.O_RDONLY, 0)
	theirs, bad := unix.Open(p.out+"/file", unix.O_RDONLY, 0)
	number, worse := unix.Dup(mine)
	if err := errors.Join(err, bad, worse); err != nil {
		return err
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = unix.Dup3(theirs, number, 0), unix.Dup3(mine, number, 0)
			}
		}
	}()
	again, err := unix.Open(p.out+"/file", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	won := func(place) bool {
		err := unix.Flock(again, unix.LOCK_EX|unix.LOCK_NB)
		_ = unix.Flock(again, unix.LOCK_UN)
		return err == unix.EWOULDBLOCK
	}
	_ = until(p, func(place) error {
		return errors.Join(unix.Flock(number, unix.LOCK_EX|unix.LOCK_NB), unix.Flock(mine, unix.LOCK_UN))
	}, won)
	close(stop)
	<-stopped
	return nil
}
