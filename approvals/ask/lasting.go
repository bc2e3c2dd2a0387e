package ask

import (
	"strings"

	"codeagent/approvals/decide"
	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/sandbox"
)

// Rules returns the narrowest rules that would answer q in future, or the reason why it has no such
// rules.
func Rules(q Request, mode decide.Mode) (list []*rules.Rule, why string) {
	gr, a := q.Grant, q.Action
	switch {
	case gr.Unsandboxed || q.Widest:
		return nil, "it asks to leave the sandbox"
	case len(gr.Sockets) > 0:
		return nil, "no rule opens a socket"
	case a.Calls():
		return toolRule(a.Server, gr)
	}
	if len(gr.Write) > 0 {
		list = append(list, &rules.Rule{Decision: rules.Allow, Paths: gr.Write, Access: rules.Write})
	}
	if len(gr.Read) > 0 {
		list = append(list, &rules.Rule{Decision: rules.Allow, Paths: gr.Read, Access: rules.Read})
	}
	if len(gr.Hosts) > 0 {
		r := &rules.Rule{Decision: rules.Allow, Hosts: gr.Hosts}
		if a.Kind == word.KindFetch {
			r.Access = rules.Fetch
		}
		list = append(list, r)
	}
	if a.Kind == word.KindCommand && mode == decide.Untrusted && !q.Held && !decide.KnownReadOnly(a.Command) {
		commands, why := rules.ForLine(a.Command)
		if why != "" {
			return nil, why
		}
		list = append(list, commands...)
	}
	return list, ""
}

// RulesText writes the rules as text. An empty project means every folder.
func RulesText(list []*rules.Rule, project string) string {
	var b strings.Builder
	for _, r := range list {
		in := *r
		in.Project = project
		b.Write(in.TOML())
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// Sentence describes in words what the rules of Project decide; "": the rules are invalid.
func (l Lasting) Sentence() string {
	list, _ := rules.Parse("rule", []byte(l.Project), "")
	return rules.Sentence(list, func(path string) string { return path })
}

// toolRule returns the rule that allows future calls of the same tool of a server, or says why no
// rule can.
func toolRule(c *decide.ServerCall, gr sandbox.Grant) ([]*rules.Rule, string) {
	switch {
	case !gr.Empty():
		return nil, "what a server may access stands in its settings, [mcp.servers." + c.Server + ".sandbox]"
	case c.Huge():
		return nil, "the arguments are too long to be shown whole"
	case decide.PlainText(c.Name()) != nil || strings.ContainsAny(c.Name(), " \t*"):
		return nil, "the name of the tool has characters that no rule can have"
	}
	return []*rules.Rule{{Decision: rules.Allow, Tool: c.Name(), Described: c.Described}}, ""
}
