package undo

import (
	"context"
	"maps"
	"path"
	"time"
)

// Before returns what restores the state from before c, which is settled. It is for a draft (Plan.On): nothing is
// recorded. ok is false if that state is not known, as for a path that an earlier call of the turn had touched.
func (c *Call) Before() (p *Plan, ok bool) {
	s := c.history
	s.mu.Lock()
	mine, known := maps.Clone(c.mine), !c.shared && !c.found.Partial
	s.mu.Unlock()
	if !known || len(mine) == 0 {
		return &Plan{kept: &kept{}}, known
	}
	k, err := s.load(s.Recorded())
	if err != nil || k.more != "" {
		return nil, false
	}
	maps.DeleteFunc(k.paths, func(p string, _ *history) bool { return !mine[p] })
	p = s.plan(k, nil, func(Step) string { return "" })
	return p, len(k.paths) == len(mine) && len(p.Conflicts)+len(p.NotKept) == 0
}

// On restores what p says through files on a draft, which nobody else changes.
func (p *Plan) On(ctx context.Context, files Files) error {
	a := &restoration{ctx: ctx, files: files, plan: p, onDraft: true, failed: map[string]error{}, done: map[string]bool{}, opened: map[string]uint32{}}
	defer a.look.close()
	a.all()
	for _, err := range a.failed {
		return err
	}
	return context.Cause(ctx)
}

// clockStep is longer than the steps of a file system's clock.
const clockStep = 20 * time.Millisecond

// MadeSince reports whether something is there at p, and was made since t.
func MadeSince(p string, t time.Time) (there, since bool) {
	var w walker
	defer w.close()
	now, err := w.look(p)
	if err != nil || now.Kind == absent {
		return err != nil, false
	}
	return true, birth(w.fd, path.Base(p)) >= t.Add(-clockStep).UnixNano()
}
