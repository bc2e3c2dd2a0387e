package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// FileSystem looks at a file system. os.Lstat-like and os.Readlink-like functions
// are handed in by rooms that may do IO; tests hand in maps.
type FileSystem interface {
	// Lstat returns the mode of the entry itself, or an error for which
	// errors.Is(err, fs.ErrNotExist) holds when it is absent.
	Lstat(path string) (fs.FileMode, error)
	// Readlink returns the target of a symbolic link.
	Readlink(path string) (string, error)
}

// maxLinks is how many symbolic links one path may pass, as in Linux (MAXSYMLINKS).
const maxLinks = 40

// ErrTooManyLinks reports a loop of symbolic links, or a chain of over 40.
var ErrTooManyLinks = errors.New("too many symbolic links")

// Canonical returns the absolute path that name, taken relative to dir, really
// means: every symbolic link followed, also in the last component, and no "."
// or "..". Components that do not exist are kept as written below their
// canonical parent; ".." after such a component is an error, since no one can
// say where it leads. Any other failure to look is an error too: a path that
// cannot be resolved is never used as it stands.
func Canonical(files FileSystem, dir, name string) (string, error) {
	if name == "" {
		return "", errors.New("empty path")
	}
	if !path.IsAbs(name) {
		if !path.IsAbs(dir) {
			return "", fmt.Errorf("path %q: the folder %q it is relative to is not absolute", name, dir)
		}
		name = dir + "/" + name
	}
	if strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("path %q: contains a NUL byte", name)
	}
	links, missing := 0, false
	done := "/"
	todo := strings.Split(name, "/")
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if missing {
				return "", fmt.Errorf("path %q: \"..\" after the missing %q", name, done)
			}
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, part)
		if missing {
			done = next
			continue
		}
		mode, err := files.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = true
		case err != nil:
			return "", fmt.Errorf("path %q: %w", name, err)
		case mode&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", fmt.Errorf("path %q: %w", name, ErrTooManyLinks)
			}
			target, err := files.Readlink(next)
			if err != nil {
				return "", fmt.Errorf("path %q: %w", name, err)
			}
			if path.IsAbs(target) {
				done = "/"
			}
			todo = append(strings.Split(target, "/"), todo...)
			continue
		}
		done = next
	}
	return done, nil
}

// Covers reports whether p is root itself or lies below it. Both are canonical:
// "/w/a" covers "/w/a/x" and never "/w/ab".
func Covers(root, p string) bool {
	if root == p || root == "/" {
		return true
	}
	return len(p) > len(root) && p[len(root)] == '/' && p[:len(root)] == root
}

// CoveredBy reports whether one of roots covers p.
func CoveredBy(roots []string, p string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return Covers(root, p) })
}
