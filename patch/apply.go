package patch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"unicode/utf8"
)

// Apply computes what p makes of the files in t. It only reads: the changes are
// for Commit. Nothing is returned unless every section fits. A fault of the
// patch is an *Error; an error of t is returned as it is, wrapped.
func Apply(p Patch, t Tree) ([]Change, error) {
	a := applier{tree: t, files: map[string]*state{}}
	for _, f := range p.Files {
		if err := a.section(f); err != nil {
			return nil, err
		}
	}
	changes := a.changes()
	if len(changes) == 0 {
		return nil, &Error{Line: 1, Msg: "the patch changes nothing: every file already is as it would leave it"}
	}
	return changes, nil
}

// state is one path while the sections are gone through.
type state struct {
	path string
	// old is the content in the tree, now the content after the sections so far; nil
	// where the file is absent.
	old, now *Content
	// by is the section that named the path last.
	by    File
	from  string // the source of a Move
	moved bool   // it became another path
	notes []string
}

type applier struct {
	tree  Tree
	files map[string]*state
	order []*state
}

// open reads path once.
func (a *applier) open(f File, path string) (*state, bool, error) {
	if s := a.files[path]; s != nil {
		return s, true, nil
	}
	s := &state{path: path}
	c, err := a.tree.Read(path)
	switch {
	case err == nil:
		s.old, s.now = &c, &c
	case !errors.Is(err, fs.ErrNotExist):
		return nil, false, fmt.Errorf("patch line %d: %w", f.Line, err)
	}
	a.files[path] = s
	a.order = append(a.order, s)
	return s, false, nil
}

// section does one section on the state so far.
func (a *applier) section(f File) error {
	s, again, err := a.open(f, f.Path)
	if err != nil {
		return err
	}
	if again && !mayFollow(s, f) {
		return &Error{Line: f.Line, Path: f.Path, Msg: fmt.Sprintf(
			"the patch already names this file in line %d; put all changes of a file into one section", s.by.Line)}
	}
	s.by = f
	switch f.Op {
	case Add:
		if s.now != nil {
			return &Error{Line: f.Line, Path: f.Path, Msg: "the file already exists; use *** Update File:, or *** Delete File: before the *** Add File: to replace it whole"}
		}
		s.now = &Content{Data: f.Content}
		if s.old != nil {
			s.now.Mode = s.old.Mode
		}
		return nil
	case Delete:
		if s.now == nil {
			return missing(f)
		}
		s.now = nil
		return nil
	}
	return a.update(s, f)
}

// mayFollow: a second section for a file is taken where its meaning is plain.
func mayFollow(s *state, f File) bool {
	return s.by.Op == Update && f.Op == Update && !s.moved && s.by.Path == f.Path ||
		s.by.Op == Delete && f.Op == Add
}

func missing(f File) error {
	return &Error{Line: f.Line, Path: f.Path, Msg: "there is no such file; check the path, or use *** Add File: to make it"}
}

func (a *applier) update(s *state, f File) error {
	if s.now == nil {
		return missing(f)
	}
	if UTF16(s.now.Data) {
		return &Error{Line: f.Line, Path: f.Path, Msg: "the file is UTF-16, and a patch changes only text whose line ends are single bytes; use a command, such as iconv"}
	}
	data, notes, err := applyHunks(s.now.Data, f)
	if err != nil {
		return err
	}
	s.notes = append(s.notes, notes...)
	if !utf8.Valid(s.now.Data) {
		s.notes = append(s.notes, "the file is not UTF-8, and the added lines are written as UTF-8")
	}
	next := &Content{Data: data, Mode: s.now.Mode}
	if f.MoveTo == "" || f.MoveTo == f.Path {
		s.now = next
		return nil
	}
	target, again, err := a.open(f, f.MoveTo)
	if err != nil {
		return err
	}
	if again || target.now != nil {
		return &Error{Line: f.Line, Path: f.MoveTo, Msg: "the file cannot be moved here: something with that name already exists"}
	}
	target.now, target.from, target.by, target.notes = next, s.path, f, s.notes
	s.now, s.moved = nil, true
	return nil
}

// changes lists what differs between old and now, in the order of naming.
func (a *applier) changes() []Change {
	var out []Change
	for _, s := range a.order {
		c := Change{Path: s.path, Old: s.old, New: s.now, Notes: s.notes}
		switch {
		case s.moved, s.old == nil && s.now == nil:
			continue // the target reports it
		case s.from != "":
			c.Kind, c.From, c.Old = Move, s.from, a.files[s.from].old
		case s.old == nil:
			c.Kind = Add
		case s.now == nil:
			c.Kind = Delete
		case bytes.Equal(s.old.Data, s.now.Data):
			continue
		default:
			c.Kind = Update
		}
		out = append(out, c)
	}
	return out
}

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

// step is one step of a commit and how to undo it.
type step struct {
	path     string
	do, undo func() error
}

// Commit makes the changes in t, all or none: after a failure the changes made are
// undone, last first. Files are written before any is removed, so that a stop in
// between loses nothing. A file that has changed since Apply read it is not touched.
// The error is t's, or a *RollbackError.
func Commit(t Tree, changes []Change) error {
	steps := plan(t, changes)
	for i, d := range steps {
		err := d.do()
		if err == nil {
			continue
		}
		var left []string
		for _, done := range slices.Backward(steps[:i]) {
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

func plan(t Tree, changes []Change) []step {
	var writes, removes []step
	write := func(path string, c, old *Content) {
		d := step{path: path, do: func() error { return t.Write(path, *c, old) }}
		if old == nil {
			writes = append(writes, folders(t, path))
			d.undo = func() error { return t.Remove(path, *c) }
		} else {
			d.undo = func() error { return t.Write(path, *old, c) }
		}
		writes = append(writes, d)
	}
	remove := func(path string, old *Content) {
		removes = append(removes, step{
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
func folders(t Tree, path string) step {
	var made []string
	remove := func() error {
		var all error
		for _, folder := range slices.Backward(made) {
			all = errors.Join(all, t.RemoveFolder(folder))
		}
		return all
	}
	return step{path: path, undo: remove, do: func() (err error) {
		if made, err = t.MakeFolders(path); err != nil {
			err = errors.Join(err, remove())
		}
		return err
	}}
}
