package commands

import (
	"context"
	"errors"
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
		u.ses.Undid(note)
	}
	return p, r, err
}

// Since returns what restoring the state of files from before a message would do, all turns since as one,
// and the command that restores what cannot be restored now. turn is the first turn that the message can
// have changed something in, 0 if that is not known. Without a change since, the error is undo.ErrNothing.
func (u *UndoStack) Since(turn int) (p *undo.Plan, opens string, err error) {
	if turn == 0 {
		return nil, "", errors.New("it is not recorded which changes came after this message")
	}
	return u.judged(u.ses.Undo.PlanSince(turn, undo.MayChange(u.ses.Gate.Own())))
}

// Redo takes the last undo or rewind back, files first. u may be nil. The error is conversation.ErrNothing
// if nothing was undone, or something was sent or changed since.
func Redo(ctx context.Context, ses *conversation.Session, u *UndoStack, face conversation.Face) (p *undo.Plan, r undo.Report, err error) {
	files, talk := ses.Undone()
	note, all := "", false
	if files && u != nil {
		p, err = ses.Undo.PlanRedo(undo.MayChange(ses.Gate.Own()))
		if errors.Is(err, undo.ErrNothing) && talk {
			p, err = nil, nil // something was changed since; the conversation comes back all the same
		}
		if p != nil {
			p.LeaveProtected()
			r, err = undocmd.Apply(ctx, ses.Workspace, ses.Undo, p, ses.Gate.Own())
			note, all = p.Note(r), p.More == "" && p.Left(r) == 0
		}
	}
	switch {
	case errors.Is(err, undo.ErrNothing), err == nil && p == nil && !talk:
		return nil, r, conversation.ErrNothing
	case err == nil:
		err = ses.Return(face, note, all)
	default:
		ses.Note(note)
	}
	return p, r, err
}
