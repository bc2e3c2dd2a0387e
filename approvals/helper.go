package approvals

import (
	"slices"

	"codeagent/approvals/decide"
	"codeagent/sandbox"
)

// Helper is a helper of the model, which works for one call of delegate. It reads, or works on a draft.
type Helper struct {
	// Name says in questions who asks: "helper 2 (review)".
	Name string
	// Temp is its own folder for temporary files. What it leaves there reaches no other call; empty: it
	// has none.
	Temp string
	// Draft are the roots that are on its draft, and that it may write there as far as the policy lets the session; nil:
	// it only reads.
	Draft []string
}

// Helper returns the gate as h has it. It has the rules, answers and approval policy of g, at every moment,
// and a narrower policy: that of g without sockets, servers and those write roots that are not on its draft. No answer, rule or question
// opens more to a helper than pages of the web. What a person answers it counts like any answer.
func (g *Gate) Helper(h Helper) *Gate {
	view := *g
	view.helper = &h
	return &view
}

// narrowed returns s as the helper has it.
func (g *Gate) narrowed(s decide.State) decide.State {
	if g.helper != nil {
		s.Helper, s.Draft, s.Policy.Temp = true, slices.Clone(g.helper.Draft), g.helper.Temp
	}
	return s
}

// named says who asks.
func (g *Gate) named(title string) string {
	if g.helper == nil {
		return title
	}
	return g.helper.Name + ": " + title
}

// ForHelper reports whether this is the gate of a helper.
func (g *Gate) ForHelper() bool { return g.helper != nil }

// Asks reports whether a command's request for gr would be asked about if it were needed. Without a
// grant it means running outside the sandbox.
func (g *Gate) Asks(gr sandbox.Grant) bool { return g.helper == nil && g.modes.Asks(gr) }

// UserSpoke forgets the requests that were denied, because the user has sent a new message. A helper's
// task is no message of the user's.
func (g *Gate) UserSpoke() {
	if g.helper == nil {
		g.userSpoke()
	}
}
