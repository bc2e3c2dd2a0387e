package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// FileSystem reads a file system. Rooms that may do IO supply functions like os.Lstat and
// os.Readlink; tests supply maps.
type FileSystem interface {
	// Lstat returns the mode of the entry itself. If the entry is absent, errors.Is(err,
	// fs.ErrNotExist) holds.
	Lstat(path string) (fs.FileMode, error)
	// Readlink returns the target of a symbolic link.
	Readlink(path string) (string, error)
}

// maxLinks bounds the symbolic links in one path walk, as in Linux (MAXSYMLINKS).
const maxLinks = 40

// ErrTooManyLinks reports a loop of symbolic links, or a chain of more than 40.
var ErrTooManyLinks = errors.New("too many symbolic links")

// Canonical returns the absolute path that name, relative to dir, really means: it follows every
// symbolic link, also in the last component, and resolves "." and "..". Components that do not
// exist are kept as written below their canonical parent. ".." after such a component is an error,
// because its meaning is undefined. Any other failure is an error too: a path that cannot be
// resolved is never used as it is.
func Canonical(files FileSystem, dir, name string) (string, error) {
	return walk(files, dir, name, func(string) {})
}

// Way returns what decides about the file that name, relative to dir, leads to: each symbolic link on
// the way and, last, what Canonical returns. After an error it returns the links before it.
func Way(files FileSystem, dir, name string) (way []string, err error) {
	target, err := walk(files, dir, name, func(link string) { way = append(way, link) })
	if err != nil {
		return way, err
	}
	return append(way, target), nil
}

// walk is Canonical. It calls link with the path of each symbolic link that it follows.
func walk(files FileSystem, dir, name string, link func(path string)) (string, error) {
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
			link(next)
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

// Covers reports whether p is root itself or lies below it. Both must be canonical. "/w/a" covers
// "/w/a/x" but not "/w/ab".
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
