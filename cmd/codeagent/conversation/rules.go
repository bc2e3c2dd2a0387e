package conversation

import (
	"context"
	"encoding/json"

	"codeagent/agent"
	"codeagent/approvals/rules"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/model"
	sessions "codeagent/session"
)

// saver returns what saves rules, nil if nobody can answer a question with always. The tour
// leaves nothing behind.
func (ses *Session) saver() func(text string) ([]*rules.Rule, error) {
	if !ses.Options.Attended || ses.Tour != nil {
		return nil
	}
	ws := ses.Workspace
	return func(text string) ([]*rules.Rule, error) {
		return workspace.ChangeRules(context.Background(), ws.Stdio, ws.Paths, func(file []byte, _ []*rules.Rule) ([]byte, error) {
			return append(append(file, '\n'), text...), nil
		})
	}
}

// past calls each with the calls of earlier sessions.
func (ses *Session) past(folder string, each func(rules.Past)) (part bool) {
	return sessions.New(ses.Workspace.Paths.Sessions).Calls(folder, func(c model.ToolCall, result model.Item) {
		var args struct {
			Command string `json:"command"`
		}
		_ = json.Unmarshal([]byte(c.Arguments), &args) // no command then
		p := rules.Past{Command: args.Command}
		if p.Refused, p.Allowed = agent.Needs(result); p.Command != "" || len(p.Refused)+len(p.Allowed) > 0 {
			each(p)
		}
	})
}
