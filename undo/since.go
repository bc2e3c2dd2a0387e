package undo

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"codeagent/hostfile"
	"codeagent/internal/short"
)

// Turns are one line of changes, and so is undoing them: what an undo replaces is kept like a turn,
// under the number after the last one. Therefore an undo can be taken back (PlanRedo), also after
// codeagent was killed in the middle of it, and the state before any turn can be restored (PlanSince).

// Next returns the number of the first turn that can hold a change that comes after now.
func (s *History) Next() int {
	if n := s.Recorded(); n > 0 {
		return n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last + 1
}

// PlanSince returns what restoring the state from before turn number would do, all turns from there on
// as one. What somebody else changed after or between them is left alone. See Plan.
func (s *History) PlanSince(number int, may func(Step) string) (*Plan, error) {
	numbers, err := s.settled()
	if err != nil {
		return nil, err
	}
	at, _ := slices.BinarySearch(numbers, number)
	since := numbers[at:]
	if len(since) == 0 {
		return nil, ErrNothing
	}
	last := since[len(since)-1]
	lost := last - number + 1 - len(since)
	replaced := map[int]bool{} // turns whose undo is in the line
	var line, turns []*kept
	for _, n := range slices.Backward(since) {
		k, err := s.load(n)
		if err != nil {
			lost++
			continue
		}
		if !k.undone {
			turns = append(turns, k)
		}
		if !k.undone || replaced[n] {
			line = append(line, k)
			for _, n := range k.of {
				replaced[n] = true
			}
		}
	}
	all := &kept{number: number, dir: s.folder(last), ended: true, paths: map[string]*history{}}
	for _, k := range slices.Backward(line) {
		all.join(k, replaced[k.number])
	}
	if lost > 0 && all.more == "" {
		all.more = "there is no record of " + short.Count(lost, "turn")
	}
	slices.Reverse(turns)
	p := s.plan(all, map[string]bool{}, may)
	if p.turns, p.from, p.last = turns, number, last; p.empty() {
		return nil, ErrNothing
	}
	return p, nil
}

// Turns is how many turns p undoes.
func (p *Plan) Turns() int {
	return len(slices.DeleteFunc(slices.Clone(p.turns), func(k *kept) bool { return k.of != nil }))
}

// join appends the changes of the next turn to those of k. whole: also what was restored of it, since
// the line has that too.
func (k *kept) join(next *kept, whole bool) {
	if k.began.IsZero() {
		k.began, k.title = next.began, next.title
	}
	if k.more == "" {
		k.more = next.more
	}
	k.last, k.ended = next.last, next.ended
	for p, h := range next.paths {
		if h.back && !whole {
			continue
		}
		before := h.before
		if before.Kept != nil && before.Kept.Turn == 0 {
			kept := *before.Kept
			kept.Turn = next.number
			before.Kept = &kept
		}
		was := k.paths[p]
		if was == nil {
			k.paths[p] = &history{before: before, why: h.why, after: h.after, mixed: h.mixed, lost: h.lost}
			continue
		}
		is := was.after
		// Where codeagent ended before it was recorded what the turn left, somebody else may have changed it.
		same := is != nil && is.Kind == before.Kind && (isLeft(is, &before) || is.untouched(before)) || is == nil && before.Kind == absent
		was.mixed, was.after = was.mixed || h.mixed || !same, h.after
		if was.lost == "" {
			was.lost = h.lost
		}
	}
}

// PlanRedo returns what taking the last undo back would do. The error is ErrNothing where nothing was
// undone, or something was changed since.
func (s *History) PlanRedo(may func(Step) string) (*Plan, error) {
	numbers, err := s.settled()
	if err != nil {
		return nil, err
	}
	for _, n := range slices.Backward(numbers) {
		switch k, err := s.load(n); {
		case err != nil, !k.undone && k.of == nil:
			return nil, ErrNothing
		case !k.undone && k.of != nil:
			p := s.plan(k, map[string]bool{}, may)
			p.redo, p.last = true, numbers[len(numbers)-1]
			return p, nil
		}
	}
	return nil, ErrNothing
}

// isUndo reports whether turn n is an undo.
func (s *History) isUndo(n int) bool {
	f, err := hostfile.OpenFile(filepath.Join(s.folder(n), logName), os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	k, err := readLog(f, maxLine) // its beginning
	return err == nil && k.of != nil
}

// settled returns the numbers of the turns, in their order, after what running calls left so far was
// recorded.
func (s *History) settled() ([]int, error) {
	if err := s.settle(); err != nil {
		return nil, err
	}
	numbers, err := s.turns()
	if err != nil {
		return nil, fmt.Errorf("undo: %w", err)
	}
	slices.Sort(numbers)
	return numbers, nil
}

// replaced keeps what the steps of p are about to replace. Where it cannot be kept, they are restored all
// the same: a full disk is a reason to undo.
func (s *History) replaced(p *Plan) *turn {
	t := newTurn(s, p.Title)
	t.from = p.from
	for _, k := range p.turns {
		t.of = append(t.of, k.number)
	}
	s.mu.Lock()
	was := s.current
	s.current = nil // what a job changes from now on is not of that turn
	s.mu.Unlock()
	was.close()
	out := lines{turn: t}
	var w walker
	defer w.close()
	for _, step := range p.Steps {
		now, why := step.now, ""
		if now.Kind == file && step.Do != Mode {
			if dir, err := w.folder(path.Dir(step.Path)); err != nil {
				why = reason(err)
			} else {
				why = t.keepFile(dir, path.Base(step.Path), &now)
			}
		}
		r := about(kindBefore, step.Path, &now)
		r.Why = why
		out.add(r)
	}
	out.flush()
	return t
}

// leaves records what restoring left, and ends the turn. A nil turn records nothing.
func (t *turn) leaves(steps []Step) {
	if t == nil {
		return
	}
	out := lines{turn: t}
	var w walker
	defer w.close()
	for _, step := range steps {
		if now, err := w.lookInto(step.Path, t.history.store.bounds.file); err == nil {
			out.add(about(kindAfter, step.Path, &now))
		}
	}
	out.flush()
	t.end()
	t.close()
}
