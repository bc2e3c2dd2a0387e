package undo

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"time"

	"codeagent/hostfile"
)

// Operation is what undoing does to one path.
type Operation string

const (
	// Restore restores the content of a changed file or link.
	Restore Operation = "restore"
	// Recreate creates an entry that was removed.
	Recreate Operation = "recreate"
	// Remove removes an entry that was made.
	Remove Operation = "remove"
	// Mode restores only the permissions of a file or folder.
	Mode Operation = "mode"
)

// Step is one path that undoing changes.
type Step struct {
	Path string
	Do   Operation
	// Type is "file", "folder", "link" or "special": the type of what is restored or removed.
	Type string

	before, now state
	// content and mode say what is restored of a file or folder that stays.
	content, mode bool
}

// InFolder reports whether the step changes the folder of the path, and not only the entry
// itself: a permission for its name alone is enough to write or make a file.
func (s Step) InFolder() bool {
	return s.Do != Mode && (s.before.Kind != file || s.now.Kind != file && s.now.Kind != absent)
}

// Skip is one path that undoing leaves as it is, and why.
type Skip struct{ Path, Why string }

func sortByPath(list []Skip) {
	sort.Slice(list, func(i, j int) bool { return list[i].Path < list[j].Path })
}

// Obstacle is a step that is not allowed now, and why.
type Obstacle struct {
	Step
	Why string
}

// Plan is what undoing one turn would do.
type Plan struct {
	// Title is the beginning of the turn's message, Began when it began.
	Title string
	Began time.Time
	// Cut: codeagent ended before the turn did.
	Cut bool
	// Steps, Conflicts and NotKept are in the order of paths. Conflicts are what somebody else
	// has changed after the turn, and changed files with several names (hard links). NotKept
	// is what was not recorded or cannot be restored.
	Steps              []Step
	Conflicts, NotKept []Skip
	// Obstacle are the steps that are recorded in full and that the caller's policy does not
	// allow; another policy may.
	Closed []Obstacle
	// More says why nothing was recorded from some moment of the turn on; empty: all was.
	More string
	// Unrecorded: it is not known what the turn changed; More says why. Turns before it must
	// not be undone unless the user skips this one explicitly: Earlier.
	Unrecorded bool

	number int
	kept   *kept
	// turns are those that it undoes, the oldest first. redo: it takes an undo back.
	turns []*kept
	redo  bool
	// from is the number of the first turn of PlanSince; 0: it is another plan.
	from int
	// later are the paths of later turns that were skipped.
	later map[string]bool
	// last is the highest number of a turn.
	last int
}

func (p *Plan) empty() bool {
	return len(p.Steps)+len(p.Conflicts)+len(p.NotKept)+len(p.Closed) == 0 && p.More == ""
}

// Plan returns what undoing the last turn that changed something would do; turns that were
// undone do not count. It changes nothing. may says why a step is not allowed now, "" if it
// is allowed. The error is ErrNothing or ErrBusy.
func (s *History) Plan(may func(Step) string) (*Plan, error) {
	return s.planBelow(math.MaxInt, map[string]bool{}, may)
}

// Earlier is Plan for the turns before that of p, which stays and can be undone later. For
// earlier turns, its changes count as changes after them.
func (s *History) Earlier(p *Plan, may func(Step) string) (*Plan, error) {
	later := maps.Clone(p.later)
	for name, h := range p.kept.paths {
		if !h.back {
			later[name] = true
		}
	}
	return s.planBelow(p.number, later, may)
}

// PlanOf is Plan for the turn with this number (see Recorded), and ErrNothing if nothing of it is
// left to undo. What later turns changed is left alone, as with Earlier.
func (s *History) PlanOf(number int, may func(Step) string) (*Plan, error) {
	p, err := s.Plan(may)
	for err == nil && p.number > number {
		p, err = s.Earlier(p, may)
	}
	if err == nil && p.number != number {
		return nil, ErrNothing
	}
	return p, err
}

