package acp

import (
	"context"
	"slices"
	"strings"

	"codeagent/approvals"
	"codeagent/approvals/plain"
	"codeagent/event"
	"codeagent/internal/visible"

	sdk "github.com/coder/acp-go-sdk"
)

// permissionKey is the name in _meta under which a question stands as data: see plain.Question.
const permissionKey = "codeagent/permission"

type permissionParams struct {
	SessionID string                 `json:"sessionId"`
	ToolCall  callUpdate             `json:"toolCall"`
	Options   []sdk.PermissionOption `json:"options"`
	Meta      map[string]any         `json:"_meta"`
}

type permissionResult struct {
	Outcome struct {
		Outcome  string `json:"outcome"`
		OptionID string `json:"optionId"`
	} `json:"outcome"`
}

// Bounds of the diffs of a question.
const (
	diffsMost     = 50
	diffBytesMost = 1 << 20
)

// Ask asks the editor's user: in diffs and words as the content of the call, and as data in _meta.
// Everything but an option that was offered is a no: an error, a cancellation, an unknown option,
// an answer that cannot be read.
func (ses *session) Ask(ctx context.Context, r approvals.Request) (approvals.Answer, error) {
	q := apart(plain.Of(r))
	call := callUpdate{ToolCallID: r.CallID, Title: visible.Line(r.Title), Kind: kindOf(r.Action.Kind)}
	ses.mu.Lock()
	id := ses.id
	var left []string
	call.Content, call.Locations, left = ses.view.proposed(r.Changes)
	ses.mu.Unlock()
	q.Warnings = append(q.Warnings, left...)
	// The diffs come first: some editors show one only there.
	call.Content = append(call.Content, contentItem{"content", textBlock{"text", q.Markdown()}})
	p := permissionParams{SessionID: id, Meta: map[string]any{permissionKey: q}, ToolCall: call}
	for _, o := range q.Options {
		p.Options = append(p.Options, sdk.PermissionOption{OptionId: sdk.PermissionOptionId(o.ID), Name: o.Label, Kind: optionKind(o.Decision)})
	}
	var answer permissionResult
	if err := ses.server.call(ctx, "session/request_permission", p, &answer); err != nil {
		return approvals.Answer{}, err
	}
	if answer.Outcome.Outcome != "selected" {
		return approvals.Answer{}, nil
	}
	return q.Answer(answer.Outcome.OptionID), nil
}

// proposed shows changes that are not made yet as diffs. left says what has none and why: where an
// editor would obey or hide a character, what the person sees would not be what is written, and the
// text of the patch in the question names such characters.
func (v *view) proposed(changes []event.FileChange) (diffs []any, files []sdk.ToolCallLocation, left []string) {
	size := 0
	for i, c := range changes {
		d, ok := v.diff(c)
		if i < placesMost {
			files = append(files, sdk.ToolCallLocation{Path: d.Path})
		}
		old := ""
		if d.OldText != nil {
			old = *d.OldText
		}
		why := ""
		switch size += d.size(); {
		case !ok:
			why = "it is binary or very large"
		case len(diffs) == diffsMost || size > diffBytesMost:
			why = "the changes are too many to be shown"
		case visible.Line(d.Path) != d.Path || hides(old) || hides(d.NewText):
			why = "it has characters that an editor does not show"
		}
		if why == "" {
			diffs = append(diffs, d)
		} else if len(left) < diffsMost {
			left = append(left, "no diff of "+visible.Line(d.Path)+": "+why)
		}
	}
	return diffs, files, left
}

// hides reports whether a text has characters that a reader would not see as they are.
func hides(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    ")
		if visible.Line(line) != line {
			return true
		}
	}
	return false
}

// apart makes a question that is safe in an editor with one button for each kind of option: some of
// these send the first option of a kind, some the last. So "this once" is the only option of its kind,
// and running outside the sandbox is not offered beside it; optionKind keeps the noes apart.
func apart(q plain.Question) plain.Question {
	if !slices.ContainsFunc(q.Options, func(o plain.Option) bool { return o.Decision.Yes() && !o.Decision.Leaves() }) {
		return q
	}
	var kept []plain.Option
	for _, o := range q.Options {
		if o.Decision.Leaves() {
			q.Withheld = append(q.Withheld, o.Label+": an editor may show it as the same button as an answer that stays inside")
			continue
		}
		kept = append(kept, o)
	}
	q.Options = kept
	return q
}

func optionKind(d approvals.Decision) sdk.PermissionOptionKind {
	switch {
	case d.Lasts():
		return sdk.PermissionOptionKindAllowAlways
	case d.Yes():
		return sdk.PermissionOptionKindAllowOnce
	case d == approvals.Stop:
		return sdk.PermissionOptionKindRejectAlways
	}
	return sdk.PermissionOptionKindRejectOnce
}
