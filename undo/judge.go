package undo

import (
	"bytes"
	"time"
)

// judge decides about one path by three states: before the turn, as the agent left it, now.
type judge struct {
	*kept
	*history
	now state
	// later: a later turn that is not undone may have changed it too.
	later bool
	// conflict and notKept say why something is left alone.
	conflict, notKept string
}

// grace is how long after the last record of its log a turn that was cut off may have changed
// files. The command dies with codeagent, and a person is not that fast.
const grace = 2 * time.Second

const (
	changedSince = "it was changed after the turn"
	changedToo   = "somebody else also changed it, between the agent's changes"
	manyNames    = "it has several names (hard links); undo leaves such a file as it is"
	notNoted     = "what the agent left was not recorded, so a later change cannot be ruled out"
	changedLater = "codeagent ended before it recorded what the agent left, and it was changed after that"
)

// step returns what to do; nil for nothing. A change of a file with several names affects all
// of them, and only the name that was used is reported; a conflict about such a file says so.
func (j *judge) step() *Step {
	s := j.decide()
	if j.conflict != "" && max(j.before.Links, j.now.Links) > 1 {
		j.conflict = manyNames
	}
	return s
}

func (j *judge) decide() *Step {
	if j.before.Kind == special {
		if j.now.Kind != special || j.now.inode() != j.before.inode() {
			j.notKept = j.why
		}
		return nil
	}
	if j.isBefore() {
		return nil
	}
	left := j.after
	if left == nil {
		// A missing path is restored, since that loses nothing.
		if j.now.Kind != absent && j.more != "" {
			j.conflict = notNoted // the time of the last record does not decide this
			return nil
		}
		if j.now.Kind != absent && (j.later || time.Unix(0, j.now.Ctime).After(j.last.Add(grace))) {
			j.conflict = changedLater
			return nil
		}
		left = &j.now
	}
	switch {
	case j.mixed:
		j.conflict = changedToo
	case left.Kind != j.now.Kind:
		j.conflict = changedSince
	case j.before.Kind == file && j.now.Kind == file:
		s := j.fileStep(left)
		if s != nil && j.before.Links > 1 && j.now.inode() == j.before.inode() {
			j.conflict = manyNames
			return nil
		}
		return s
	case j.before.Kind == folder && j.now.Kind == folder:
		return j.modeStep(left)
	case !isLeft(left, &j.now):
		j.conflict = changedSince
	default:
		return j.kindStep()
	}
	return nil
}

// isBefore reports whether the path is as it was before the turn.
func (j *judge) isBefore() bool {
	b, now := &j.before, &j.now
	if b.Kind != now.Kind || b.Mode != now.Mode || !bytes.Equal(b.Target, now.Target) {
		return false
	}
	return b.Kind != file || !j.differs(now)
}

// differs reports whether a file's content differs from before the turn.
func (j *judge) differs(now *state) bool {
	b := &j.before
	if b.Size != now.Size {
		return true
	}
	if b.inode() == now.inode() && b.Mtime == now.Mtime && b.Ctime == now.Ctime {
		return false
	}
	if b.Sum != nil && now.Sum != nil {
		return !bytes.Equal(b.Sum, now.Sum)
	}
	return b.inode() != now.inode() || b.Mtime != now.Mtime
}

// isLeft reports whether the path is still as the agent left it.
func isLeft(left, now *state) bool {
	return left.Mode == now.Mode && bytes.Equal(left.Target, now.Target) && sameContent(left, now) &&
		(now.Kind != special || left.inode() == now.inode())
}

// sameContent is isLeft for the content only.
func sameContent(left, now *state) bool {
	if left.Kind != file {
		return true
	}
	if left.Sum != nil && now.Sum != nil {
		return bytes.Equal(left.Sum, now.Sum)
	}
	return left.inode() == now.inode() && left.Size == now.Size && left.Mtime == now.Mtime && left.Ctime == now.Ctime
}

// fileStep judges a file that is still a file. Content and mode are judged separately: the
// agent may have changed one and the user the other.
func (j *judge) fileStep(left *state) *Step {
	s := j.modeStep(left)
	if !j.differs(&j.now) || !j.differs(left) {
		return s // unchanged, or not changed by the agent
	}
	switch {
	case j.before.Kept == nil:
		j.notKept = j.why
		return s
	case !sameContent(left, &j.now):
		j.conflict = changedSince
		return s
	}
	if s == nil {
		s = &Step{Type: string(file), before: j.before, now: j.now}
	}
	s.Do, s.content = Restore, true
	return s
}

// modeStep judges the permissions of an entry that stays.
func (j *judge) modeStep(left *state) *Step {
	switch {
	case j.now.Mode == j.before.Mode, left.Mode == j.before.Mode:
		return nil // unchanged, or not changed by the agent
	case left.Mode != j.now.Mode:
		j.conflict = "its permissions were changed after the turn"
		return nil
	}
	return &Step{Do: Mode, Type: string(j.now.Kind), before: j.before, now: j.now, mode: true}
}

// kindStep judges an entry that the agent made, removed or replaced by one of another kind.
func (j *judge) kindStep() *Step {
	s := &Step{Do: Restore, Type: string(j.before.Kind), before: j.before, now: j.now}
	switch {
	case j.before.Kind == absent:
		s.Do, s.Type = Remove, string(j.now.Kind)
	case j.before.Kind == file && j.before.Kept == nil:
		j.notKept = j.why
		return nil
	case j.now.Kind == absent:
		s.Do = Recreate
	}
	return s
}
