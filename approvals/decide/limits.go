package decide

import (
	"slices"

	"codeagent/event/word"
	"codeagent/sandbox"
)

// ModelRules are the limits that the settings put on the current model.
type ModelRules struct {
	// ReadOnly: only the folder for temporary files is writable until an answer opens more.
	ReadOnly bool
	// MustJustify: a request without a valid reason is always refused. Actions that ask without a
	// request (edits, fetches) need a reason too.
	MustJustify bool
	// NoOutside: the model may not ask to run outside the sandbox.
	NoOutside bool
	// Fixed: nobody opens what ReadOnly closes.
	Fixed bool
}

// Limits are the current restrictions.
type Limits struct {
	ReadOnly bool // for every model
	// Plan: nothing is changed, whatever was answered before, until a person accepts the model's plan.
	Plan bool
	// Helper: a helper of the model acts. It reads, and writes the roots in Draft, which are on a draft; no answer,
	// rule or question gives it more than a page of the web.
	Helper bool
	Draft  []string
	Model  ModelRules
	// Managed names the setting of root's that does not allow a grant, for a fetch or a command, whoever says yes;
	// "" allows it. Nil: none does.
	Managed func(g sandbox.Grant, fetch bool) string
}

// OnlyReads reports whether the policy is read-only now.
func (l Limits) OnlyReads() bool { return l.ReadOnly || l.Plan || l.Helper || l.Model.ReadOnly }

// forModel returns the part of p that is open now to the current model.
func (l Limits) forModel(p sandbox.Policy) sandbox.Policy {
	if !l.OnlyReads() {
		return p
	}
	closed := func(r sandbox.Root) bool {
		return !l.onDraft(r.Path) && (p.Temp == "" || !sandbox.Covers(p.Temp, r.Path))
	}
	p.WasWrite = append(p.WasWrite, p.Write...)
	p.Write, p.SharedTemp = slices.DeleteFunc(p.Write, closed), false
	if l.Plan || l.Helper {
		p.Sockets = nil // the program behind one changes what it likes
	}
	return p
}

// onDraft reports whether root is one that the helper writes, on its draft. What closes it to the model closes it to
// the helper.
func (l Limits) onDraft(root string) bool {
	return !l.ReadOnly && !l.Plan && !l.Model.ReadOnly && sandbox.CoveredBy(l.Draft, root)
}

// open returns the part of an answer's grant that opens something now.
func (l Limits) open(g sandbox.Grant, fetch bool) sandbox.Grant {
	if l.Managed != nil && l.Managed(g, fetch) != "" {
		return sandbox.Grant{}
	}
	if l.Plan || l.Helper {
		g.Write, g.Sockets = nil, nil
	}
	return g
}

// unplanned refuses what changes something while the model plans. Without a sandbox nothing bounds what
// runs. A server has a policy of its own, and of its tools only those that claim to read are called.
func (l Limits) unplanned(a Action, p sandbox.Policy, w Want) *Refusal {
	if l.Helper {
		return l.beyondHelper(a, p, w)
	}
	if refusal := l.beyondManaged(a.Kind, w); refusal != nil || !l.Plan {
		return refusal
	}
	reads := a.Kind.Harmless() || a.Kind == word.KindFetch || a.Calls() && a.Server.ReadOnly
	if !reads && (p.Unconfined || a.Calls()) {
		return planFirst()
	}
	return l.TooWide(a.Kind, w)
}

// beyondHelper refuses what a helper may not do: whatever outlives it, or that the sandbox cannot keep
// from writing, and what concerns the conversation that it works for.
func (l Limits) beyondHelper(a Action, p sandbox.Policy, w Want) *Refusal {
	switch {
	case a.Kind == word.KindRead, a.Kind == word.KindFetch:
	case a.Kind == word.KindCommand && !a.Background && !p.Unconfined:
	case a.Kind == word.KindEdit && len(l.Draft) > 0 && !p.Unconfined:
	default:
		return l.Beyond()
	}
	return l.TooWide(a.Kind, w)
}

// beyondManaged refuses what managed settings do not allow. What is typed to a command opens nothing.
func (l Limits) beyondManaged(kind word.Kind, w Want) *Refusal {
	if l.Managed == nil || kind == word.KindInput {
		return nil
	}
	g := w.Grant
	g.Unsandboxed = g.Unsandboxed || w.Leaves()
	key := l.Managed(g, kind == word.KindFetch)
	if key == "" {
		return nil
	}
	return &Refusal{Reason: "the settings do not allow this, whoever is asked: " + key, Advice: "Nobody can be asked for it. Do without it, or say what is missing"}
}

// Beyond is the refusal of what a helper may not do.
func (l Limits) Beyond() *Refusal {
	does := "only reads"
	if len(l.Draft) > 0 {
		does = "works on a draft"
	}
	return &Refusal{Reason: "a helper " + does + ", and nothing more can be opened for it", Advice: "Do without it, and say in your report what is missing"}
}

func planFirst() *Refusal {
	return &Refusal{Reason: "plan mode: nothing is changed until the user accepts the plan", Advice: "Read what you need, write the plan down with update_plan and end the turn"}
}

// TooWide returns a refusal if w, wanted by an action of that kind, needs what the model may not ask for now.
func (l Limits) TooWide(kind word.Kind, w Want) *Refusal {
	const never = "this model may not ask to run anything outside the sandbox (the user's setting may_ask_outside)"
	if refusal := l.beyondManaged(kind, w); refusal != nil {
		return refusal
	}
	switch {
	case l.Helper && kind != word.KindFetch && (w.Leaves() || !w.Empty()):
		return l.Beyond()
	case l.Plan && (w.Leaves() || len(w.Grant.Write)+len(w.Grant.Sockets) > 0):
		return planFirst()
	case !l.Model.NoOutside:
	case w.Unsandboxed:
		return &Refusal{Reason: never, Advice: "Ask for the paths and hosts that are needed, or say what is missing"}
	case w.Blocked != "":
		return &Refusal{Reason: never + ", and " + w.Blocked, Advice: "Do without it, or say what is missing"}
	}
	return nil
}
