package screen

import (
	"context"
	"errors"
	"fmt"

	"codeagent/cmd/codeagent/commands"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/sandbox"
	"codeagent/tui"
	"codeagent/undo"
)

// undoing implements /undo of the screen.
type undoing struct{ *commands.Undoing }

var _ tui.Undo = undoing{}

// offerUndo returns nil if nothing is recorded.
func offerUndo(ses *conversation.Session) tui.Undo {
	u := commands.NewUndoing(ses)
	if u == nil {
		return nil
	}
	return undoing{u}
}

// Preview returns what undoing the last turn would do.
func (u undoing) Preview(context.Context) (tui.UndoPreview, error) { return preview(u.Last()) }

// Earlier returns the same for the turn before the one that was shown.
func (u undoing) Earlier(context.Context) (tui.UndoPreview, error) {
	return preview(u.Undoing.Earlier())
}

func preview(p *undo.Plan, opens string, err error) (out tui.UndoPreview, _ error) {
	switch {
	case errors.Is(err, undo.ErrNothing):
		return out, nil
	case err != nil:
		return out, err
	}
	out = tui.UndoPreview{Message: p.Title, At: p.Began, Files: shownSteps(p.Steps), Conflicts: shownLeft(p.Conflicts), NotKept: shownLeft(p.NotKept)}
	switch {
	case p.Unrecorded:
		out.NotKept = append(out.NotKept, tui.UndoFile{Path: "the whole turn", Why: "it could not be recorded: " + p.More})
	case p.More != "":
		out.NotKept = append(out.NotKept, tui.UndoFile{Path: "further files", Why: p.More})
	}
	for _, c := range p.Closed {
		out.Closed = append(out.Closed, tui.UndoFile{Path: c.Path, Does: does[c.Do], Why: c.Reason(opens != "")})
	}
	if opens != "" {
		out.Opens = "once this session has ended: " + opens
	}
	return out, nil
}

// Apply executes the plan that was shown.
func (u undoing) Apply(ctx context.Context) (tui.UndoReport, error) {
	p, r, err := u.Undoing.Apply(ctx)
	if p == nil {
		return tui.UndoReport{}, err
	}
	return tui.UndoReport{Done: shownSteps(r.Done), Conflicts: shownLeft(p.Conflicts), Failed: shownLeft(r.Failed)}, err
}

// does maps actions to the screen's words.
var does = map[undo.Operation]string{undo.Restore: "restore", undo.Recreate: "create", undo.Remove: "remove", undo.Mode: "mode"}

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
