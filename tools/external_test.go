package tools

import (
	"context"
	"errors"
	"slices"
	"testing"

	"codeagent/approvals"
	"codeagent/model"
)

// guests offers tools by name and counts what it is asked.
type guests struct {
	names   []string
	planned []string
}

func (g *guests) Specs() (out []model.ToolSpec) {
	for _, name := range g.names {
		out = append(out, model.ToolSpec{Name: name, Description: "of a server"})
	}
	return out
}

func (g *guests) Plan(c model.ToolCall) (Call, bool, error) {
	if !slices.Contains(g.names, c.Name) {
		return nil, false, nil
	}
	g.planned = append(g.planned, c.Name)
	if c.Arguments == "" {
		return nil, true, errors.New("no arguments")
	}
	return guestCall{}, true, nil
}

func (g *guests) Ready(context.Context) error { return nil }

type guestCall struct{ Call }

func (guestCall) Action() approvals.Action { return approvals.Action{Tool: "a__echo"} }

func (guestCall) Run(context.Context, approvals.Permit, Stage) (Result, error) { return Result{}, nil }

// TestExternal: tools of others come after codeagent's own, change with their offer, and never
// take the place of an own tool, not even of one that is disabled.
func TestExternal(t *testing.T) {
	g := &guests{names: []string{"shell", "search", "a__echo"}}
	s := All(Options{External: g, Disabled: map[string]bool{"search": true}})
	names := s.Names()
	if names[len(names)-1] != "a__echo" || slices.Index(names, "shell") != 0 || slices.Contains(names[1:], "shell") || slices.Contains(names, "search") {
		t.Errorf("the tools are %q", names)
	}
	_, _ = s.Plan(model.ToolCall{Name: "shell", Arguments: `{"command":"true"}`}) // g.planned must not have it
	if _, err := s.Plan(model.ToolCall{Name: "search", Arguments: `{"pattern":"x"}`}); err == nil {
		t.Error("a disabled tool was planned")
	}
	if call, err := s.Plan(model.ToolCall{Name: "a__echo", Arguments: "{}"}); err != nil || call.Action().Tool != "a__echo" {
		t.Errorf("a__echo: %v, %v", call, err)
	}
	if _, err := s.Plan(model.ToolCall{Name: "a__echo"}); err == nil || err.Error() != "no arguments" {
		t.Errorf("a__echo without arguments: %v", err)
	}
	if !slices.Equal(g.planned, []string{"a__echo", "a__echo"}) {
		t.Errorf("planned by the others: %q", g.planned)
	}
	s.disabled["a__echo"] = true
	if _, err := s.Plan(model.ToolCall{Name: "a__echo", Arguments: "{}"}); err == nil || slices.Contains(s.Names(), "a__echo") || len(g.planned) != 2 {
		t.Errorf("a disabled tool of a server was planned or offered: %v, %q", err, g.planned)
	}
	delete(s.disabled, "a__echo")
	g.names = nil
	if _, err := s.Plan(model.ToolCall{Name: "a__echo", Arguments: "{}"}); err == nil {
		t.Error("a tool that is gone was planned")
	}
	if slices.Contains(s.Names(), "a__echo") {
		t.Error("a tool that is gone is offered")
	}
}
