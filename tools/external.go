package tools

import (
	"context"

	"codeagent/approvals"
	"codeagent/model"
	"codeagent/sandbox"
)

// External offers the tools of others beside codeagent's own: those of MCP servers. Set asks it
// after its own tools, so a name that imitates one of them never wins.
type External interface {
	// Specs describes the tools at this moment. Their order changes only when the tools do.
	Specs() []model.ToolSpec
	// Plan plans a call; ok is false if the tool is not one of these. The error is written for
	// the model. The call only reads files through Options.Files and changes nothing.
	Plan(c model.ToolCall) (planned Call, ok bool, err error)
	// Ready waits until the tools are there, and says so if that takes long. The error is that of
	// ctx.
	Ready(ctx context.Context) error
}

// Ready waits until the tools of others are there.
func (s *Set) Ready(ctx context.Context) error {
	if s.others == nil {
		return nil
	}
	return s.others.Ready(ctx)
}

// external returns the tools of others that the set offers: none with the name of an own tool, and none that is disabled.
func (s *Set) external() []model.ToolSpec {
	if s.others == nil {
		return nil
	}
	var out []model.ToolSpec
	for _, spec := range s.others.Specs() {
		if s.own(spec.Name) < 0 && !s.disabled[spec.Name] {
			out = append(out, spec)
		}
	}
	return out
}

// Outside returns the Call of a tool of others: it runs only under a permit for a, like every other.
// p is the permit's policy.
func Outside(a approvals.Action, run func(ctx context.Context, p sandbox.Policy, s Stage) (Result, error)) Call {
	return &call{action: a, run: run}
}
