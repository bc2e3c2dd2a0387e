//go:build linux

package pathwalk

import (
	"strings"

	"codeagent/linuxsandbox/kernel"

	"golang.org/x/sys/unix"
)

// openat2 can limit where a path may lead. The kernel enforces the limits here too: the
// broker opens each part of the path with the caller's limits.

const (
	// Resolves are the known limits, except for resolveCached (RESOLVE_CACHED in
	// linux/openat2.h), which may always fail with EAGAIN.
	Resolves      = kernel.Scopes | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_MAGICLINKS
	resolveCached = 0x20
)

// ScopedTarget is Target with the limits resolve.
func (w *Walker) ScopedTarget(c Caller, m Name, follow bool, resolve uint64) (*Target, error) {
	switch {
	case resolve&resolveCached != 0:
		return nil, unix.EAGAIN
	case resolve&^Resolves != 0, resolve&kernel.Scopes == kernel.Scopes:
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
	// The jumping links of /proc would be the broker's, not the caller's. And if the
	// command has a root of its own, a link to an absolute path would lead to the broker's
	// root.
	resolve |= unix.RESOLVE_NO_MAGICLINKS
	if w.own && resolve&(kernel.Scopes|unix.RESOLVE_NO_SYMLINKS) == 0 {
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
		link, err := w.end(t, err, follow)
		switch {
		case err != nil:
			return nil, err
		case link == "":
			return t, nil
		case resolve&unix.RESOLVE_NO_SYMLINKS != 0:
			return nil, unix.ELOOP
		case !strings.HasPrefix(link, "/"):
			path = head + link
		case resolve&unix.RESOLVE_BENEATH == 0:
			path = link // openat2 starts it at base with RESOLVE_IN_ROOT, else at the shared root
		default:
			return nil, unix.EXDEV // the link leads out of the caller's limits
		}
	}
	return nil, unix.ELOOP
}
