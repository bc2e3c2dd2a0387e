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

// applying is the state of one Apply.
type applying struct {
	ctx   context.Context
	files Files
	plan  *Plan
	log   *os.File
	now   func() time.Time
	look  walker

	failed map[string]error
	done   map[string]bool
	// opened are the folders that were not writable or searchable, with their earlier
	// permissions.
	opened map[string]uint32
	// begun is what the agent left at the paths that may be half done.
	begun map[string]*state
}

// all executes the steps in an order in which each can succeed: folders are writable while
// something in them changes, and get their permissions last.
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

// move moves a file that the turn had moved back.
func (a *applying) move(s Step) error {
	err := a.files.Move(s.from, s.Path)
	if err == nil && s.now.Mode != s.before.Mode {
		err = a.files.Chmod(s.Path, fs.FileMode(s.before.Mode), expect(s.now))
	}
	return err
}

// each calls do for each step that is selects, unless an earlier part of the step failed.
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
			mode = s.now.Mode // the agent did not change the permissions
		}
	}
	return a.files.Put(s.Path, content, fs.FileMode(mode), now)
}

// openAround makes folders writable in which entries are created or removed, if the turn
// changed their permissions: the turn could write them too. Folders that somebody else
// closed stay closed.
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
				_ = a.openFolder(in, now.Mode) // a failure shows up in the later steps
			}
		}
	}
}

// openFolder gives codeagent the permissions to list, search and change a folder.
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

// begin records that undoing works on p: if codeagent ends before it is done, a change of p
// is undo's own work. The record keeps the time of the turn's last record.
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

// recordHalfDone records, for paths that were begun and not finished, what the agent had
// left, as it was known before.
func (a *applying) recordHalfDone() {
	for _, p := range slices.Sorted(maps.Keys(a.begun)) {
		if a.done[p] && a.failed[p] == nil || a.ctx.Err() != nil {
			continue
		}
		r := about(kindAfter, p, a.begun[p])
		if r.State == nil {
			r.Kind, r.At = kindAgain, a.plan.kept.last
		}
		_ = appendRecords(a.log, r) // otherwise the path is judged by the time
	}
}