// planBelow is Plan for the turns with a number below top.
func (s *History) planBelow(top int, later map[string]bool, may func(Step) string) (*Plan, error) {
	numbers, err := s.settled()
	if err != nil {
		return nil, err
	}
	for _, n := range slices.Backward(numbers) {
		if n >= top {
			continue
		}
		if p := s.planOf(n, later, may); p != nil && !p.empty() {
			p.last = slices.Max(numbers)
			return p, nil
		}
	}
	return nil, ErrNothing
}

// planOf returns the plan for turn n, nil if it was undone or removed.
func (s *History) planOf(n int, later map[string]bool, may func(Step) string) *Plan {
	k, err := s.load(n)
	switch {
	case err != nil:
		info, gone := hostfile.Lstat(s.folder(n))
		if gone != nil {
			return nil // it was removed meanwhile to free space
		}
		k = &kept{number: n, dir: s.folder(n), began: info.ModTime(), more: s.whyUnrecorded(n, err)}
		return &Plan{Began: k.began, Cut: true, More: k.more, Unrecorded: true, number: n, kept: k, turns: []*kept{k}, later: later}
	case k.undone, k.of != nil:
		return nil
	case !k.ended && !k.begun && k.more == "" && len(k.paths) == 0:
		k.more = "codeagent ended before anything was recorded"
	}
	p := s.plan(k, later, may)
	p.Unrecorded = len(k.paths) == 0 && k.more != ""
	return p
}

// damaged is the reason where the log itself does not say why it is not whole.
const damaged = "the list of what it changed is empty or damaged; was the disk full?"

// whyUnrecorded says why the log of turn n cannot be read.
func (s *History) whyUnrecorded(n int, err error) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch t := s.current; {
	case t != nil && t.number == n && t.more != "":
		return t.more
	case errors.Is(err, errLog), errors.Is(err, fs.ErrNotExist):
		return damaged
	}
	return reason(err)
}

// settle records the state that running calls have left so far.
func (s *History) settle() error {
	s.mu.Lock()
	running := s.running
	s.mu.Unlock()
	if running {
		return ErrBusy
	}
	for _, c := range s.openCalls() {
		c.Settle()
	}
	return nil
}

func (s *History) folder(n int) string { return filepath.Join(s.dir, strconv.Itoa(n)) }

