package approvals

import (
	"slices"
	"strings"
	"sync"

	"codeagent/event/word"
	"codeagent/sandbox"
)

// Mode is the approval policy: when a person is asked.
type Mode string

const (
	// Untrusted asks before every edit and every command that is not on the short list of
	// known read-only ones.
	Untrusted Mode = "untrusted"
	// OnRequest runs everything in the sandbox and asks when the model requests more
	// permissions. It is the default.
	OnRequest Mode = "on-request"
	// OnFailure is OnRequest, and also asks after a command that the sandbox denied something.
	OnFailure Mode = "on-failure"
	// Granular is OnRequest, and refuses the questions about what Options.Refuse lists.
	Granular Mode = "granular"
	// Never asks nobody: what the sandbox does not allow is refused.
	Never Mode = "never"
)

// Modes lists every Mode, the most careful first.
func Modes() []Mode { return []Mode{Untrusted, OnRequest, OnFailure, Granular, Never} }

// Holds reports whether a refused call of a running command can wait for an answer under m:
// under Untrusted the user was asked before the command started.
func (m Mode) Holds() bool { return m == OnRequest || m == OnFailure || m == Granular }

// topics is a set of what a question is about, as Options.Refuse names it.
type topics uint8

const (
	escalation topics = 1 << iota // a command wants a path, a socket, or to leave the sandbox
	network                       // a command wants a host
	edits                         // an edit outside the write roots
	fetches                       // a page of a host
	inputs                        // input to a command that may do more than the sandbox
)

// topicNames names the topics, in the order of their bits.
var topicNames = []string{"escalation", "network", "edit", "fetch", "input"}

// topicWords describe the topics, for the model.
var topicWords = []string{
	"a path, a socket or leaving the sandbox", "a host for a command", "an edit outside the writable folders", "a page of a host", "input to a command that has more permissions",
}

// topicsOf returns the topics of names; a name that does not exist counts as all of them.
func topicsOf(names []string) (out topics) {
	for _, name := range names {
		i := slices.Index(topicNames, name)
		if i < 0 {
			return 1<<len(topicNames) - 1
		}
		out |= 1 << i
	}
	return out
}

// of returns those of the names, one for each topic, that t contains.
func (t topics) of(names []string) (out []string) {
	for i, name := range names {
		if t&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return out
}

// about returns what a question about w would be about; nothing if w wants nothing.
func about(kind word.Kind, w want) (out topics) {
	switch {
	case w.empty():
		return 0
	case kind == word.KindEdit:
		return edits
	case kind == word.KindFetch:
		return fetches
	case kind == word.KindInput:
		return inputs
	}
	if len(w.grant.Hosts) > 0 {
		out |= network
	}
	if len(w.grant.Write)+len(w.grant.Read)+len(w.grant.Sockets) > 0 || w.unsandboxed || w.blocked != "" {
		out |= escalation
	}
	return out
}

// ruling is the table's decision, the strictest first.
type ruling int

const (
	no ruling = iota
	askFirst
	run
)

// consent is an approval policy with its settings.
type consent struct {
	mode   Mode
	refuse topics // under Granular
}

// facts are what the table judges an action by.
type facts struct {
	kind word.Kind
	// unconfined: there is no sandbox.
	unconfined bool
	// about is what the action wants beyond the sandbox.
	about topics
	// ruled: a rule asks about the command.
	ruled bool
	// known: the command is on the read-only list, or a rule allows it. remembered: it was
	// answered for the session.
	known, remembered bool
}

// rule is the table without the rows for what nobody can grant and what a rule forbids.
func (c consent) rule(f facts) ruling {
	wants := f.about != 0 || f.ruled
	switch {
	case f.kind == word.KindPlan || f.kind == word.KindRead || f.kind == word.KindWatch:
		return run
	case c.mode == OnRequest || c.mode == OnFailure || c.mode == Granular || c.mode == Never:
		if !wants {
			return run
		}
		return c.question(f.about)
	case wants:
		return askFirst
	case f.remembered, f.kind == word.KindFetch:
		return run
	case f.kind == word.KindCommand && f.known && !f.unconfined:
		// The list may replace a question only because the sandbox is the boundary; without a
		// sandbox it replaces none.
		return run
	}
	return askFirst
}

// question says whether somebody is asked about t, or it is refused.
func (c consent) question(t topics) ruling {
	if c.mode == Never || c.mode == Granular && t&c.refuse != 0 {
		return no
	}
	return askFirst
}

// why says why c refuses a question about t.
func (c consent) why(t topics) string {
	if c.mode == Granular {
		return "the approval policy is granular, and refuses questions about " + strings.Join((t&c.refuse).of(topicNames), " and ")
	}
	return "the approval policy is never: nobody is asked"
}

// cells are all that the table distinguishes.
func cells() (out []facts) {
	wishes := map[word.Kind][]topics{
		word.KindCommand: {0, escalation, network, escalation | network},
		word.KindEdit:    {0, edits}, word.KindFetch: {0, fetches}, word.KindInput: {0, inputs},
	}
	for kind, list := range wishes {
		for _, t := range list {
			for i := range 16 {
				out = append(out, facts{kind, i&1 != 0, t, i&2 != 0, i&4 != 0, i&8 != 0})
			}
		}
	}
	return out
}

// wider reports whether something is less strict under to than under c: it runs instead of
// being asked about or refused, or is asked about instead of being refused.
func (c consent) wider(to consent) bool {
	return to.mode == OnFailure && c.mode != OnFailure || slices.ContainsFunc(cells(), func(f facts) bool { return to.rule(f) > c.rule(f) })
}

// modes is the approval policy of a session. It is safe for concurrent use.
type modes struct {
	mu  sync.Mutex
	now consent // guarded by mu
}

// Mode returns the present approval policy.
func (m *modes) Mode() Mode { return m.consent().mode }

// SetMode changes the approval policy. It applies to every later decision. A question that is
// open stays open; a yes to it is refused if the new policy would have refused to ask.
func (m *modes) SetMode(to Mode) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.mode = to
}

// Wider reports whether the approval policy to is less strict about something than the present
// one: it should then be confirmed before SetMode.
func (m *modes) Wider(to Mode) bool {
	now := m.consent()
	return now.wider(consent{to, now.refuse})
}

// Asks reports whether a request of a command for gr would be asked about, should it be needed;
// without a grant, for running outside the sandbox.
func (m *modes) Asks(gr sandbox.Grant) bool {
	return m.consent().question(about(word.KindCommand, want{grant: gr, unsandboxed: gr.Unsandboxed || gr.Empty()})) != no
}

// Refused names what questions are refused about under Granular, in words; empty: nothing.
func (m *modes) Refused() string {
	if now := m.consent(); now.mode == Granular {
		return strings.Join(now.refuse.of(topicWords), "; ")
	}
	return ""
}

func (m *modes) consent() consent {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}
