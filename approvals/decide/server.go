package decide

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"codeagent/approvals/ledger"
	"codeagent/approvals/rules"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

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
	// Changed says what the session changed of what the server would load if it was started for this
	// call; "" if it runs. No yes to its tools covers that.
	Changed string
	// Own is its private folder. Keyed: its settings give it variables, which may hold keys.
	Own   string
	Keyed bool
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

// Words are the strings in the arguments: what the call names.
func (c ServerCall) Words() (words []string) {
	d := json.NewDecoder(strings.NewReader(c.Arguments))
	for {
		t, err := d.Token()
		if err != nil {
			return words
		}
		if s, ok := t.(string); ok {
			words = append(words, s)
		}
	}
}

// checkServer refuses a call that is not whole.
func checkServer(a Action) *Refusal {
	if a.Server == nil || a.Server.Server == "" || a.Server.Tool == "" {
		return refuse("a call of a server names no server or no tool")
	}
	return nil
}

// aboutCall returns the topics of a question about a, which wants w and runs under p. A tool of a server
// that does not claim to only read, or was changed since, is a topic by itself, unless the call can do no
// more than a command, which nobody is asked about.
func (s State) aboutCall(a Action, w Want, p sandbox.Policy) Topics {
	if a.Calls() && (a.Server.Changed != "" || !a.Server.ReadOnly && !s.within(*a.Server, p)) {
		return serverCalls | About(a.Kind, w)
	}
	return About(a.Kind, w)
}

// within reports whether the server has nothing under p that commands have not: no network and no socket,
// no variable that may be a secret, and no file beyond its own folder that they could not reach.
func (s State) within(c ServerCall, p sandbox.Policy) bool {
	commands := s.Base()
	foreign := func(judge func(string) sandbox.Judgement) func(sandbox.Root) bool {
		return func(r sandbox.Root) bool { return !sandbox.Covers(c.Own, r.Path) && !judge(r.Path).Allowed }
	}
	return !c.Remote && !c.Keyed && c.Own != "" && !p.Unconfined && p.Network.Mode == sandbox.NetworkDeny && len(p.Sockets) == 0 &&
		!slices.ContainsFunc(p.Write, foreign(commands.JudgeWrite)) && !slices.ContainsFunc(p.Read, foreign(commands.JudgeRead)) &&
		!slices.ContainsFunc(commands.DenyRead, func(path string) bool { return p.JudgeRead(path).Allowed })
}

// toolRules judges the tool by the rules.
func (s State) toolRules(c *ServerCall) (ByRules, *Refusal) {
	if c == nil {
		return ByRules{}, nil // checkServer refuses it
	}
	r, _ := s.Rules.Tool(rules.ToolCall{Name: c.Name(), Described: c.is()})
	if r == nil {
		return ByRules{}, nil
	}
	by := ByRules{Decision: r.Decision, Place: placeOf(r)}
	if r.Decision == rules.Forbid {
		return by, refuse("the rule at %s forbids this: %s", by.Place, short.Cut(r.Reason, MaxReason))
	}
	return by, nil
}

func placeOf(r *rules.Rule) string { return fmt.Sprintf("%s:%d", Show(r.File), r.Line) }

// toolNews says that the server describes a tool in another way than when a yes was given to it, or is
// another one or would be.
func (s State) toolNews(a Action, by ByRules) (news []string) {
	if !a.Calls() || by.Decision == rules.Allow || s.tool(*a.Server) {
		return nil
	}
	const other = "the server, or how it describes this tool, is not the same as when "
	name := a.Server.Name()
	_, changed := s.Rules.Tool(rules.ToolCall{Name: name, Described: a.Server.is()})
	switch {
	case a.Server.Changed != "":
		news = append(news, "the server is started again for this, and this session changed what it loads or reads: "+a.Server.Changed)
	case changed != nil:
		news = append(news, other+"the rule at "+placeOf(changed)+" allowed it")
	case slices.ContainsFunc(s.Answers, func(e ledger.Entry) bool { return e.Tool == name }):
		news = append(news, other+"you allowed it for the session")
	}
	return news
}

// Covered reports whether the answer e covers c.
func (c ServerCall) Covered(e ledger.Entry) bool {
	return e.Tool == c.Name() && e.Described == c.is()
}

// is identifies what would run. Words are never a hash.
func (c ServerCall) is() string { return cmp.Or(c.Changed, c.Described) }

// Server returns p, the policy by the settings of a server, with the session's answers about that server.
func (s State) Server(name string, p sandbox.Policy) sandbox.Policy {
	return s.Granted(s.forServer(p.Clone()), name)
}

// forServer returns the part of p, the policy by the settings of a server, that is open now: while
// commands may only read, a server writes nothing that commands could write before.
func (s State) forServer(p sandbox.Policy) sandbox.Policy {
	if s.OnlyReads() {
		closed := sandbox.PathsOf(s.Policy.Write)
		p.Write = slices.DeleteFunc(p.Write, func(r sandbox.Root) bool { return sandbox.CoveredBy(closed, r.Path) })
	}
	return p
}

// StartOf returns the policy of a before any answer.
func (s State) StartOf(a Action) sandbox.Policy {
	if a.Calls() {
		return s.forServer(a.Server.Policy.Clone())
	}
	return s.Start()
}

// mostArguments bounds the arguments that a question shows whole, in bytes.
const mostArguments = 16 << 10

// Huge reports whether a question cannot show the arguments whole.
func (c *ServerCall) Huge() bool { return len(c.Arguments) > mostArguments }
