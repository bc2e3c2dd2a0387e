package commands

import (
	"context"
	"time"

	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/undocmd"
	"codeagent/undo"
)

// Undoing reverts turns of a session, the latest first.
type UndoStack struct {
	ses *conversation.Session
	// since is when the session was opened: earlier changes were made by another process.
	since time.Time
	// plan is the plan that was returned last.
	plan *undo.Plan
}

// NewUndoing returns nil if nothing is recorded.
func NewUndoing(ses *conversation.Session) *UndoStack {
	if ses.Undo == nil {
		return nil
	}
	return &UndoStack{ses: ses, since: time.Now()}
}

// Last returns what undoing the last turn would do, and the command that restores, once the session
// has ended, what cannot be restored now ("": nothing to restore). Without a turn the error is
// undo.ErrNothing.
func (u *UndoStack) Last() (p *undo.Plan, opens string, err error) {
	return u.judged(u.ses.Undo.Plan(undo.MayChange(u.ses.Gate.Own())))
}

// Earlier returns the same for the turn before the one that was returned last.
func (u *UndoStack) Earlier() (p *undo.Plan, opens string, err error) {
	if u.plan == nil {
		return nil, "", undo.ErrNothing
	}
	return u.judged(u.ses.Undo.Earlier(u.plan, undo.MayChange(u.ses.Gate.Own())))
}

func (u *UndoStack) judged(p *undo.Plan, err error) (*undo.Plan, string, error) {
	u.plan = p
	if err != nil {
		return nil, "", err
	}
	if p.Began.Before(u.since) && !u.ses.Workspace.Policy.Unconfined {
		p.LeaveRepositories()
	}
	p.LeaveProtected()
	opens := undocmd.Opening(u.ses.Workspace, p)
	if opens != "" && u.ses.Record != nil { // otherwise nothing is kept after the session
		return p, "codeagent undo " + u.ses.Record.Log.ID() + opens, nil
	}
	return p, "", nil
}

// Apply executes the plan that was returned last, and informs the model.
func (u *UndoStack) Apply(ctx context.Context) (*undo.Plan, undo.Report, error) {
	p := u.plan
	if u.plan = nil; p == nil {
		return nil, undo.Report{}, undo.ErrNothing
	}
	r, err := undocmd.Apply(ctx, u.ses.Workspace, u.ses.Undo, p, u.ses.Gate.Own())
	if note := p.Note(r); note != "" {
		u.ses.Agent.Note(note)
	}
	return p, r, err
}
