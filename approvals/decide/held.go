package decide

import (
	"slices"

	"codeagent/event/word"
	"codeagent/sandbox"
	"codeagent/sandbox/named"
)

// Allows returns the grant under which a held call of a may proceed without a question: given, a rule,
// or a session grant made after the command started covers it.
func (s State) Allows(a Action, d sandbox.Denial, given []sandbox.Grant) (sandbox.Grant, bool) {
	// Judge the wish against the policy alone first: the running command has no newer grants.
	w, refusal := s.HeldWant(s.StartOf(a), a, d, given)
	if refusal != nil || w.Empty() || w.Blocked != "" {
		return sandbox.Grant{}, false
	}
	base := s.BaseOf(a)
	if a.Kind == word.KindCommand && s.Opened(base, w.Grant, false).Covers(w.Grant) {
		return w.Grant, true
	}
	now := base
	for _, gr := range given {
		now = now.With(s.Places.Standing(gr))
	}
	left, refusal := s.HeldWant(now, a, d, given)
	return w.Grant, refusal == nil && left.Empty()
}

// HeldWant returns what d, refused to a, needs beyond base. given is what a was granted before.
func (s State) HeldWant(base sandbox.Policy, a Action, d sandbox.Denial, given []sandbox.Grant) (Want, *Refusal) {
	var wish Wish
	switch d.Kind {
	case sandbox.KindWrite, sandbox.KindMetadata:
		wish.Write = []string{s.Places.heldPlace(d.Target)}
		if wish.Write[0] == d.Target {
			return s.Siblings(base, Action{Command: a.Command, Folder: "/"}, wish, given)
		}
	case sandbox.KindProtected:
		wish.Write = []string{d.Target}
	case sandbox.KindRead:
		wish.Read = []string{d.Target}
	case sandbox.KindNetwork:
		wish.Hosts = []string{named.WithPort(a.Command, d.Target)}
	case sandbox.KindSocket:
		wish.Sockets = []string{d.Target}
	default:
		return Want{}, refuse("%s %s: no grant would allow it", d.Kind, d.Operation)
	}
	return s.Exact(base, "/", wish)
}

// Siblings is Exact for what a lacked, where given is what it was granted before.
func (s State) Siblings(base sandbox.Policy, a Action, wish Wish, given []sandbox.Grant) (Want, *Refusal) {
	wish.Write = slices.Clone(wish.Write)
	var warnings []string
	for i, p := range wish.Write {
		place, why := s.around(base, a, p, given)
		if wish.Write[i] = place; why != "" && !slices.Contains(warnings, why) {
			warnings = append(warnings, why)
		}
	}
	w, refusal := s.Exact(base, a.Folder, wish)
	w.Warnings = append(w.Warnings, warnings...)
	return w, refusal
}
