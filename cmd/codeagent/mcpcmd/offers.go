package mcpcmd

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"codeagent/mcp/serve"
	"codeagent/tools"
)

//go:embed offer
var offer embed.FS

// foreground are the arguments of shell that need the tools for background commands, or other calls of
// an answer: neither is here.
var foreground = []string{"background", "tty", "yield_time_ms", "wait_for", "independent"}

// offered returns the tools of `codeagent mcp`, in the order in which they are described.
func offered() ([]serve.Tool, error) {
	own := map[string]serve.Tool{}
	for _, spec := range tools.All(tools.Options{}).Specs() {
		own[spec.Name] = serve.Tool{Description: spec.Description, Input: spec.Schema}
	}
	shell, err := withoutProperties(own["shell"].Input, foreground)
	if err != nil {
		return nil, err
	}
	list := []serve.Tool{
		{Name: "shell", Title: "Run a command in the sandbox", Description: text("shell.md"), Input: shell, Output: raw("call.out.json"), Destructive: true, OpenWorld: true},
		{Name: "apply_patch", Title: "Change files by a patch", Description: own["apply_patch"].Description, Input: own["apply_patch"].Input, Output: raw("call.out.json"), Destructive: true},
		{Name: "agent", Title: "Give codeagent a task", Description: text("agent.md"), Input: raw("agent.in.json"), Output: raw("agent.out.json"), Destructive: true, OpenWorld: true},
		{Name: "undo", Title: "Undo what a call changed", Description: text("undo.md"), Input: raw("undo.in.json"), Output: raw("undo.out.json"), Destructive: true},
	}
	return list, nil
}

func raw(name string) []byte {
	data, _ := offer.ReadFile("offer/" + name) // embedded, as a test checks
	return data
}

func text(name string) string { return strings.TrimSpace(string(raw(name))) }

// withoutProperties removes properties from a JSON Schema of an object.
func withoutProperties(schema json.RawMessage, names []string) (json.RawMessage, error) {
	var s map[string]any
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("bug: the schema of a tool: %w", err)
	}
	properties, _ := s["properties"].(map[string]any)
	for name := range properties {
		if slices.Contains(names, name) {
			delete(properties, name)
		}
	}
	return json.Marshal(s)
}
