package screen

import (
	"context"

	"codeagent/cmd/codeagent/commands"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/tui/picker"
)

// permissions implements lists.Permissions.
type permissions struct{ ses *conversation.Session }

func (p permissions) List(context.Context) ([]picker.Row, error) {
	var out []picker.Row
	for _, one := range commands.Permissions(p.ses) {
		out = append(out, picker.Row{Id: one.ID, Text: one.Text, About: one.About, More: one.More})
	}
	return out, nil
}

func (p permissions) Revoke(ctx context.Context, id string) (string, error) {
	return commands.Revoke(ctx, p.ses, id)
}
