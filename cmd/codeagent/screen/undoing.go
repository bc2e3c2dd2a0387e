package screen

import (
	"context"
	"errors"
	"fmt"
	"time"

	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/undocmd"
	"codeagent/sandbox"
	"codeagent/tui"
	"codeagent/undo"
)

// undoing implements /undo of the screen.
type undoing struct {
	ses *conversation.Session
	// since is when the session was opened: earlier changes were made by another process.
	since time.Time
	// plan is the plan that was shown last.
	plan *undo.Plan
}

var _ tui.Undo = (*undoing)(nil)

// offerUndo returns nil if nothing is recorded.
func offerUndo(ses *conversation.Session) tui.Undo {
	if ses.Undo == nil {
		return nil
	}
	return &undoing{ses: ses, since: time.Now()}
}

// Preview returns what undoing the last turn would do.
func (u *undoing) Preview(context.Context) (tui.UndoPreview, error) {
	return u.show(u.ses.Undo.Plan(undo.MayChange(u.ses.Gate.Own())))
}

// Earlier returns the same for the turn before the one that was shown.
func (u *undoing) Earlier(context.Context) (tui.UndoPreview, error) {
	if u.plan == nil {
		return tui.UndoPreview{}, undo.ErrNothing
	}
	return u.show(u.ses.Undo.Earlier(u.plan, undo.MayChange(u.ses.Gate.Own())))
}

// show makes p the plan that is shown.
func (u *undoing) show(p *undo.Plan, err error) (tui.UndoPreview, error) {
	var out tui.UndoPreview
	u.plan = p
	switch {
	case errors.Is(err, undo.ErrNothing):
		return out, nil
	case err != nil:
		return out, err
	case p.Began.Before(u.since) && !u.ses.Workspace.Policy.Unconfined:
		p.LeaveRepositories()
	}
	p.LeaveProtected()
	out = tui.UndoPreview{Message: p.Title, At: p.Began, Files: shownSteps(p.Steps), Conflicts: shownLeft(p.Conflicts), NotKept: shownLeft(p.NotKept)}
	switch {
	case p.Unrecorded:
		out.NotKept = append(out.NotKept, tui.UndoFile{Path: "the whole turn", Why: "it could not be recorded: " + p.More})
	case p.More != "":
		out.NotKept = append(out.NotKept, tui.UndoFile{Path: "further files", Why: p.More})
	}
	opening := undocmd.Opening(u.ses.Workspace, p)
	for _, c := range p.Closed {
		out.Closed = append(out.Closed, tui.UndoFile{Path: c.Path, Does: does[c.Do], Why: c.Reason(opening != "")})
	}
	if opening != "" && u.ses.Record != nil { // otherwise nothing is kept after the session
		out.Opens = "once this session has ended: codeagent undo " + u.ses.Record.Log.ID() + opening
	}
	return out, nil
}

// Apply executes the plan that was shown, and informs the model.
func (u *undoing) Apply(ctx context.Context) (tui.UndoReport, error) {
	p := u.plan
	if u.plan = nil; p == nil {
		return tui.UndoReport{}, undo.ErrNothing
	}
	r, err := undocmd.Apply(ctx, u.ses.Workspace, u.ses.Undo, p, u.ses.Gate.Own())
	if note := p.Note(r); note != "" {
		u.ses.Agent.Note(note)
	}
	return tui.UndoReport{Done: shownSteps(r.Done), Conflicts: shownLeft(p.Conflicts), Failed: shownLeft(r.Failed)}, err
}

// does maps actions to the screen's words.
var does = map[undo.Deed]string{undo.Restore: "restore", undo.Recreate: "create", undo.Remove: "remove", undo.Mode: "mode"}

// shownSteps lists steps for a person: a removed folder with all its content is one line.
func shownSteps(steps []undo.Step) []tui.UndoFile {
	var out []tui.UndoFile
	gone, below := "", 0 // the folder that was last listed as removed
	for _, s := range steps {
		if s.Do == undo.Remove && gone != "" && sandbox.Covers(gone, s.Path) {
			below++
			out[len(out)-1].Why = fmt.Sprintf("folder, with %d in it", below)
			continue
		}
		f := tui.UndoFile{Path: s.Path, Does: does[s.Do]}
		if s.Type != "file" {
			f.Why = s.Type
		}
		gone, below = "", 0
		if s.Do == undo.Remove && s.Type == "folder" {
			gone = s.Path
		}
		out = append(out, f)
	}
	return out
}

func shownLeft(list []undo.Left) []tui.UndoFile {
	var out []tui.UndoFile
	for _, l := range list {
		out = append(out, tui.UndoFile{Path: l.Path, Why: l.Why})
	}
	return out
}