// load reads the records of turn n.
func (s *History) load(n int) (*kept, error) {
	f, err := hostfile.OpenFile(filepath.Join(s.folder(n), logName), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	k, err := readLog(f, s.store.bounds.readable())
	if err != nil {
		return nil, err
	}
	k.dir = s.folder(n)
	if k.last.IsZero() {
		k.last = info.ModTime()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.current; t != nil && t.dir == k.dir && k.more == "" {
		k.more = t.more // the disk was full, so the log lacks this record
	}
	k.number = n
	return k, nil
}

func (s *History) plan(k *kept, later map[string]bool, may func(Step) string) *Plan {
	p := &Plan{Title: k.title, Began: k.began, Cut: !k.ended, More: k.more, number: k.number, kept: k, turns: []*kept{k}, later: later}
	incomplete := k.more != ""
	var w walker
	defer w.close()
	for _, name := range slices.Sorted(maps.Keys(k.paths)) {
		h := k.paths[name]
		if h.back {
			continue
		}
		if h.lost != "" {
			p.NotKept = append(p.NotKept, Skip{name, "its content: " + h.lost})
			incomplete = true
		}
		now, err := w.lookInto(name, s.store.bounds.file)
		if err != nil {
			p.NotKept = append(p.NotKept, Skip{name, reason(err)})
			continue
		}
		j := judge{kept: k, history: h, now: now, later: later[name]}
		step := j.step()
		if j.conflict != "" {
			p.Conflicts = append(p.Conflicts, Skip{name, j.conflict})
		}
		if j.notKept != "" {
			p.NotKept = append(p.NotKept, Skip{name, j.notKept})
			incomplete = incomplete || h.before.Kind == file
		}
		if step != nil {
			step.Path = name
			p.Steps = append(p.Steps, *step)
		}
	}
	if incomplete {
		p.spareFiles()
	}
	p.closeSteps(may)
	p.spareFolders(&w)
	sortByPath(p.Conflicts)
	return p
}

// spareFiles keeps files that the turn made if it also destroyed content that is not
// recorded: they may be all that is left of it, packed, renamed or rewritten.
func (p *Plan) spareFiles() {
	p.Steps = slices.DeleteFunc(p.Steps, func(s Step) bool {
		spared := s.Do == Remove && s.now.Kind == file && s.now.Size > 0
		if spared {
			p.Conflicts = append(p.Conflicts, Skip{s.Path, "it may contain content that was not recorded"})
		}
		return spared
	})
}

// closeSteps moves the steps that are not allowed to Closed. A folder that contains such a
// path stays.
func (p *Plan) closeSteps(may func(Step) string) {
	p.Steps = slices.DeleteFunc(p.Steps, func(s Step) bool {
		why := may(s)
		if why != "" {
			p.Closed = append(p.Closed, Obstacle{s, why})
		}
		return why != ""
	})
}

// spareFolders keeps folders that the agent made and to which somebody else added something.
func (p *Plan) spareFolders(w *walker) {
	gone := map[string]bool{}
	spared := map[string]bool{}
	for _, s := range slices.Backward(p.Steps) { // a folder comes after its content
		if s.Do == Mode || s.now.Kind == absent || s.now.Kind == s.before.Kind {
			continue
		}
		// One name more than gone has is enough. If listing fails, removing reports the error.
		stays := func(name string) bool { return !gone[path.Join(s.Path, name)] }
		if s.now.Kind == folder && slices.ContainsFunc(w.names(s.Path, len(gone)+1), stays) {
			spared[s.Path] = true
			p.Conflicts = append(p.Conflicts, Skip{s.Path, "it contains files that stay"})
			continue
		}
		gone[s.Path] = true
	}
	p.Steps = slices.DeleteFunc(p.Steps, func(s Step) bool { return spared[s.Path] })
}

// Contents returns what step s of p replaces, and what it restores; nil where there is no file. ok is
// false for what is no file, has more than most bytes, or is not as the plan found it.
func (p *Plan) Contents(s Step, most int64) (now, restored []byte, ok bool) {
	for _, state := range []state{s.now, s.before} {
		if state.Kind != file && state.Kind != absent || state.Size > most || s.Do == Mode {
			return nil, nil, false
		}
	}
	if s.before.Kind == file {
		var err error
		if restored, err = p.kept.content(s.before); err != nil {
			return nil, nil, false
		}
	}
	if s.now.Kind != file {
		return nil, restored, true
	}
	var w walker
	defer w.close()
	dir, err := w.folder(path.Dir(s.Path))
	if err != nil {
		return nil, nil, false
	}
	f, err := openFile(dir, path.Base(s.Path), s.now)
	if err != nil {
		return nil, nil, false
	}
	defer f.Close()
	now, err = io.ReadAll(io.LimitReader(f, most+1))
	if is := sha256.Sum256(now); err != nil || !bytes.Equal(is[:], s.now.Sum) {
		return nil, nil, false
	}
	return append([]byte{}, now...), restored, true
}

// errDamaged: a stored content does not match its checksum.
var errDamaged = errors.New("its stored content is damaged")

// content reads the stored content of s, and verifies it.
func (k *kept) content(s state) ([]byte, error) {
	if s.Kept == nil {
		return nil, errDamaged
	}
	dir := k.dir
	if s.Kept.Turn > 0 {
		dir = filepath.Join(filepath.Dir(k.dir), strconv.Itoa(s.Kept.Turn))
	}
	f, err := hostfile.OpenFile(filepath.Join(dir, storedName), os.O_RDONLY, 0)
	if err != nil {
		return nil, errDamaged
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || s.Size > maxFile || s.Kept.At > info.Size() || s.Size > info.Size()-s.Kept.At {
		return nil, errDamaged
	}
	data := make([]byte, s.Size)
	if _, err := f.ReadAt(data, s.Kept.At); err != nil && err != io.EOF {
		return nil, errDamaged
	}
	if is := sha256.Sum256(data); !bytes.Equal(is[:], s.Sum) {
		return nil, errDamaged
	}
	return data, nil
}
