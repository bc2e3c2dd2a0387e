package undo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"codeagent/exec/worker"
	"codeagent/hostfile"
)

// Files changes files inside the sandbox, under the policy of the session; *worker.Client
// implements it. It follows no link in a path. Put need not sync the file to disk: Apply
// does that.
type Files interface {
	Put(path string, content []byte, mode fs.FileMode, now worker.Expect) (worker.Info, error)
	Symlink(path, target string, now worker.Expect) error
	Mkdir(path string, mode fs.FileMode, parents bool) error
	Chmod(path string, mode fs.FileMode, now worker.Expect) error
	Remove(path string, now worker.Expect) error
}

// expect returns the condition that the entry s must still meet to be changed.
func expect(s state) worker.Expect {
	switch s.Kind {
	case absent:
		return worker.Expect{Absent: true, Parents: true}
	case folder:
		return worker.Expect{} // its content changes meanwhile, and with it its time
	}
	return worker.Expect{Version: worker.Version(s.Dev, s.Ino, s.Size, s.Mtime)}
}

// Report is the result of undoing a turn.
type Report struct {
	Done   []Step
	Failed []Skip
}

// errStale: a plan is valid until the next turn.
var errStale = errors.New("files changed after the preview; preview the undo again")

// Apply executes the steps of p, as far as possible, and records what was done. What has
// changed meanwhile is left alone. What was left alone or failed can be undone later: the
// turn is undone once nothing is left. An interrupted undo can start again with a new Plan.
// An error means that nothing was done, or that not everything was tried.
func (s *History) Apply(ctx context.Context, p *Plan, files Files) (Report, error) {
	if err := s.settle(); err != nil {
		return Report{}, err
	}
	numbers, err := s.turns()
	if err == nil && (len(numbers) == 0 || slices.Max(numbers) != p.last) {
		err = errStale
	}
	if err != nil {
		return Report{}, fmt.Errorf("undo: %w", err)
	}
	for _, k := range p.turns { // what is done must be recorded
		now, err := s.load(k.number)
		if err != nil || now.undone {
			return Report{}, errors.Join(ErrNothing, err)
		}
		log, err := openLog(k.dir)
		if err != nil {
			return Report{}, fmt.Errorf("undo: %w", err)
		}
		log.Close()
	}
	var replaced *turn
	if !p.redo && len(p.Steps) > 0 {
		replaced = s.replaced(p)
	}
	a := &restoration{ctx: ctx, files: files, plan: p, failed: map[string]error{}, done: map[string]bool{}, opened: map[string]uint32{}}
	defer a.look.close()
	a.all()
	replaced.leaves(p.Steps)
	report := a.report()
	if err := context.Cause(ctx); err != nil {
		return report, fmt.Errorf("undo: %w", err)
	}
	if len(report.Done) == 0 && (!p.redo || p.left(report)) {
		return report, nil // a later try may succeed
	}
	if err := s.mark(p, report); err != nil {
		return report, fmt.Errorf("undo: restored, but recording it failed: %w", err)
	}
	return report, nil
}

// left reports whether something was not restored that may be later.
func (p *Plan) left(r Report) bool { return len(p.Conflicts)+len(p.Closed)+len(r.Failed) > 0 }

