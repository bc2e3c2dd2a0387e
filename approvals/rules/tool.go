package rules

import (
	"strings"
	"unicode"

	"codeagent/internal/short"
)

// Rules for tools of MCP servers.

// ToolCall names a tool of an MCP server as rules do. Described identifies how the server describes
// the tool.
type ToolCall struct{ Name, Described string }

// anyTool ends the name of a rule for all tools of a server.
const anyTool = "__*"

// Tool judges a call of a tool. The strictest rule decides; of equally strict ones, the
// one that names the tool, then the first. changed is an allow that would decide if the server
// still described the tool as it did then; nil for none.
func (s *Set) Tool(c ToolCall) (found, changed *Rule) {
	for _, r := range s.Rules() {
		if r.Tool == "" || r.Tool != c.Name && !r.allTools(c.Name) {
			continue
		}
		if r.Decision == Allow && r.Described != "" && r.Described != c.Described {
			changed = r
			continue
		}
		if found == nil || r.Decision.Stricter(found.Decision) || r.Decision == found.Decision && found.Tool != c.Name && r.Tool == c.Name {
			found = r
		}
	}
	return found, changed
}

// allTools reports whether r is about all tools of the server of the tool called name.
func (r *Rule) allTools(name string) bool {
	server, ok := strings.CutSuffix(r.Tool, anyTool)
	return ok && strings.HasPrefix(name, server+"__")
}

func (p *parser) tool(r *Rule, e toolEntry) {
	r.Decision, r.Reason, r.Tool, r.Described = e.Decision, e.Reason, e.Tool, e.Described
	p.decided(e.Decision, e.Reason)
	server, tool, ok := strings.Cut(e.Tool, "__")
	switch {
	case !ok || server == "" || tool == "" || strings.ContainsFunc(e.Tool, func(c rune) bool { return unicode.IsControl(c) || unicode.IsSpace(c) }):
		p.fail("tool", "tool is %s; it must be the name of a server and of its tool, \"NAME__tool\", or \"NAME__*\" for all of them", short.Quote(e.Tool, 80))
	case strings.Contains(tool, "*") && tool != "*":
		p.fail("tool", "tool is %s; a * stands only for all tools of a server, \"%s__*\"", short.Quote(e.Tool, 80), server)
	case e.Described != "" && e.Decision != Allow:
		p.fail("described", "only an allow can depend on how a tool is described")
	case e.Described != "" && tool == "*":
		p.fail("described", "described belongs to one tool, not to all of a server")
	}
}
