package mcpcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"codeagent/cmd/codeagent/undocmd"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/mcp/serve"
	"codeagent/undo"
)

// change is a call or a turn that changed files.
type change struct {
	id   string
	talk *talk
	turn int // its number in the history of undo
}

// mostChanges is how many changes the tool undo can name; `codeagent undo` knows all.
const mostChanges = 1000

// changed records that a call of t changed files in this turn of undo, and returns the name for it;
// "" for turn 0.
func (h *host) changed(t *talk, turn int) string {
	if turn == 0 || t.ses.Record == nil {
		return ""
	}
	c := change{fmt.Sprintf("%s-%d", t.ses.Record.Log.ID(), turn), t, turn}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.undo = slices.DeleteFunc(h.undo, func(o change) bool { return o.id == c.id }) // calls at the same time
	if h.undo = append(h.undo, c); len(h.undo) > mostChanges {
		h.undo = h.undo[1:]
	}
	return c.id
}

// undoCall restores what a call changed.
func (h *host) undoCall(ctx context.Context, c serve.Call) serve.Result {
	var id string
	if err := texts(c, map[string]*string{"undo_id": &id}); err != nil {
		return failed(c, err)
	}
	h.mu.Lock()
	list := slices.Clone(h.undo)
	h.mu.Unlock()
	slices.Reverse(list)
	if id != "" {
		list = slices.DeleteFunc(list, func(o change) bool { return o.id != id })
	}
	for _, o := range list {
		res, err := h.undoOne(ctx, o)
		if errors.Is(err, undo.ErrNothing) { // it was undone, or changed nothing in the end
			h.forget(o)
			continue
		}
		if err != nil {
			return failed(c, err)
		}
		return res
	}
	err := errors.New("nothing to undo: no call since the server started changed anything that is not undone")
	if id != "" {
		err = fmt.Errorf("nothing to undo for undo_id %s: it is unknown here, or was undone", short.Quote(id, 64))
	}
	return failed(c, err)
}

func (h *host) forget(c change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.undo = slices.DeleteFunc(h.undo, func(o change) bool { return o == c })
}

// undoOne undoes one change, under the policy of its session.
func (h *host) undoOne(ctx context.Context, c change) (serve.Result, error) {
	ses := c.talk.ses
	p, err := ses.Undo.PlanOf(c.turn, undo.MayChange(ses.Gate.Own()))
	if err != nil {
		return serve.Result{}, err
	}
	p.LeaveProtected()
	done, err := undocmd.Apply(ctx, ses.Workspace, ses.Undo, p, ses.Gate.Own())
	if err != nil && len(done.Done) == 0 {
		return serve.Result{}, err
	}
	if note := p.Note(done); note != "" {
		ses.Agent.Note(note)
	}
	r := undoReport{UndoID: c.id, Restored: []aPath{}, Left: []aPath{}}
	result := undocmd.ResultOf(p, done, "")
	lines := slices.Concat(result.Did, result.Left)
	for _, s := range done.Done {
		r.Restored = append(r.Restored, aPath{visible.Line(s.Path), string(s.Do)})
	}
	for _, l := range slices.Concat(p.Conflicts, p.NotKept, done.Failed) {
		r.Left = append(r.Left, aPath{visible.Line(l.Path), visible.Line(l.Why)})
	}
	for _, l := range p.Closed {
		r.Left = append(r.Left, aPath{visible.Line(l.Path), visible.Line(l.Reason(false))})
	}
	if err != nil {
		lines = append(lines, visible.Line(err.Error()))
	}
	if len(r.Left) == 0 && err == nil {
		h.forget(c)
	}
	if len(done.Done) == 0 {
		lines = append(lines, "nothing was restored")
	}
	return serve.Result{Text: strings.Join(lines, "\n"), Structured: r, Failed: len(done.Done) == 0 || err != nil}, nil
}