// openLog opens the log of the turn in dir to append to it.
func openLog(dir string) (*os.File, error) {
	log, err := hostfile.OpenFile(filepath.Join(dir, logName), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	if err := endLine(log); err != nil {
		log.Close()
		return nil, err
	}
	return log, nil
}

// mark records what was undone, turns or a part of them, after everything restored was synced to disk.
// Undone says in the log of a turn when that was last written before: what a turn that was cut off may
// have changed is judged by that time.
func (s *History) mark(p *Plan, r Report) error {
	if err := flushed(r.Done); err != nil {
		return err
	}
	for _, k := range p.turns {
		records := []record{{Kind: kindUndone, At: k.last}}
		if p.left(r) {
			records = p.back(k, r)
		}
		if err := appendTo(k.dir, records); err != nil {
			return err
		}
	}
	if !p.redo {
		_, err := s.flip(p.turns, p.from, kindRedone)
		return err
	}
	again, err := s.flip(p.turns, math.MaxInt, kindRedone)
	if err == nil {
		_, err = s.flip(again, p.kept.from, kindUndone)
	}
	return err
}

// flip records about the turns below number from that undos had undone, and returns them: with those undos
// undone, they are in effect again.
func (s *History) flip(undos []*kept, from int, kind string) (turns []*kept, err error) {
	for _, undo := range undos {
		for _, n := range undo.of {
			k, err := s.load(n)
			if n >= from || err != nil { // it was removed to free space
				continue
			}
			if err := appendTo(k.dir, []record{{Kind: kind, At: k.last}}); err != nil {
				return nil, err
			}
			turns = append(turns, k)
		}
	}
	return turns, nil
}

// appendTo appends records to the log of the turn in dir.
func appendTo(dir string, records []record) error {
	log, err := openLog(dir)
	if err != nil {
		return err
	}
	defer log.Close()
	for part := range slices.Chunk(records, 1000) { // all at once could take much memory
		if err := appendRecords(log, part...); err != nil {
			return err
		}
	}
	return log.Sync()
}

// back returns the records of the turn k, which was restored in part.
func (p *Plan) back(k *kept, r Report) []record {
	left := map[string]bool{}
	for _, l := range slices.Concat(p.Conflicts, p.NotKept, r.Failed) {
		left[l.Path] = true // of one path, the permissions may be restored and the content not
	}
	var out []record
	for _, step := range r.Done {
		if !left[step.Path] && k.paths[step.Path] != nil {
			b := about(kindBack, step.Path, nil)
			b.At = k.last
			out = append(out, b)
		}
	}
	return out
}

// flushed syncs what was restored to the disk.
func flushed(steps []Step) error {
	var last uint64
	for _, step := range steps {
		dir, err := hostfile.OpenFolder(filepath.Dir(step.Path))
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if err = unix.Fstat(int(dir.Fd()), &st); err == nil && uint64(st.Dev) != last {
			last, err = uint64(st.Dev), flush(int(dir.Fd()))
		}
		dir.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// restoration is the state of one Apply.
type restoration struct {
	ctx   context.Context
	files Files
	plan  *Plan
	look  walker
	// onDraft: nobody else changes the files, and they have another device than was recorded.
	onDraft bool

	failed map[string]error
	done   map[string]bool
	// opened are the folders that were not writable or searchable, with their earlier
	// permissions.
	opened map[string]uint32
}

func (a *restoration) expect(s state) worker.Expect {
	e := expect(s)
	if a.onDraft {
		e.Version = ""
	}
	return e
}

// all executes the steps in an order in which each can succeed: folders are writable while
// something in them changes, and get their permissions last.
func (a *restoration) all() {
	steps := a.plan.Steps
	deepFirst := slices.Clone(steps)
	slices.Reverse(deepFirst)
	remove := func(s Step) error { return a.files.Remove(s.Path, a.expect(s.now)) }
	a.each(steps, func(s Step) bool { return s.now.Kind == folder && s.now.Mode&0o700 != 0o700 },
		func(s Step) error { return a.openFolder(s.Path, s.now.Mode) })
	a.openAround(steps)
	a.each(deepFirst, func(s Step) bool { return s.goes() && s.now.Kind != folder }, remove)
	a.each(steps, func(s Step) bool { return s.comes(folder) },
		func(s Step) error { return a.files.Mkdir(s.Path, fs.FileMode(s.before.Mode|0o700), true) })
	a.each(deepFirst, func(s Step) bool { return s.goes() && s.now.Kind == folder }, remove)
	a.each(steps, func(s Step) bool { return s.comes(link) },
		func(s Step) error {
			return a.files.Symlink(s.Path, string(s.before.Target), worker.Expect{Parents: true})
		})
	a.each(steps, func(s Step) bool { return s.comes(file) }, a.put)
	a.each(steps, func(s Step) bool { return s.Do == Mode && s.now.Kind == file },
		func(s Step) error { return a.files.Chmod(s.Path, fs.FileMode(s.before.Mode), a.expect(s.now)) })
	a.each(deepFirst, func(s Step) bool { return s.before.Kind == folder },
		func(s Step) error { return a.files.Chmod(s.Path, fs.FileMode(s.before.Mode), worker.Expect{}) })
	a.closeFolders()
}

// goes reports whether the present entry is removed first. A file that becomes another file
// is replaced instead.
func (s Step) goes() bool {
	return s.Do != Mode && s.now.Kind != absent && !(s.before.Kind == file && s.now.Kind == file)
}

// comes reports whether an entry of kind k is made or replaced.
func (s Step) comes(k kind) bool { return s.Do != Mode && s.before.Kind == k }

// each calls do for each step that is selects, unless an earlier part of the step failed.
func (a *restoration) each(steps []Step, is func(Step) bool, do func(Step) error) {
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
func (a *restoration) put(s Step) error {
	content, err := a.plan.kept.content(s.before)
	if err != nil {
		return err
	}
	now, mode := state{Kind: absent}, s.before.Mode
	if s.now.Kind == file {
		now = s.now
		if !s.mode {
			mode = now.Mode // the agent did not change the permissions
		}
	}
	_, err = a.files.Put(s.Path, content, fs.FileMode(mode), a.expect(now))
	return err
}

// openAround makes folders writable in which entries are created or removed, if the turn
// changed their permissions: the turn could write them too. Folders that somebody else
// closed stay closed.
func (a *restoration) openAround(steps []Step) {
	for _, s := range steps {
		in := path.Dir(s.Path)
		if h := a.plan.kept.paths[in]; s.Do == Mode || h == nil || h.before.Kind != folder || a.ctx.Err() != nil {
			continue
		}
		if now, err := a.look.look(in); err == nil && now.Kind == folder {
			_ = a.openFolder(in, now.Mode) // a failure shows up in the later steps
		}
	}
}

// openFolder gives codeagent the permissions to list, search and change a folder.
func (a *restoration) openFolder(p string, mode uint32) error {
	if mode&0o700 == 0o700 {
		return nil
	}
	if err := a.files.Chmod(p, fs.FileMode(mode|0o700), worker.Expect{}); err != nil {
		return err
	}
	a.opened[p] = mode
	return nil
}

// closeFolders restores the permissions of opened folders that are not undone.
func (a *restoration) closeFolders() {
	for _, p := range slices.Backward(slices.Sorted(maps.Keys(a.opened))) {
		if a.done[p] && a.failed[p] == nil {
			continue
		}
		_ = a.files.Chmod(p, fs.FileMode(a.opened[p]), worker.Expect{}) // it stays open to its owner
	}
}

func (a *restoration) report() Report {
	var r Report
	for _, s := range a.plan.Steps {
		switch err := a.failed[s.Path]; {
		case err != nil:
			r.Failed = append(r.Failed, Skip{s.Path, reason(err)})
		case a.done[s.Path]:
			r.Done = append(r.Done, s)
		}
	}
	return r
}
