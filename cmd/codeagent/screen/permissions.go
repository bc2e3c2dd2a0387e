package screen

import (
	"context"

	"codeagent/cmd/codeagent/commands"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/tui"
)

// permissions implements tui.Permissions.
type permissions struct{ ses *conversation.Session }

func (p permissions) List(context.Context) ([]tui.Permission, error) {
	var out []tui.Permission
	for _, one := range commands.Permissions(p.ses) {
		out = append(out, tui.Permission(one))
	}
	return out, nil
}

func (p permissions) Revoke(ctx context.Context, id string) (string, error) {
	return commands.Revoke(ctx, p.ses, id)
}
