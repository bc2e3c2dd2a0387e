package undo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Files changes files from inside the sandbox, under the policy of the session.
// No link that stands in a path by then is followed.
type Files interface {
	// Put makes a file with that content and mode, where now is expected. It need not
	// be on the disk: Apply sees to that.
	Put(path string, content []byte, mode fs.FileMode, now Expect) error
	// Link makes a symbolic link where nothing is.
	Link(path, target string) error
	// Mkdir makes a folder where nothing is, and those missing above it.
	Mkdir(path string, mode fs.FileMode) error
	// Chmod sets the permissions of the file or folder that now is.
	Chmod(path string, mode fs.FileMode, now Expect) error
	// Remove takes away what now is; of folders, empty ones alone.
	Remove(path string, now Expect) error
	// Move gives a file another name, where nothing is.
	Move(from, to string) error
}

// Expect says what must be true of an entry for it to be changed.
type Expect struct {
	// Absent: there is none.
	Absent bool
	// Dev, Ino, Size and Mtime (in nanoseconds) are those of what is there, Ino 0 where
	// nothing is expected.
	Dev, Ino    uint64
	Size, Mtime int64
	// InPlace writes into the file that is there: it has other names, which are to
	// get the content too.
	InPlace bool
}

func expect(s state) Expect {
	switch s.Kind {
	case absent:
		return Expect{Absent: true}
	case folder:
		return Expect{} // what lies in it changes meanwhile, and with it its time
	}
	return Expect{Dev: s.Dev, Ino: s.Ino, Size: s.Size, Mtime: s.Mtime}
}

// Report is what undoing a turn came to.
type Report struct {
	Done   []Step
	Failed []Left
}

// errStale: a plan is good until the next turn.
var errStale = errors.New("files were changed since it was shown: look at it again")

// Apply undoes what p says, as far as it can be done, and notes what was. What
// changes meanwhile is left alone. What was left alone or failed can be undone
// later: the turn is undone once nothing of that is left. An interrupted one can be
// begun again with a new Plan. The error is that nothing was done, or not all was
// tried.
func (s *Session) Apply(ctx context.Context, p *Plan, files Files) (Report, error) {
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
	if k, err := s.load(p.number); err != nil || k.undone {
		return Report{}, errors.Join(ErrNothing, err)
	}
	a := &applying{ctx: ctx, files: files, plan: p, failed: map[string]error{}, done: map[string]bool{}, written: map[inode]Step{}}
	a.all()
	report := a.report()
	if err := context.Cause(ctx); err != nil {
		return report, fmt.Errorf("undo: %w", err)
	}
	if len(report.Done) == 0 {
		return report, nil // another try may do better
	}
	if err := s.mark(p, report); err != nil {
		return report, fmt.Errorf("undo: it was done, but that cannot be written down: %w", err)
	}
	return report, nil
}

// mark notes what was undone, the turn or a part of it, once all that was put back
// is on the disk.
func (s *Session) mark(p *Plan, r Report) error {
	if err := flushed(r.Done); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(p.kept.dir, logName), os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	records := []record{{Kind: kindUndone, At: s.store.now()}}
	if len(p.Conflicts)+len(r.Failed) > 0 {
		records = p.back(r)
	}
	for part := range slices.Chunk(records, 1000) { // all of them can take much memory
		if err := appendRecords(f, part...); err != nil {
			return err
		}
	}
	return f.Sync()
}

// back are the records of a turn of which a part was put back. They say when the log
// was last written before: what a turn that was cut off may have changed is judged
// by that time.
func (p *Plan) back(r Report) []record {
	left := map[string]bool{}
	for _, l := range slices.Concat(p.Conflicts, p.NotKept, r.Failed) {
		left[l.Path] = true // of one path, the permissions may be put back and the content not
	}
	var out []record
	note := func(path string) {
		if path != "" && !left[path] {
			b := about(kindBack, path, nil)
			b.At = p.kept.last
			out = append(out, b)
		}
	}
	for _, step := range r.Done {
		note(step.from)
		note(step.Path)
	}
	return out
}

// flushed has what was put back on the disk.
func flushed(steps []Step) error {
	var last uint64
	for _, step := range steps {
		dir, err := os.OpenFile(filepath.Dir(step.Path), os.O_RDONLY|syscall.O_DIRECTORY, 0) // never a FIFO
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

// applying is one Apply.
type applying struct {
	ctx    context.Context
	files  Files
	plan   *Plan
	failed map[string]error
	done   map[string]bool
	// written are the files that were written in place, by one of their names.
	written map[inode]Step
}

// all does the steps in an order in which each finds what it needs: folders are
// open while something in them changes, and get their permissions last.
func (a *applying) all() {
	steps := a.plan.Steps
	deepFirst := slices.Clone(steps)
	slices.Reverse(deepFirst)
	remove := func(s Step) error { return a.files.Remove(s.Path, expect(s.now)) }
	a.each(steps, func(s Step) bool { return s.now.Kind == folder && s.now.Mode&0o700 != 0o700 },
		func(s Step) error { return a.files.Chmod(s.Path, fs.FileMode(s.now.Mode|0o700), Expect{}) })
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
}

// goes reports whether what is there is taken away first. A file in the place of a
// file is replaced.
func (s Step) goes() bool {
	return s.Do != Mode && s.from == "" && s.now.Kind != absent && !(s.before.Kind == file && s.now.Kind == file)
}

// comes reports whether something of kind k is made or replaced.
func (s Step) comes(k kind) bool { return s.Do != Mode && s.from == "" && s.before.Kind == k }

// move moves a file back that the turn had moved.
func (a *applying) move(s Step) error {
	err := a.files.Move(s.from, s.Path)
	if err == nil && s.now.Mode != s.before.Mode {
		err = a.files.Chmod(s.Path, fs.FileMode(s.before.Mode), expect(s.now))
	}
	return err
}

// each does one thing for each step that it is for, until something of it failed.
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

// put gives a file back what it held, once for all its names.
func (a *applying) put(s Step) error {
	if !s.inPlace {
		return a.putContent(s)
	}
	if other, is := a.written[s.now.inode()]; is && other.before.holdsAs(s.before) {
		return a.failed[other.Path]
	}
	a.written[s.now.inode()] = s
	return a.putContent(s)
}

func (a *applying) putContent(s Step) error {
	content, err := a.plan.kept.content(s.before)
	if err != nil {
		return err
	}
	now, mode := Expect{Absent: true}, s.before.Mode
	if s.now.Kind == file {
		now = expect(s.now)
		now.InPlace = s.inPlace
		if !s.mode {
			mode = s.now.Mode // the agent did not change it
		}
	}
	return a.files.Put(s.Path, content, fs.FileMode(mode), now)
}

func (a *applying) report() Report {
	var r Report
	for _, s := range a.plan.Steps {
		switch err := a.failed[s.Path]; {
		case err != nil:
			r.Failed = append(r.Failed, Left{s.Path, failure(err)})
		case a.done[s.Path]:
			r.Done = append(r.Done, s)
		}
	}
	return r
}

// failure says why a step failed.
func failure(err error) string {
	if errors.Is(err, unix.ENOSPC) {
		return "the disk is full"
	}
	return strings.TrimSpace(err.Error())
}
