//go:build linux

package pathwalk

import (
	"strings"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// openat2 takes limits on where a name may lead. The kernel itself keeps them
// here too: each part of the way is opened with the caller's own.

const (
	// knownResolve are the limits there are, but for resolveCached, which may
	// always be answered with EAGAIN (RESOLVE_CACHED, linux/openat2.h).
	knownResolve  = kernel.Scopes | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_MAGICLINKS
	resolveCached = 0x20
)

// ScopedTarget is target under resolve.
func (w *Walker) ScopedTarget(c Caller, m Name, follow bool, resolve uint64) (*Target, error) {
	switch {
	case resolve&resolveCached != 0:
		return nil, unix.EAGAIN
	case resolve&^knownResolve != 0, resolve&kernel.Scopes == kernel.Scopes:
		return nil, unix.EINVAL
	case m.Path == "":
		return nil, unix.ENOENT
	}
	asked, absolute := m.Path, strings.HasPrefix(m.Path, "/")
	start := Name{Dir: m.Dir, Itself: true}
	if absolute && resolve&unix.RESOLVE_BENEATH != 0 {
		return nil, unix.EXDEV
	}
	if absolute && resolve&unix.RESOLVE_IN_ROOT == 0 {
		start = Name{Dir: unix.AT_FDCWD, Path: "/"}
		m.Path = "./" + m.Path
	}
	base, err := w.Open(c, start)
	if err != nil {
		return nil, err
	}
	defer unix.Close(base)
	// Jumping links are the broker's own, not the caller's. And where the command
	// has a root of its own, a link to an absolute path would lead to another.
	resolve |= unix.RESOLVE_NO_MAGICLINKS
	if w.view.own && resolve&(kernel.Scopes|unix.RESOLVE_NO_SYMLINKS) == 0 {
		resolve |= unix.RESOLVE_BENEATH
	}
	t, err := w.scopedWalk(base, m.Path, follow, resolve)
	if err == nil {
		t.Spot.Asked = asked
	}
	return t, err
}

func (w *Walker) scopedWalk(base int, path string, follow bool, resolve uint64) (*Target, error) {
	for range maxLinks + 1 {
		head, last, slash := cutName(path)
		dir, err := kernel.Openat2(base, head, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, resolve)
		if err != nil {
			return nil, err
		}
		t := &Target{Spot: w.SpotIn(dir, last, slash)}
		dir = t.Spot.Dir
		if t.Spot.Odd() {
			t.FD, err = kernel.Openat2(base, path, unix.O_PATH|unix.O_CLOEXEC, resolve)
		} else {
			t.FD, err = kernel.Openat2(dir, last, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, resolve&unix.RESOLVE_NO_XDEV)
		}
		if err == unix.ENOENT && !t.Spot.Odd() {
			t.Path = t.Spot.Full()
			return t, nil
		}
		if err == nil {
			err = unix.Fstat(t.FD, &t.Stat)
		}
		if err != nil {
			t.Close()
			return nil, err
		}
		if !follow || t.Stat.Mode&unix.S_IFMT != unix.S_IFLNK {
			t.Path = w.PolicyPath(t.FD)
			return t, nil
		}
		link, err := readLink(t.FD)
		t.Close()
		if slash {
			link += "/"
		}
		switch {
		case err != nil:
			return nil, err
		case resolve&unix.RESOLVE_NO_SYMLINKS != 0:
			return nil, unix.ELOOP
		case !strings.HasPrefix(link, "/"):
			path = head + link
		case resolve&unix.RESOLVE_BENEATH == 0:
			path = link // from the root that openat2 takes for one here too
		default:
			return nil, unix.EXDEV // out of what the caller asked to stay in
		}
	}
	return nil, unix.ELOOP
}
