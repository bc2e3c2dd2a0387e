//go:build linux

package linuxsandbox

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

// scopedTarget is target under resolve.
func (w *walker) scopedTarget(c caller, m name, follow bool, resolve uint64) (*target, error) {
	switch {
	case resolve&resolveCached != 0:
		return nil, unix.EAGAIN
	case resolve&^knownResolve != 0, resolve&kernel.Scopes == kernel.Scopes:
		return nil, unix.EINVAL
	case m.path == "":
		return nil, unix.ENOENT
	}
	asked, absolute := m.path, strings.HasPrefix(m.path, "/")
	start := name{dir: m.dir, itself: true}
	if absolute && resolve&unix.RESOLVE_BENEATH != 0 {
		return nil, unix.EXDEV
	}
	if absolute && resolve&unix.RESOLVE_IN_ROOT == 0 {
		start = name{dir: unix.AT_FDCWD, path: "/"}
		m.path = "./" + m.path
	}
	base, err := w.open(c, start)
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
	t, err := w.scopedWalk(base, m.path, follow, resolve)
	if err == nil {
		t.spot.asked = asked
	}
	return t, err
}

func (w *walker) scopedWalk(base int, path string, follow bool, resolve uint64) (*target, error) {
	for range maxLinks + 1 {
		head, last, slash := cutName(path)
		dir, err := kernel.Openat2(base, head, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, resolve)
		if err != nil {
			return nil, err
		}
		t := &target{spot: w.spotIn(dir, last, slash)}
		dir = t.spot.dir
		if t.spot.odd() {
			t.fd, err = kernel.Openat2(base, path, unix.O_PATH|unix.O_CLOEXEC, resolve)
		} else {
			t.fd, err = kernel.Openat2(dir, last, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, resolve&unix.RESOLVE_NO_XDEV)
		}
		if err == unix.ENOENT && !t.spot.odd() {
			t.path = t.spot.full()
			return t, nil
		}
		if err == nil {
			err = unix.Fstat(t.fd, &t.st)
		}
		if err != nil {
			t.close()
			return nil, err
		}
		if !follow || t.st.Mode&unix.S_IFMT != unix.S_IFLNK {
			t.path = w.policyPath(t.fd)
			return t, nil
		}
		link, err := readLink(t.fd)
		t.close()
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
