package screen

import (
	"context"
	"fmt"
	"strings"

	"codeagent/cmd/codeagent/conversation"
	"codeagent/cmd/codeagent/sessionscmd"
	"codeagent/draft"
	"codeagent/internal/short"
	"codeagent/sandbox"
	"codeagent/tools"
	"codeagent/tui/trying"
)

// drafts is what is behind !!, and /draft of a session that works on one. last is the draft that waits for a decision;
// nil: none does.
type drafts struct {
	ses  *conversation.Session
	last *draft.Draft
	kept *sessionList
}

// again is this session once more, on a draft or on the files.
func again(ses *conversation.Session, on, said string) *sessionscmd.ResumeTarget {
	t := &sessionscmd.ResumeTarget{Fresh: true, Folder: ses.Workspace.Folder, Effort: ses.Options.Effort, Draft: on, Said: said}
	if ses.Record != nil && ses.Record.Log.Kept() {
		t.ID, t.Fresh, t.After = ses.Record.Log.ID(), false, true
	}
	return t
}

func (d *drafts) Try(ctx context.Context, command string) (*trying.Tried, error) {
	made, err := d.ses.Try(ctx, command)
	if made == nil || err != nil {
		return nil, err
	}
	d.last = made
	x, err := d.Last(ctx)
	if x == nil && err == nil {
		x = &trying.Tried{Command: command}
	}
	return x, err
}

func (d *drafts) Last(context.Context) (*trying.Tried, error) {
	if d.last == nil {
		return nil, nil
	}
	all, err := d.last.Changes()
	if err != nil {
		return nil, err
	}
	session := d.last == d.ses.Workspace.Draft
	if len(all) == 0 && !session {
		err, d.last = d.last.Drop(), nil
		return nil, err
	}
	words := d.last.Command()
	x, one := &trying.Tried{Command: words[len(words)-1], ID: d.last.ID(), Session: session}, &decision{of: d, draft: d.last, all: all}
	x.Draft = one
	room := mostCompared
	draft.Chosen(all, func(c draft.Change) (draft.Change, bool) { // a folder with changes in it is not chosen by itself
		is, old, now := tools.DraftChange(c, &room)
		shown, p := inParts(c, trying.Change{FileChange: is.FileChange, Note: is.Note, Why: is.Why}, old, now)
		x.Changes, one.parts = append(x.Changes, shown), append(one.parts, p)
		return c, false
	})
	return x, nil
}

// parts are the hunks of a text as they were shown, and its old content.
type parts struct {
	old   []byte
	hunks []draft.Hunk
}

func inParts(c draft.Change, shown trying.Change, old, now []byte) (trying.Change, parts) {
	if shown.Added+shown.Removed == 0 || c.Kind != sandbox.Updated || c.Why != "" {
		return shown, parts{}
	}
	p := parts{old, draft.Hunks(old, now)}
	if len(p.hunks) < 2 {
		return shown, parts{}
	}
	for _, h := range p.hunks {
		one := trying.Hunk{At: h.At}
		for _, l := range h.Old {
			one.Lines = append(one.Lines, "− "+strings.TrimSuffix(l, "\n"))
		}
		for _, l := range h.New {
			one.Lines = append(one.Lines, "+ "+strings.TrimSuffix(l, "\n"))
		}
		shown.Hunks = append(shown.Hunks, one)
	}
	return shown, p
}

// decision is about one draft. parts are those of the changes that are chosen, in their order.
type decision struct {
	of    *drafts
	draft *draft.Draft
	all   []draft.Change
	parts []parts
}

func (d *decision) Keep(ctx context.Context, chosen []trying.Choice) (r trying.Report, err error) {
	at, picked := -1, map[string]bool{} // without the folders that they need
	list := draft.Chosen(d.all, func(c draft.Change) (draft.Change, bool) {
		at++
		picked[string(c.Kind)+c.Path] = true
		if one, p := chosen[at], d.parts[at]; !one.All && one.Any() {
			return c.Part(p.old, p.hunks, one.Hunks), true
		}
		return c, chosen[at].All
	})
	kept, left, err := d.ses().KeepDraft(ctx, d.draft, list)
	for _, c := range kept {
		if picked[string(c.Kind)+c.Path] {
			r.Kept++
		}
	}
	for _, l := range left {
		r.Left = append(r.Left, trying.Left{Path: l.Path, Why: l.Why})
	}
	if err == nil && len(left) == 0 {
		d.over(fmt.Sprintf("kept %d of %s; /undo takes it back", r.Kept, short.Count(len(chosen), "change")))
	}
	return r, err
}

func (d *decision) Drop(ctx context.Context) error {
	_, _, err := d.ses().KeepDraft(ctx, d.draft, nil)
	if err == nil {
		d.over("dropped the draft: your files are as they were")
	}
	return err
}

// over ends the draft. A session that worked on it begins again, on the files.
func (d *decision) over(said string) {
	if d.of.last = nil; d.draft == d.ses().Workspace.Draft {
		d.of.kept.next = again(d.ses(), "", said)
	}
}

func (d *decision) ses() *conversation.Session { return d.of.ses }
