package patch

import (
	"errors"
	"fmt"
	"slices"
)

// RollbackError: a commit failed, and a part of it could not be undone.
type RollbackError struct {
	// Err is why the commit failed.
	Err error
	// Left are the paths that stay changed, with the reason of each.
	Left []string
}

func (e *RollbackError) Error() string {
	return fmt.Sprintf("%v; and these could not be put back: %v", e.Err, e.Left)
}

func (e *RollbackError) Unwrap() error { return e.Err }

// deed is one step of a commit and how to undo it.
type deed struct {
	path     string
	do, undo func() error
}

// Commit makes the changes in t, all or none: after a failure the changes made are
// undone, last first. Files are written before any is removed, so that a stop in
// between loses nothing. A file that has changed since Apply read it is not touched.
// The error is t's, or a *RollbackError.
func Commit(t Tree, changes []Change) error {
	deeds := plan(t, changes)
	for i, d := range deeds {
		err := d.do()
		if err == nil {
			continue
		}
		var left []string
		for _, done := range slices.Backward(deeds[:i]) {
			if uerr := done.undo(); uerr != nil {
				left = append(left, fmt.Sprintf("%s (%v)", done.path, uerr))
			}
		}
		if left != nil {
			return &RollbackError{Err: err, Left: left}
		}
		return err
	}
	return nil
}

func plan(t Tree, changes []Change) []deed {
	var writes, removes []deed
	write := func(path string, c, old *Content) {
		d := deed{path: path, do: func() error { return t.Write(path, *c, old) }}
		if old == nil {
			writes = append(writes, folders(t, path))
			d.undo = func() error { return t.Remove(path, *c) }
		} else {
			d.undo = func() error { return t.Write(path, *old, c) }
		}
		writes = append(writes, d)
	}
	remove := func(path string, old *Content) {
		removes = append(removes, deed{
			path: path,
			do:   func() error { return t.Remove(path, *old) },
			undo: func() error { return t.Write(path, *old, nil) },
		})
	}
	for _, c := range changes {
		switch c.Kind {
		case Add:
			write(c.Path, c.New, nil)
		case Update:
			write(c.Path, c.New, c.Old)
		case Delete:
			remove(c.Path, c.Old)
		case Move:
			write(c.Path, c.New, nil)
			remove(c.From, c.Old)
		}
	}
	return append(writes, removes...)
}

// folders is the step before a new file: a patch that is undone leaves no folder.
func folders(t Tree, path string) deed {
	var made []string
	remove := func() error {
		var all error
		for _, folder := range slices.Backward(made) {
			all = errors.Join(all, t.RemoveFolder(folder))
		}
		return all
	}
	return deed{path: path, undo: remove, do: func() (err error) {
		if made, err = t.MakeFolders(path); err != nil {
			err = errors.Join(err, remove())
		}
		return err
	}}
}
