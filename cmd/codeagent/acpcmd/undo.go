package acpcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"codeagent/internal/visible"
	"codeagent/undo"
)

// undo undoes the last turn, or shows what that would do. Like `codeagent undo` it asks nothing: what
// somebody else has changed since is left alone.
func (o *open) undo(ctx context.Context, argument string) (reply, error) {
	u := o.undoing
	if u == nil {
		return reply{}, errors.New("the changes of this session are not recorded")
	}
	preview := false
	p, opens, err := u.Last()
	for _, w := range strings.Fields(argument) {
		switch {
		case w == "preview":
			preview = true
		case w == "skip" && err == nil:
			p, opens, err = u.Earlier()
		case w != "skip":
			return reply{}, errors.New("/undo takes preview, and skip for each turn to pass over")
		}
	}
	if errors.Is(err, undo.ErrNothing) {
		return page("nothing to undo"), nil
	}
	if err != nil {
		return reply{}, err
	}
	if p.Unrecorded {
		return reply{}, fmt.Errorf("the turn of %s could not be recorded: %s; what it changed cannot be restored. /undo skip undoes the turn before it", p.Began.Local().Format("15:04"), p.More)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "turn of %s: %s\n", p.Began.Local().Format("2006-01-02 15:04"), visible.Line(p.Title))
	steps, failed := p.Steps, []undo.Skip(nil)
	if !preview {
		var r undo.Report
		p, r, err = u.Apply(ctx)
		steps, failed = r.Done, r.Failed
	}
	for _, s := range steps {
		fmt.Fprintf(&b, "%-8s  %s\n", s.Do, visible.Line(s.Path))
	}
	for _, l := range slices.Concat(p.Conflicts, p.NotKept, failed) {
		fmt.Fprintf(&b, "left alone: %s: %s\n", visible.Line(l.Path), visible.Line(l.Why))
	}
	for _, c := range p.Closed {
		fmt.Fprintf(&b, "saved, but not restored: %s: %s\n", visible.Line(c.Path), visible.Line(c.Reason(opens != "")))
	}
	if opens != "" {
		fmt.Fprintf(&b, "to restore it once this session has ended: %s\n", visible.Line(opens))
	}
	if p.More != "" {
		fmt.Fprintf(&b, "not everything was saved: %s\n", visible.Line(p.More))
	}
	switch {
	case preview:
		b.WriteString("nothing was changed yet; /undo restores it\n")
	case len(steps) == 0:
		b.WriteString("nothing was restored\n")
	}
	return page(b.String()), err
}
