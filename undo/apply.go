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

	"golang.org/x/sys/unix"

	"codeagent/hostfile"
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
	// Absent: nothing is there.
	Absent bool
	// Dev, Ino, Size and Mtime (in nanoseconds) are those of what is there, Ino 0 where
	// nothing is expected.
	Dev, Ino    uint64
	Size, Mtime int64
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
var errStale = errors.New("files changed after the preview; preview the undo again")

// Apply takes the steps of p, as far as possible, and records what was done. What changes
// meanwhile is left alone. What was left alone or failed can be undone later: the turn is
// undone once nothing is left. An interrupted undo can begin again with a new Plan. An
// error means that nothing was done, or that not everything was tried.
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
	if k, err := s.load(p.number); err != nil || k.undone {
		return Report{}, errors.Join(ErrNothing, err)
	}
	log, err := hostfile.OpenFile(filepath.Join(p.kept.dir, logName), os.O_RDWR|os.O_APPEND, 0)
	if err == nil {
		defer log.Close()
		err = endLine(log)
	}
	if err != nil {
		return Report{}, fmt.Errorf("undo: %w", err) // what is done must be written down
	}
	a := &applying{ctx: ctx, files: files, plan: p, log: log, now: s.store.now, failed: map[string]error{}, done: map[string]bool{}, opened: map[string]uint32{}, begun: map[string]*state{}}
	defer a.look.close()
	a.all()
	report := a.report()
	if err := context.Cause(ctx); err != nil {
		return report, fmt.Errorf("undo: %w", err)
	}
	if len(report.Done) == 0 {
		return report, nil // another try may do better
	}
	if err := s.mark(p, report, log); err != nil {
		return report, fmt.Errorf("undo: restored, but recording it failed: %w", err)
	}
	return report, nil
}

// mark records what was undone, the turn or a part of it, once everything restored is on
// the disk.
func (s *History) mark(p *Plan, r Report, log *os.File) error {
	if err := flushed(r.Done); err != nil {
		return err
	}
	records := []record{{Kind: kindUndone, At: s.store.now()}}
	if len(p.Conflicts)+len(p.Closed)+len(r.Failed) > 0 {
		records = p.back(r)
	}
	for part := range slices.Chunk(records, 1000) { // all of them can take much memory
		if err := appendRecords(log, part...); err != nil {
			return err
		}
	}
	return log.Sync()
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
