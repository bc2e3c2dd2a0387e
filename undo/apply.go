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

// Files changes files inside the sandbox, under the policy of the session. It follows no
// link in a path.
type Files interface {
	// Put makes a file with that content and mode, if now is met. It need not sync the file
	// to disk: Apply does that.
	Put(path string, content []byte, mode fs.FileMode, now Expect) error
	// Link makes a symbolic link at path, which must not exist.
	Link(path, target string) error
	// Mkdir makes a folder at path, which must not exist, and the missing folders above it.
	Mkdir(path string, mode fs.FileMode) error
	// Chmod sets the permissions of the file or folder that meets now.
	Chmod(path string, mode fs.FileMode, now Expect) error
	// Remove removes the entry that meets now; a folder only if it is empty.
	Remove(path string, now Expect) error
	// Move renames a file to a name that must not exist.
	Move(from, to string) error
}

// Expect is a condition that an entry must meet to be changed.
type Expect struct {
	// Absent: there is no entry.
	Absent bool
	// Dev, Ino, Size and Mtime (in nanoseconds) are those of the present entry. Ino is 0 if
	// any entry is accepted.
	Dev, Ino    uint64
	Size, Mtime int64
}

func expect(s state) Expect {
	switch s.Kind {
	case absent:
		return Expect{Absent: true}
	case folder:
		return Expect{} // its content changes meanwhile, and with it its time
	}
	return Expect{Dev: s.Dev, Ino: s.Ino, Size: s.Size, Mtime: s.Mtime}
}

// Report is the result of undoing a turn.
type Report struct {
	Done   []Step
	Failed []Left
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
	if k, err := s.load(p.number); err != nil || k.undone {
		return Report{}, errors.Join(ErrNothing, err)
	}
	log, err := hostfile.OpenFile(filepath.Join(p.kept.dir, logName), os.O_RDWR|os.O_APPEND, 0)
	if err == nil {
		defer log.Close()
		err = endLine(log)
	}
	if err != nil {
		return Report{}, fmt.Errorf("undo: %w", err) // what is done must be recorded
	}
	a := &applying{ctx: ctx, files: files, plan: p, log: log, now: s.store.now, failed: map[string]error{}, done: map[string]bool{}, opened: map[string]uint32{}, begun: map[string]*state{}}
	defer a.look.close()
	a.all()
	report := a.report()
	if err := context.Cause(ctx); err != nil {
		return report, fmt.Errorf("undo: %w", err)
	}
	if len(report.Done) == 0 {
		return report, nil // a later try may succeed
	}
	if err := s.mark(p, report, log); err != nil {
		return report, fmt.Errorf("undo: restored, but recording it failed: %w", err)
	}
	return report, nil
}

// mark records what was undone, the turn or a part of it, after everything restored was
// synced to disk.
func (s *History) mark(p *Plan, r Report, log *os.File) error {
	if err := flushed(r.Done); err != nil {
		return err
	}
	records := []record{{Kind: kindUndone, At: s.store.now()}}
	if len(p.Conflicts)+len(p.Closed)+len(r.Failed) > 0 {
		records = p.back(r)
	}
	for part := range slices.Chunk(records, 1000) { // all at once could take much memory
		if err := appendRecords(log, part...); err != nil {
			return err
		}
	}
	return log.Sync()
}

// back returns the records of a turn that was restored in part. They contain when the log was
// last written before: what a turn that was cut off may have changed is judged by that time.
func (p *Plan) back(r Report) []record {
	left := map[string]bool{}
	for _, l := range slices.Concat(p.Conflicts, p.NotKept, r.Failed) {
		left[l.Path] = true // of one path, the permissions may be restored and the content not
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

// failure returns the reason why a step failed.
func failure(err error) string {
	if errors.Is(err, unix.ENOSPC) {
		return "the disk is full"
	}
	return strings.TrimSpace(err.Error())
}
