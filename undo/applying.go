package undo

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"time"
)

// applying is one Apply.
type applying struct {
	ctx   context.Context
	files Files
	plan  *Plan
	log   *os.File
	now   func() time.Time
	look  walker

	failed map[string]error
	done   map[string]bool
	// opened are the folders that were read-only or the like, with the permissions that
	// they had.
	opened map[string]uint32
	// begun is what the agent left at the paths that can be found half done.
	begun map[string]*state
}

// all takes the steps in an order in which each finds what it needs: folders are writable
// while something in them changes, and get their permissions last.
func (a *applying) all() {
	steps := a.plan.Steps
	deepFirst := slices.Clone(steps)
	slices.Reverse(deepFirst)
	remove := func(s Step) error { return a.files.Remove(s.Path, expect(s.now)) }
	a.each(steps, func(s Step) bool { return s.now.Kind == folder && s.now.Mode&0o700 != 0o700 },
		func(s Step) error { return a.openFolder(s.Path, s.now.Mode) })
	a.openAround(steps)
	a.each(deepFirst, func(s Step) bool { return s.goes() && s.now.Kind != folder }, remove)
	a.each(steps, func(s Step) bool { return s.comes(folder) },
		func(s Step) error { return a.files.Mkdir(s.Path, fs.FileMode(s.before.Mode|0o700)) })
	a.each(steps, func(s Step) bool { return s.from != "" }, a.move)
	a.each(deepFirst, func(s Step) bool { return s.goes() && s.now.Kind == folder }, remove)
	a.each(steps, func(s Step) bool { return s.comes(link) },
		func(s Step) error { return a.files.Link(s.Path, string(s.before.Target)) })
	a.each(steps, func(s Step) bool { return s.comes(file) }, a.put)
	a.each(steps, func(s Step) bool { return s.Do == Mode && s.now.Kind == file },
		func(s Step) error { return a.files.Chmod(s.Path, fs.FileMode(s.before.Mode), expect(s.now)) })
	a.each(deepFirst, func(s Step) bool { return s.before.Kind == folder },
		func(s Step) error { return a.files.Chmod(s.Path, fs.FileMode(s.before.Mode), Expect{}) })
	a.closeFolders()
	a.recordHalfDone()
}

// goes reports whether the present entry is removed first. A file that becomes another file
// is replaced instead.
func (s Step) goes() bool {
	return s.Do != Mode && s.from == "" && s.now.Kind != absent && !(s.before.Kind == file && s.now.Kind == file)
}

// comes reports whether an entry of kind k is made or replaced.
func (s Step) comes(k kind) bool { return s.Do != Mode && s.from == "" && s.before.Kind == k }

// move moves a file back that the turn had moved.
func (a *applying) move(s Step) error {
	err := a.files.Move(s.from, s.Path)
	if err == nil && s.now.Mode != s.before.Mode {
		err = a.files.Chmod(s.Path, fs.FileMode(s.before.Mode), expect(s.now))
	}
	return err
}

// each calls do for each step that is selects, unless an earlier part of it failed.
func (a *applying) each(steps []Step, is func(Step) bool, do func(Step) error) {
	for _, s := range steps {
		if a.failed[s.Path] != nil || a.ctx.Err() != nil || !is(s) {
			continue
		}
		if err := do(s); err != nil {
			a.failed[s.Path] = err
		}
		a.done[s.Path] = true
	}
}

// put restores the content of a file.
func (a *applying) put(s Step) error {
	content, err := a.plan.kept.content(s.before)
	if err != nil {
		return err
	}
	now, mode := Expect{Absent: true}, s.before.Mode
	if s.now.Kind == file {
		now = expect(s.now)
		if !s.mode {
			mode = s.now.Mode // the agent did not change it
		}
	}
	return a.files.Put(s.Path, content, fs.FileMode(mode), now)
}

// openAround makes the folders writable in which entries come or go, where the turn changed
// their permissions: it could write them, too. Folders that somebody else closed stay
// closed.
func (a *applying) openAround(steps []Step) {
	for _, s := range steps {
		if s.Do == Mode || a.ctx.Err() != nil {
			continue
		}
		for _, p := range []string{s.Path, s.from} {
			in := path.Dir(p)
			h := a.plan.kept.paths[in]
			if p == "" || h == nil || h.before.Kind != folder {
				continue
			}
			if now, err := a.look.look(in); err == nil && now.Kind == folder {
				_ = a.openFolder(in, now.Mode) // what cannot be done in it says so
			}
		}
	}
}

// openFolder makes a folder one that can be listed, searched and changed.
func (a *applying) openFolder(p string, mode uint32) error {
	if mode&0o700 == 0o700 {
		return nil
	}
	if err := a.begin(p); err != nil {
		return err
	}
	if err := a.files.Chmod(p, fs.FileMode(mode|0o700), Expect{}); err != nil {
		return err
	}
	a.opened[p] = mode
	return nil
}

// closeFolders restores the permissions of opened folders that are not undone.
func (a *applying) closeFolders() {
	for _, p := range slices.Backward(slices.Sorted(maps.Keys(a.opened))) {
		if a.done[p] && a.failed[p] == nil {
			continue
		}
		if err := a.files.Chmod(p, fs.FileMode(a.opened[p]), Expect{}); err != nil {
			delete(a.begun, p) // it stays half done
		}
	}
}

// begin records that undoing works on p: if codeagent ends in the middle, what p is then is
// undo's work. The record keeps the time of the turn's own last record.
func (a *applying) begin(p string) error {
	var records []record
	if len(a.begun) == 0 {
		records = append(records, record{Kind: kindUndoing, At: a.plan.kept.last})
	}
	if h := a.plan.kept.paths[p]; h != nil {
		a.begun[p] = h.after
	}
	r := about(kindAgain, p, nil)
	r.At = a.now()
	return appendRecords(a.log, append(records, r)...)
}

// recordHalfDone records, for paths that were begun and are not done, what the agent left,
// as it was known before.
func (a *applying) recordHalfDone() {
	for _, p := range slices.Sorted(maps.Keys(a.begun)) {
		if a.done[p] && a.failed[p] == nil || a.ctx.Err() != nil {
			continue
		}
		r := about(kindAfter, p, a.begun[p])
		if r.State == nil {
			r.Kind, r.At = kindAgain, a.plan.kept.last
		}
		_ = appendRecords(a.log, r) // else it is judged by its time
	}
}
