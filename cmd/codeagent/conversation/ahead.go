package conversation

import (
	"slices"
	"strings"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/internal/mask"
	"codeagent/patterns"
	"codeagent/sandbox"
)

// ahead is what the agent runs ahead of the model; nil: nothing.
func (ses *Session) ahead() *agent.Ahead {
	ws := ses.Workspace
	mode := ws.Config.Patterns
	if mode == "off" || ses.Tour != nil || ses.Options.ToolsOnly || ses.Gate.Ungranted().Unconfined || ws.Draft != nil {
		return nil
	}
	secrets := mask.New(ws.Stdio.Environ, sandbox.SecretName)
	skill := func(a approvals.Action) string {
		for _, s := range ses.Extensions.Skills {
			if slices.Contains(a.Paths, s.File) || strings.Contains(a.Command, s.File) {
				return s.Name
			}
		}
		return ""
	}
	return &agent.Ahead{Memory: patterns.New(ws.Folder, secrets.Text), Writes: mode == "drafts", Skill: skill}
}
