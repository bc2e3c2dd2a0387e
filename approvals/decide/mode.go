package decide

import (
	"slices"
	"strings"

	"codeagent/event/word"
)

// Mode is the approval policy: when codeagent asks a person.
type Mode string

const (
	// Untrusted asks before every edit and every command that is not on the short list of
	// known read-only ones.
	Untrusted Mode = "untrusted"
	// OnRequest runs everything in the sandbox, and asks when the model requests more permissions. It
	// is the default.
	OnRequest Mode = "on-request"
	// OnFailure is OnRequest that also asks after the sandbox denied something to a command.
	OnFailure Mode = "on-failure"
	// Granular is OnRequest that refuses questions about the topics in Options.Refuse.
	Granular Mode = "granular"
	// Never asks nobody. It refuses what the sandbox does not allow.
	Never Mode = "never"
)

// Modes lists every Mode, the most careful first.
func Modes() []Mode { return []Mode{Untrusted, OnRequest, OnFailure, Granular, Never} }

// modeWords are the approval policies in two words, and what each does.
var modeWords = map[Mode]struct{ short, means string }{
	Untrusted: {"ask", "you are asked before every edit and every command, except commands that are known only to read"},
	OnRequest: {"accept edits", "edits of the workspace and commands in the sandbox run; you are asked when more is needed"},
	OnFailure: {"ask on denial", "everything runs in the sandbox; you are asked when more is needed, and after a command that the sandbox denied something"},
	Granular:  {"ask by kind", "everything runs in the sandbox; when more is needed the settings say by its kind whether you are asked or it is refused"},
	Never:     {"never ask", "everything runs in the sandbox; what needs more is refused, and you are asked nothing"},
}

// Short names m in two or three words; it is empty for an unknown one.
func (m Mode) Short() string { return modeWords[m].short }

// Means says in a line what m does.
func (m Mode) Means() string { return modeWords[m].means }

// Holds reports whether a refused call of a running command can wait for an answer under m. Under
// Untrusted the user was already asked before the command started.
func (m Mode) Holds() bool { return m == OnRequest || m == OnFailure || m == Granular }

// Topics is a set of question topics, as named in Options.Refuse.
type Topics uint8

const (
	escalation  Topics = 1 << iota // a command wants a path, a socket, or to leave the sandbox
	network                        // a command wants a host
	edits                          // an edit outside the write roots
	fetches                        // a page of a host
	inputs                         // input to a command that may do more than the sandbox
	serverCalls                    // a tool of an MCP server that may change something
)

// Network is the topic of a port that is to be served, too.
const Network = network

// topicNames names the topics, in the order of their bits.
var topicNames = []string{"escalation", "network", "edit", "fetch", "input", "mcp"}

// topicWords describe the topics, for the model.
var topicWords = []string{
	"a path, a socket or leaving the sandbox", "a host for a command", "an edit outside the writable folders", "a page of a host", "input to a command that has more permissions",
	"a tool of an MCP server",
}

// TopicsOf returns the topics of names. An unknown name counts as all topics.
func TopicsOf(names []string) (out Topics) {
	for _, name := range names {
		i := slices.Index(topicNames, name)
		if i < 0 {
			return 1<<len(topicNames) - 1
		}
		out |= 1 << i
	}
	return out
}

// Words describes the topics in t, for the model.
func (t Topics) Words() string { return strings.Join(t.of(topicWords), "; ") }

// Names returns the names of the topics in t.
func (t Topics) Names() []string { return t.of(topicNames) }

// of returns those of names, one per topic, that belong to the topics in t.
func (t Topics) of(names []string) (out []string) {
	for i, name := range names {
		if t&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return out
}

// About returns the topics of a question about w. It is empty if w wants nothing.
func About(kind word.Kind, w Want) (out Topics) {
	switch {
	case w.Empty():
		return 0
	case kind == word.KindEdit:
		return edits
	case kind == word.KindFetch:
		return fetches
	case kind == word.KindInput:
		return inputs
	}
	if len(w.Grant.Hosts) > 0 {
		out |= network
	}
	if len(w.Grant.Write)+len(w.Grant.Read)+len(w.Grant.Sockets) > 0 || w.Unsandboxed || w.Blocked != "" {
		out |= escalation
	}
	return out
}

// verdict is the table's decision, the strictest first.
type verdict int

const (
	no verdict = iota
	askFirst
	run
)

// Consent is an approval policy with its settings.
type Consent struct {
	Mode   Mode
	Refuse Topics // under Granular
}

// cell is one case of the decision table.
type cell struct {
	kind word.Kind
	// unconfined: there is no sandbox.
	unconfined bool
	// about are the topics of what the action wants beyond the sandbox.
	about Topics
	// ruled: a rule asks about the command, or a hook about the call.
	ruled bool
	// known: the command is on the read-only list, or a rule allows it. remembered: an answer for the
	// session covers it.
	known, remembered bool
}

// rule is the decision table, without the rows for impossible grants and for forbid rules.
func (c Consent) rule(f cell) verdict {
	wants := f.about != 0 || f.ruled
	switch {
	case f.kind == word.KindServer && c.Mode != Untrusted && !f.ruled && (f.known || f.remembered):
		return run
	case f.kind.Harmless() && !f.ruled:
		return run
	case c.Mode == OnRequest || c.Mode == OnFailure || c.Mode == Granular || c.Mode == Never:
		if !wants {
			return run
		}
		if c.Refuses(f.about) {
			return no
		}
		return askFirst
	case f.kind == word.KindServer && !f.ruled && (f.known || f.remembered):
		return run
	case wants:
		return askFirst
	case f.remembered, f.kind == word.KindFetch:
		return run
	case f.kind == word.KindCommand && f.known && !f.unconfined:
		// The list may replace a question only because the sandbox is the boundary. Without a sandbox the
		// list has no effect.
		return run
	}
	return askFirst
}

// Refuses reports whether c refuses questions about t.
func (c Consent) Refuses(t Topics) bool {
	return c.Mode == Never || c.Mode == Granular && t&c.Refuse != 0
}

// Why says why c refuses a question about t.
func (c Consent) Why(t Topics) string {
	if c.Mode == Granular {
		return "the approval policy is granular, and refuses questions about " + strings.Join((t&c.Refuse).of(topicNames), " and ")
	}
	return "the approval policy is never: nobody is asked"
}

// cells are all combinations that the table distinguishes.
func cells() (out []cell) {
	wishes := map[word.Kind][]Topics{
		word.KindCommand: {0, escalation, network, escalation | network},
		word.KindEdit:    {0, edits}, word.KindFetch: {0, fetches}, word.KindInput: {0, inputs},
		word.KindServer: {0, serverCalls},
	}
	for kind, list := range wishes {
		for _, t := range list {
			for i := range 16 {
				out = append(out, cell{kind, i&1 != 0, t, i&2 != 0, i&4 != 0, i&8 != 0})
			}
		}
	}
	return out
}

// Wider reports whether to is less strict than c in any case: it runs an action instead of asking
// or refusing, or asks instead of refusing.
func (c Consent) Wider(to Consent) bool {
	return to.Mode == OnFailure && c.Mode != OnFailure || slices.ContainsFunc(cells(), func(f cell) bool { return to.rule(f) > c.rule(f) })
}
