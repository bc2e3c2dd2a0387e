//go:build linux

package keeper

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"

	"golang.org/x/sys/unix"
)

// A copied tree is attached at its old path. If another mount replaces the folder around it, the
// mount point no longer exists and is created first:
//
//	/tmp/ws      Temp/ws is made; the workspace comes over it
//	/tmp/a/b/ws  Temp/a is made; over it comes a small read-only tmpfs with
//	             nothing in it but b/ws, and over that the workspace
//
// Every folder on the way is a mount, which cannot be renamed, so no command can change the path by
// which a file is judged. On the host an empty entry stays in Temp, which is removed with the
// session.

// putAllBack attaches the copies, outer ones first.
func (m *mounter) putAllBack() error {
	all := slices.Concat(m.readable, m.writable)
	sort.SliceStable(all, func(i, j int) bool { return all[i].path < all[j].path })
	var there []string // paths below replaced folders that have a mount point
	for _, t := range all {
		base := m.plan.Replaced(t.path)
		if base != "" && !sandbox.CoveredBy(there, t.path) {
			made, err := makeWay(base, t, all)
			if err != nil {
				return fmt.Errorf("make a place for %s: %w", t.path, err)
			}
			there = append(there, made)
		}
		if err := t.putAt(t.path); err != nil && !slices.Contains(m.plan.Named, t.path) {
			return err
		}
	}
	return nil
}

// makeWay creates a mount point in base for t and for all other trees below the same first folder.
// It returns the path of that folder.
func makeWay(base string, t tree, all []tree) (string, error) {
	first, _, deep := strings.Cut(t.path[len(base)+1:], "/")
	way := base + "/" + first
	at, err := kernel.OpenPath(base)
	if err != nil {
		return "", err
	}
	err = makeEntry(at, first, deep || t.dir)
	unix.Close(at)
	if err != nil || !deep {
		return way, err
	}
	hall, err := newFilesystem("tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC, "mode=755")
	if err != nil {
		return "", err
	}
	for _, other := range all {
		if err == nil && sandbox.Covers(way, other.path) {
			err = makePath(hall, strings.Split(other.path[len(way)+1:], "/"), other.dir)
		}
	}
	if err == nil {
		err = setReadOnly(hall, "", 0)
	}
	if err != nil {
		unix.Close(hall)
		return "", err
	}
	return way, tree{fd: hall, path: way, dir: true}.putAt(way)
}

// makePath creates a mount point below the folder at, which no other process sees yet.
func makePath(at int, names []string, dir bool) error {
	for i := range names {
		name := strings.Join(names[:i+1], "/")
		if err := makeEntry(at, name, dir || i < len(names)-1); err != nil {
			return err
		}
	}
	return nil
}

// makeEntry creates an empty folder or file if the name is free. If an entry of the wrong kind
// exists, the mount over it fails.
func makeEntry(at int, name string, dir bool) error {
	var err error
	if dir {
		err = unix.Mkdirat(at, name, 0o755)
	} else {
		var fd int
		if fd, err = unix.Openat(at, name, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_WRONLY|unix.O_CLOEXEC, 0o600); err == nil {
			err = unix.Close(fd)
		}
	}
	if err == unix.EEXIST {
		return nil
	}
	return err
}
