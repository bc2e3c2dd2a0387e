package decide

import (
	"slices"

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
}

// Limits are the current restrictions.
type Limits struct {
	ReadOnly bool // for every model
	Model    ModelRules
}

// OnlyReads reports whether the policy is read-only now.
func (l Limits) OnlyReads() bool { return l.ReadOnly || l.Model.ReadOnly }

// forModel returns the part of p that is open now to the current model.
func (l Limits) forModel(p sandbox.Policy) sandbox.Policy {
	if !l.OnlyReads() {
		return p
	}
	closed := func(r sandbox.Root) bool { return p.Temp == "" || !sandbox.Covers(p.Temp, r.Path) }
	p.WasWrite = append(p.WasWrite, p.Write...)
	p.Write, p.SharedTemp = slices.DeleteFunc(p.Write, closed), false
	return p
}

// TooWide returns a refusal if w needs to leave the sandbox and the model may not ask for that.
func (l Limits) TooWide(w Want) *Refusal {
	const never = "this model may not ask to run anything outside the sandbox (the user's setting may_ask_outside)"
	switch {
	case !l.Model.NoOutside:
	case w.Unsandboxed:
		return &Refusal{Reason: never, Advice: "Ask for the paths and hosts that are needed, or say what is missing"}
	case w.Blocked != "":
		return &Refusal{Reason: never + ", and " + w.Blocked, Advice: "Do without it, or say what is missing"}
	}
	return nil
}
