package approvals

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

// A call of a tool of an MCP server. Its question is not about the sandbox: the server's policy
// confines it already, but what it does elsewhere (send a message, open an issue) no sandbox knows.

// ServerCall is a call of a tool of an MCP server. All but Policy and the name of the server are
// the server's or the model's words.
type ServerCall struct {
	// Server is the configured name of the server, and Tool the server's own name for the tool.
	Server, Tool string
	// ReadOnly: the server claims that the tool only reads. Its claim is not evidence.
	ReadOnly bool
	// Remote: the server is reached by URL and runs outside the sandbox.
	Remote bool
	// Program says what the server is: its command line, or its URL.
	Program string
	// Described identifies the server, and how it describes the tool now: a hash of its program, and of
	// name, description, schema and annotations of the tool. A yes covers later calls only while it stays the same.
	Described string
	// Policy is what the server may do now. A permit widens this policy and not that of commands.
	Policy sandbox.Policy
	// Arguments is the JSON of the call as it is sent.
	Arguments string
}

// clone returns a deep copy of c, nil for nil.
func (c *ServerCall) clone() *ServerCall {
	if c == nil {
		return nil
	}
	out := *c
	out.Policy = c.Policy.Clone()
	return &out
}

// Name is the name of the tool in rules: "NAME__tool".
func (c ServerCall) Name() string { return c.Server + "__" + c.Tool }

// Readable is the arguments for a person: short ones on a line, else a value a line.
func (c ServerCall) Readable() string {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(c.Arguments)); err == nil && b.Len() <= 72 {
		return b.String()
	}
	b.Reset()
	if err := json.Indent(&b, []byte(c.Arguments), "", "  "); err != nil {
		return c.Arguments
	}
	return b.String()
}

// Text is what the call names: the strings in the arguments as words of a shell, one a line.
func (c ServerCall) Text() string {
	var words []string
	d := json.NewDecoder(strings.NewReader(c.Arguments))
	for {
		t, err := d.Token()
		if err != nil {
			return strings.Join(words, "\n")
		}
		if s, ok := t.(string); ok {
			words = append(words, ShellWord(s))
		}
	}
}

// serverName is the server whose tool a calls, or "".
func (a Action) serverName() string {
	if !a.calls() {
		return ""
	}
	return a.Server.Server
}

// calls reports whether a calls a tool of a server.
func (a Action) calls() bool { return a.Kind == word.KindServer && a.Server != nil }

// Confined reports whether a runs a process that the sandbox can refuse something.
func (a Action) Confined() bool {
	return a.Kind == word.KindCommand || a.calls() && !a.Server.Remote
}

// checkServer refuses a call that is not whole.
func checkServer(a Action) *Refusal {
	if a.Server == nil || a.Server.Server == "" || a.Server.Tool == "" {
		return refuse("a call of a server names no server or no tool")
	}
	return nil
}

// aboutCall returns the topics of a question about a, which wants w. A tool of a server that does
// not claim to only read is a topic by itself.
func aboutCall(a Action, w want) topics {
	if a.calls() && !a.Server.ReadOnly {
		return serverCalls | about(a.Kind, w)
	}
	return about(a.Kind, w)
}

// toolRules judges the tool by the rules.
func (s state) toolRules(c *ServerCall) (byRules, *Refusal) {
	if c == nil {
		return byRules{}, nil // checkServer refuses it
	}
	r, _ := s.rules.Tool(rules.ToolCall{Name: c.Name(), Described: c.Described}, s.now)
	if r == nil {
		return byRules{}, nil
	}
	by := byRules{decision: r.Decision, place: placeOf(r), rule: r}
	if r.Decision == rules.Forbid {
		return by, refuse("the rule at %s forbids this: %s", by.place, short.Cut(r.Reason, maxReason))
	}
	return by, nil
}

func placeOf(r *rules.Rule) string { return fmt.Sprintf("%s:%d", show(r.File), r.Line) }

// toolNews says that the server describes a tool in another way than when a yes was given to it, or is
// another one.
func (s state) toolNews(a Action, by byRules) (news []string) {
	if !a.calls() || by.decision == rules.Allow || s.tool(*a.Server) {
		return nil
	}
	const other = "the server, or how it describes this tool, is not the same as when "
	name := a.Server.Name()
	_, changed := s.rules.Tool(rules.ToolCall{Name: name, Described: a.Server.Described}, s.now)
	switch {
	case changed != nil:
		news = append(news, other+"the rule at "+placeOf(changed)+" allowed it")
	case slices.ContainsFunc(s.answers, func(e answered) bool { return e.Tool == name }):
		news = append(news, other+"you allowed it for the session")
	}
	return news
}

func (e answered) covers(c ServerCall) bool { return e.Tool == c.Name() && e.Described == c.Described }

