package acp

import (
	"context"
	"slices"

	"codeagent/approvals"
	"codeagent/approvals/plain"
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

// Ask asks the editor's user: in words as the content of the call, and as data in _meta.
// Everything but an option that was offered is a no: an error, a cancellation, an unknown option,
// an answer that cannot be read.
func (ses *session) Ask(ctx context.Context, r approvals.Request) (approvals.Answer, error) {
	ses.mu.Lock()
	id := ses.id
	ses.mu.Unlock()
	q := apart(plain.Of(r))
	p := permissionParams{SessionID: id, Meta: map[string]any{permissionKey: q}, ToolCall: callUpdate{
		ToolCallID: r.CallID, Title: visible.Line(r.Title), Kind: kindOf(r.Action.Kind),
		Content: []any{contentItem{"content", textBlock{"text", q.Markdown()}}},
	}}
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
