package hostfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"codeagent/sandbox"
)

// Ground is where commands may change names, now or in an earlier session: the write roots
// of policies. The zero value contains nothing.
type Ground struct{ roots []string }

// With returns g with further canonical paths. It leaves out "/": a user who gives commands
// the whole system, after a question, has nothing left to protect.
func (g Ground) With(roots ...string) Ground {
	all := append([]string{}, g.roots...)
	for _, r := range roots {
		if filepath.IsAbs(r) && r != "/" && !(Ground{all}).Covers(r) {
			all = append(all, r)
		}
	}
	return Ground{all}
}

// Roots lists what g consists of.
func (g Ground) Roots() []string { return slices.Clone(g.roots) }

// WithPolicy returns g with what commands may write under p.
func (g Ground) WithPolicy(p sandbox.Policy) Ground { return g.With(sandbox.PathsOf(p.Roots())...) }

// Covers reports whether a command may change the canonical path.
func (g Ground) Covers(path string) bool {
	return slices.ContainsFunc(g.roots, func(r string) bool { return sandbox.Covers(r, path) })
}

// Resolve returns the canonical path that name means, relative to dir. It follows
// links only where the user alone can have made them: a link on ground, or in a folder
// that everybody may write, is an error. So ~/.config/codeagent/config.toml may lead
// to ~/dotfiles, but answer.md in a workspace may not be a link. The result is then opened
// without following any link.
func (g Ground) Resolve(dir, name string) (string, error) {
	return sandbox.Canonical(looker{ground: g}, dir, name)
}

// Private returns the canonical path of name, and fails if a component of it is on ground: no
// command can make the name lead elsewhere.
func (g Ground) Private(name string) (string, error) {
	return sandbox.Canonical(looker{ground: g, private: true}, "/", name)
}

// looker is the file system in which Ground resolves paths.
type looker struct {
	OS
	ground  Ground
	private bool
}

// GroundError says that commands may change what a path leads to.
type GroundError struct {
	Path string
	Link bool
}

func (e *GroundError) Error() string {
	if e.Link {
		return fmt.Sprintf("%s is a symbolic link in a folder that commands may write: it is not followed", e.Path)
	}
	return fmt.Sprintf("%s lies where commands may write", e.Path)
}

// Lstat is called by sandbox.Canonical with canonical folders only.
func (l looker) Lstat(path string) (fs.FileMode, error) {
	if l.private && l.ground.Covers(path) {
		return 0, &GroundError{Path: path}
	}
	return l.OS.Lstat(path)
}

func (l looker) Readlink(path string) (string, error) {
	if l.ground.Covers(path) {
		return "", &GroundError{Path: path, Link: true}
	}
	if info, err := Lstat(filepath.Dir(path)); err != nil {
		return "", err
	} else if info.Mode().Perm()&0o002 != 0 { // such as /tmp, where other users and programs make links
		return "", &GroundError{Path: path, Link: true}
	}
	target, err := l.OS.Readlink(path)
	if err == nil && strings.HasPrefix(path, "/proc/") {
		// A link to a pipe or a deleted file is not a path.
		if _, err := l.OS.Lstat(filepath.Join(filepath.Dir(path), target)); err != nil && !filepath.IsAbs(target) {
			return "", fmt.Errorf("%s leads to %s, not to a file", path, target)
		}
	}
	return target, err
}

// recordMost bounds the record, in bytes. At half of that only the newest quarter of it is kept.
const recordMost = 1 << 20

// ReadRoots returns the Ground of the roots in the record path. The ground of earlier
// sessions counts for ever: a link or a program that a command left there may still exist.
func ReadRoots(ctx context.Context, path string) (Ground, error) {
	data, err := Read(ctx, path, recordMost)
	if errors.Is(err, fs.ErrNotExist) {
		return Ground{}, nil
	}
	if err != nil {
		return Ground{}, err
	}
	var roots []string
	for line := range strings.Lines(string(data)) {
		if root, err := strconv.Unquote(strings.TrimSpace(line)); err == nil { // otherwise half a line, from a full disk
			roots = append(roots, root)
		}
	}
	return Ground{}.With(roots...), nil
}

// RecordRoots adds the roots that are not on known ground to the record path, and returns the
// whole ground. The lines are written in one call, so that two sessions can add at the same
// time.
func RecordRoots(path string, known Ground, roots []string) (Ground, error) {
	all, lines := known, "\n" // in case the file ends in half a line, from a full disk
	for _, r := range roots {
		if more := all.With(r); len(more.roots) > len(all.roots) {
			all, lines = more, lines+strconv.Quote(r)+"\n"
		}
	}
	if path == "" || len(all.roots) == len(known.roots) {
		return all, nil
	}
	f, err := OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return known, err
	}
	_, err = f.WriteString(lines)
	info, serr := f.Stat()
	if err = errors.Join(err, serr, f.Close()); err != nil {
		return known, err
	}
	if info.Size() < recordMost/2 {
		return all, nil
	}
	return all, Write(path, newest(all.roots, recordMost/4), 0o600)
}

// newest returns the lines of the last roots, at most most bytes.
func newest(roots []string, most int) []byte {
	var out []byte
	for _, r := range slices.Backward(roots) {
		line := strconv.Quote(r) + "\n"
		if len(out)+len(line) > most {
			break
		}
		out = append([]byte(line), out...)
	}
	return out
}
