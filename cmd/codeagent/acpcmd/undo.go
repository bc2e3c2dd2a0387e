package acpcmd

import (
	"context"
	"errors"
	"slices"
	"strings"

	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/commands"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/undocmd"
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
	if err := undocmd.Unrecorded(p, "/undo skip"); err != nil {
		return reply{}, cli.InWords(err)
	}
	r := undo.Report{Done: p.Steps}
	if !preview {
		p, r, err = u.Apply(ctx)
	}
	if opens != "" {
		opens = " once this session has ended: " + opens
	}
	result := undocmd.ResultOf(p, r, opens)
	lines := slices.Concat([]string{undocmd.TurnOf(p)}, result.Did, result.Left)
	switch {
	case preview:
		lines = append(lines, "nothing was changed yet; /undo restores it")
	case len(r.Done) == 0:
		lines = append(lines, "nothing was restored")
	}
	return page(strings.Join(lines, "\n") + "\n"), err
}

// redo takes the last undo back.
func (o *open) redo(ctx context.Context, _ string) (reply, error) {
	p, r, err := commands.Redo(ctx, o.ses, o.undoing, o)
	if errors.Is(err, conversation.ErrNothing) {
		return page(err.Error()), nil
	}
	if p == nil {
		return reply{}, err
	}
	result := undocmd.ResultOf(p, r, "")
	return page(strings.Join(slices.Concat([]string{undocmd.TurnOf(p)}, result.Did, result.Left), "\n")), err
}