// ServerPolicy returns p, the policy by the settings of a server, with the session's answers about
// that server.
func (l *Ledger) ServerPolicy(server string, p sandbox.Policy) sandbox.Policy {
	return l.state().server(server, p)
}

// server is ServerPolicy.
func (s state) server(name string, p sandbox.Policy) sandbox.Policy {
	return s.granted(s.forServer(p.Clone()), name)
}

// forServer returns the part of p, the policy by the settings of a server, that is open now: while
// commands may only read, a server writes nothing that commands could write before.
func (s state) forServer(p sandbox.Policy) sandbox.Policy {
	if s.onlyReads() {
		closed := sandbox.PathsOf(s.policy.Write)
		p.Write = slices.DeleteFunc(p.Write, func(r sandbox.Root) bool { return sandbox.CoveredBy(closed, r.Path) })
	}
	return p
}

// Lapsed returns what a running server loses of the grants given when now is its ServerPolicy.
func (l *Ledger) Lapsed(now sandbox.Policy, given []sandbox.Grant) sandbox.Closing {
	var lost sandbox.Grant
	for _, g := range given {
		g = g.Clone()
		lost.Write = append(lost.Write, slices.DeleteFunc(g.Write, func(p string) bool { return now.JudgeWrite(p).Allowed })...)
		lost.Read = append(lost.Read, slices.DeleteFunc(g.Read, func(p string) bool { return now.JudgeRead(p).Allowed })...)
		lost.Hosts = append(lost.Hosts, slices.DeleteFunc(g.Hosts, func(h sandbox.HostPort) bool { return now.JudgeHost(h).Allowed })...)
		lost.Sockets = append(lost.Sockets, slices.DeleteFunc(g.Sockets, func(p string) bool { return slices.Contains(now.Sockets, p) })...)
	}
	return l.closing(now, lost)
}

// Opens returns what p opens beside reading, and under does not: what a permit for p grants to a
// server that was started under under.
func (*Ledger) Opens(under, p sandbox.Policy) (g sandbox.Grant) {
	for _, root := range p.Write {
		if !slices.Contains(under.Write, root) {
			g.Write = append(g.Write, root.Path)
		}
	}
	for _, h := range p.Network.Hosts {
		if !slices.Contains(under.Network.Hosts, h) {
			g.Hosts = append(g.Hosts, h)
		}
	}
	for _, s := range p.Sockets {
		if !slices.Contains(under.Sockets, s) {
			g.Sockets = append(g.Sockets, s)
		}
	}
	return g
}

// startOf returns the policy of a before any answer.
func (s state) startOf(a Action) sandbox.Policy {
	if a.calls() {
		return s.forServer(a.Server.Policy.Clone())
	}
	return s.start()
}

// lasting returns the rule that answers a question about a call in the future, or why there is none.
func (c *ServerCall) lasting(gr sandbox.Grant) ([]*rules.Rule, string) {
	switch {
	case !gr.Empty():
		return nil, "what a server may access stands in its settings, [mcp.servers." + c.Server + ".sandbox]"
	case c.huge():
		return nil, "the arguments are too long to be shown whole"
	case plainText(c.Name()) != nil || strings.ContainsAny(c.Name(), " \t*"):
		return nil, "the name of the tool has characters that no rule can have"
	}
	return []*rules.Rule{{Decision: rules.Allow, Tool: c.Name(), Described: c.Described}}, ""
}

// mostArguments bounds the arguments that a question shows whole, in bytes.
const mostArguments = 16 << 10

// huge reports whether a question cannot show the arguments whole.
func (c *ServerCall) huge() bool { return len(c.Arguments) > mostArguments }

// warnings say what about a call is not confined.
func (c *ServerCall) warnings() (out []string) {
	switch {
	case c.Remote:
		out = append(out, "the server runs elsewhere: it gets the arguments, and no sandbox is around what it does")
	case c.Policy.Unconfined:
		out = append(out, "the server runs outside the sandbox (danger-full-access)")
	}
	if c.ReadOnly {
		out = append(out, "the server says that this tool only reads; nothing proves it")
	}
	if c.huge() {
		out = append(out, "the arguments are too long to be shown whole")
	}
	return out
}

// hint returns the command or setting that would allow a call, or gr to its server, in a run without
// a person.
func (c *ServerCall) hint(gr sandbox.Grant) string {
	if gr.Empty() {
		return "codeagent rules add --decision allow --tool " + ShellWord(c.Name())
	}
	return "codeagent mcp learn " + ShellWord(c.Server) + ", or the settings [mcp.servers." + c.Server + ".sandbox]"
}

// heldHint is hint for a held call of a.
func heldHint(g *Gate, a Action, gr sandbox.Grant) string {
	if a.calls() {
		return a.Server.hint(gr)
	}
	return g.hint(word.KindCommand, gr)
}
