package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"codeagent/approvals"
	"codeagent/draft"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

const keepDraftExample = `{"draft": "20260102-150405-ABCDEFGHIJKL"}`

type keepDraftArguments struct {
	Draft string   `json:"draft" jsonschema:"The ID of the draft, from the report of its helper."`
	Paths []string `json:"paths,omitempty" jsonschema:"The files whose changes are kept; all others stay on the draft. Without it all are kept."`
	Drop  bool     `json:"drop,omitempty" jsonschema:"Keep nothing, and remove the draft."`
}

// keepDraftTool keeps what a helper changed on its draft, as an edit of these files. draft finds the drafts of the
// helpers of this run.
//
// Threat: a draft holds what commands wrote that nobody trusts, perhaps under another policy. So the gate judges each
// path as that of a patch, the file worker writes under the permit's policy, and drafts of others are not found.
type keepDraftTool struct {
	paths
	draft func(id string) *draft.Draft
}

// maxKept bounds the changes that one call keeps; a person can keep more.
const maxKept = 1000

func (t *keepDraftTool) plan(a keepDraftArguments) (*call, error) {
	d := t.draft(a.Draft)
	if d == nil || !d.Holds() {
		return nil, fmt.Errorf("there is no draft %s of a helper of this run, or it was kept or dropped", show(a.Draft))
	}
	action := approvals.Action{Tool: "keep_draft", Kind: word.KindRead, Title: "drop draft " + d.ID(), Folder: t.workspace}
	if a.Drop {
		return &call{action: action, run: func(context.Context, sandbox.Policy, Stage) (Result, error) {
			if err := d.Drop(); err != nil {
				return failed("the draft: %v", err), nil
			}
			return done("Dropped.", "dropped"), nil
		}}, nil
	}
	all, err := d.Changes()
	list := all
	if err == nil && len(a.Paths) > 0 {
		list, err = t.chosen(all, a.Paths)
	}
	switch {
	case err != nil:
		return nil, err
	case len(list) > maxKept:
		return nil, fmt.Errorf("the draft has %d changes, and at most %d are kept at once: name the paths, or have the user run codeagent try --draft %s", len(list), maxKept, d.ID())
	}
	var shown []event.FileChange
	room := 1 << 20
	for _, c := range list {
		x, _, _ := DraftChange(c, &room)
		x.Path = t.show(c.Path)
		shown = append(shown, x.FileChange)
		action.Paths = append(action.Paths, c.Path)
		action.Command += draftMarks[c.Kind] + " " + c.Path + "\n" + x.Diff
	}
	names := make([]string, len(shown))
	for i, x := range shown {
		names[i] = x.Path
	}
	action.Kind, action.Title = word.KindEdit, oneLine("keep of a draft: "+short.List(names, 3))
	return &call{action: action, run: func(ctx context.Context, p sandbox.Policy, s Stage) (Result, error) {
		return t.run(ctx, p, s, d, list, len(list) == len(all))
	}}, nil
}

// chosen returns the changes of the files at paths.
func (t *keepDraftTool) chosen(all []draft.Change, paths []string) ([]draft.Change, error) {
	var want []string
	for _, name := range paths {
		path, err := t.canonical(name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(all, func(c draft.Change) bool { return c.Path == path }) {
			return nil, fmt.Errorf("%s is not changed on the draft", show(name))
		}
		want = append(want, path)
	}
	return draft.Chosen(all, func(c draft.Change) (draft.Change, bool) { return c, slices.Contains(want, c.Path) }), nil
}

func (t *keepDraftTool) run(ctx context.Context, p sandbox.Policy, s Stage, d *draft.Draft, list []draft.Change, all bool) (Result, error) {
	unlock, err := d.Lock()
	if err != nil {
		return failed("the draft: %v", err), nil
	}
	defer unlock()
	if !s.observed(p) {
		for _, c := range list {
			s.kept.Watch([]string{c.Path})
		}
	}
	files, err := s.Exec.Files(ctx, p, s.Observer())
	if err != nil {
		return Result{}, err
	}
	defer files.Close()
	var changes []event.FileChange
	room := 4 << 20
	for _, c := range list { // before they are made
		x, _, _ := DraftChange(c, &room)
		x.Path = t.show(c.Path)
		changes = append(changes, x.FileChange)
	}
	kept, left, err := d.Keep(ctx, files, list)
	r := done(fmt.Sprintf("%d of %s kept.", len(kept), short.Count(len(list), "change")), short.Count(len(kept), "change")+" kept")
	for i, c := range list {
		if slices.ContainsFunc(kept, func(k draft.Change) bool { return k.Path == c.Path && k.Kind == c.Kind }) {
			r.Changes = append(r.Changes, changes[i])
		}
	}
	var words []string
	for _, l := range left {
		words = append(words, "not kept: "+short.Quote(l.Path, 200)+": "+l.Why)
	}
	if len(left) > 0 || err != nil {
		r.Failed, r.Outcome, r.Message = true, word.Failed, short.Count(len(left), "change")+" not kept"
		r.Text += "\n" + strings.Join(words[:min(len(words), maxNamed)], "\n") + "\nThese stay on the draft."
	} else if all {
		err = d.Drop()
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		r.Text += "\nThe draft: " + err.Error()
	}
	return r, nil
}
