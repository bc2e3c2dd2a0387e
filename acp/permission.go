package acp

import (
	"context"

	"codeagent/approvals"
	"codeagent/internal/visible"

	sdk "github.com/coder/acp-go-sdk"
)

type permissionParams struct {
	SessionID string                 `json:"sessionId"`
	ToolCall  callUpdate             `json:"toolCall"`
	Options   []sdk.PermissionOption `json:"options"`
}

type permissionResult struct {
	Outcome struct {
		Outcome  string `json:"outcome"`
		OptionID string `json:"optionId"`
	} `json:"outcome"`
}

// Ask asks the editor's user. Everything but an option that was offered is a no: an error, a
// cancellation, an unknown option, an answer that cannot be read.
func (ses *session) Ask(ctx context.Context, r approvals.Request) (approvals.Answer, error) {
	ses.mu.Lock()
	id := ses.id
	ses.mu.Unlock()
	p := permissionParams{SessionID: id, ToolCall: callUpdate{ToolCallID: r.CallID, Title: visible.Line(r.Title), Kind: kindOf(r.Action.Kind)}}
	offered := map[string]approvals.Decision{}
	for _, o := range r.Options {
		offered[o.Key] = o.Decision
		p.Options = append(p.Options, sdk.PermissionOption{OptionId: sdk.PermissionOptionId(o.Key), Name: visible.Line(o.Label), Kind: optionKind(o.Decision)})
	}
	var answer permissionResult
	if err := ses.server.call(ctx, "session/request_permission", p, &answer); err != nil {
		return approvals.Answer{}, err
	}
	if answer.Outcome.Outcome != "selected" {
		return approvals.Answer{}, nil
	}
	return approvals.Answer{Decision: offered[answer.Outcome.OptionID]}, nil
}

func optionKind(d approvals.Decision) sdk.PermissionOptionKind {
	switch {
	case d.Lasts():
		return sdk.PermissionOptionKindAllowAlways
	case d.Yes():
		return sdk.PermissionOptionKindAllowOnce
	}
	return sdk.PermissionOptionKindRejectOnce
}
