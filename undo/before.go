package undo

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"time"

	"codeagent/exec/worker"
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
	a := &restoration{ctx: ctx, files: unversioned{files}, plan: p, failed: map[string]error{}, done: map[string]bool{}, opened: map[string]uint32{}}
	defer a.look.close()
	a.all()
	for _, err := range a.failed {
		return err
	}
	return context.Cause(ctx)
}

// unversioned are Files on a draft, where a file has another device than the one that was recorded.
type unversioned struct{ Files }

func (f unversioned) Put(path string, content []byte, mode fs.FileMode, now worker.Expect) (worker.Info, error) {
	now.Version = ""
	return f.Files.Put(path, content, mode, now)
}

func (f unversioned) Chmod(path string, mode fs.FileMode, _ worker.Expect) error {
	return f.Files.Chmod(path, mode, worker.Expect{})
}

func (f unversioned) Remove(path string, _ worker.Expect) error {
	return f.Files.Remove(path, worker.Expect{})
}

// clockStep is longer than the steps of a file system's clock.
const clockStep = 20 * time.Millisecond

// errOlder: what is there is older.
var errOlder = errors.New("it is older")

// MadeSince reports whether something is at p, and fails if that was there before t.
func MadeSince(p string, t time.Time) (is bool, err error) {
	var w walker
	defer w.close()
	now, err := w.look(p)
	if err != nil || now.Kind == absent {
		return false, err
	}
	if born := birth(w.fd, path.Base(p)); born < t.Add(-clockStep).UnixNano() {
		return true, errOlder
	}
	return true, nil
}
