package screen

import (
	"context"
	"errors"
	"fmt"

	"codeagent/sandbox"
	"codeagent/tools"
	"codeagent/tui/undoing"
	"codeagent/undo"
)

// Preview returns what undoing the last turn would do.
func (r *rewinder) Preview(context.Context) (undoing.Preview, error) { return preview(r.undo.Last()) }

// Earlier returns the same for the turn before the one that was shown last.
func (r *rewinder) Earlier(context.Context) (undoing.Preview, error) {
	return preview(r.undo.Earlier())
}

func preview(p *undo.Plan, opens string, err error) (out undoing.Preview, _ error) {
	switch {
	case errors.Is(err, undo.ErrNothing):
		return out, nil
	case err != nil:
		return out, err
	}
	out = undoing.Preview{Message: p.Title, At: p.Began, Turns: p.Turns(), Files: shownSteps(p.Steps), Conflicts: shownLeft(p.Conflicts), NotKept: shownLeft(p.NotKept)}
	for i, left := 0, mostCompared; i < len(p.Steps) && left > 0; i++ {
		if now, restored, ok := p.Contents(p.Steps[i], compared); ok {
			out.Changes = append(out.Changes, tools.Compare(p.Steps[i].Path, now, restored))
			left -= len(now) + len(restored)
		}
	}
	switch {
	case p.Unrecorded:
		out.NotKept = append(out.NotKept, undoing.File{Path: "the whole turn", Why: "it could not be recorded: " + p.More})
	case p.More != "":
		out.NotKept = append(out.NotKept, undoing.File{Path: "further files", Why: p.More})
	}
	for _, c := range p.Closed {
		out.Closed = append(out.Closed, undoing.File{Path: c.Path, Does: does[c.Do], Why: c.Reason(opens != "")})
	}
	if opens != "" {
		out.Opens = "once this session has ended: " + opens
	}
	return out, nil
}

// The contents of a file are compared up to compared bytes each, those of all files up to mostCompared.
const (
	compared     = 256 << 10
	mostCompared = 4 << 20
)

// Apply executes the plan that was shown last.
func (r *rewinder) Apply(ctx context.Context) (undoing.Report, error) {
	p, done, err := r.undo.Apply(ctx)
	if p == nil {
		return undoing.Report{}, err
	}
	return shownReport(p, done), err
}

func shownReport(p *undo.Plan, r undo.Report) undoing.Report {
	return undoing.Report{Done: shownSteps(r.Done), Conflicts: shownLeft(p.Conflicts), Failed: shownLeft(r.Failed)}
}

// does maps actions to the screen's words.
var does = map[undo.Operation]string{undo.Restore: "restore", undo.Recreate: "create", undo.Remove: "remove", undo.Mode: "mode"}

// shownSteps lists steps for a person: a removed folder with all its content is one line.
func shownSteps(steps []undo.Step) []undoing.File {
	var out []undoing.File
	gone, below := "", 0 // the folder that was last listed as removed
	for _, s := range steps {
		if s.Do == undo.Remove && gone != "" && sandbox.Covers(gone, s.Path) {
			below++
			out[len(out)-1].Why, out[len(out)-1].Of = fmt.Sprintf("folder, with %d in it", below), below+1
			continue
		}
		f := undoing.File{Path: s.Path, Does: does[s.Do]}
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

func shownLeft(list []undo.Skip) []undoing.File {
	var out []undoing.File
	for _, l := range list {
		out = append(out, undoing.File{Path: l.Path, Why: l.Why})
	}
	return out
}
