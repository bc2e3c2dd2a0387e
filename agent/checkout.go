package agent

import (
	"context"
	"strings"

	"codeagent/event/word"
	"codeagent/model"
	"codeagent/sandbox"
	"codeagent/tools"
)

// A checkout may contain files with protected names that no commit of the user's had (sandbox.Unwritten). The
// command has ended as if they were there, so nothing is left half done, and to run it again would do nothing. One
// question shows all of them, as an edit; after a yes codeagent writes what was shown.

// checkedOut asks about such files, if res has some, and returns the result of both.
func (c *toolCall) checkedOut(ctx context.Context, res tools.Result, held *holder) tools.Result {
	left := res.Verdict.Unwritten()
	if len(left) == 0 || res.Running {
		return res
	}
	arguments, paths := tools.Unwritten(res.Verdict)
	if len(paths) > 0 && ctx.Err() == nil && !held.saidNo() {
		edit := &toolCall{turn: c.turn, model: model.ToolCall{ID: c.model.ID, Name: "apply_patch", Arguments: arguments},
			facts: []string{"the command checked out these files; no commit that counts as yours had this content when the session began (commits of earlier sessions count after codeagent rules adopt ./.git)"}}
		if edit.planned, edit.err = c.turn.agent.plan(edit.model); edit.err == nil {
			edit.action = edit.planned.Action()
		}
		wrote, err := edit.contained(ctx)
		c.asked.add(edit.asked.all()...)
		switch {
		case err != nil:
			res.Text += "\n[approval] codeagent did not write these files: " + sentence(err.Error())
		case wrote.Failed:
			res.Text += "\n[approval] These files were allowed, and could not be written: " + wrote.Text
		default:
			res.Changes = append(res.Changes, wrote.Changes...)
			res.Verdict = res.Verdict.Written(paths, res.Failed)
			res.Text += "\n[approval] The files with protected names that it checked out were shown to the user and allowed, and codeagent wrote them. " + wrote.Text + modes(left)
		}
	}
	if !res.Failed && len(res.Verdict.Unwritten()) > 0 {
		res.Failed, res.Outcome, res.Message = true, word.Failed, "checked out without its protected files"
	}
	return res
}

// modes says which of the files lack a mode that an edit does not give.
func modes(written []sandbox.Denial) string {
	var names []string
	for _, d := range written {
		if d.Unwritten.Mode&0o111 != 0 {
			names = append(names, d.Target)
		}
	}
	if names == nil {
		return ""
	}
	return "\nThese are not executable, as the commit has them; only the user can change that: " + strings.Join(names, ", ") + "."
}
