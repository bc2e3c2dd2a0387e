package approvals

import (
	"slices"

	"codeagent/approvals/ask"
	"codeagent/event/word"
	"codeagent/sandbox"
	"codeagent/sandbox/named"
)

// Unmet returns what a command needed and was refused, as the refusal of a request for it in a run
// without a person. For a command that passed this is sandbox.Verdict.Lost; for one that failed it
// is what made it fail, by the kernel's records. It returns nil if nothing was needed, if the
// command itself achieved the same in another way, or if nobody could grant it. What undo could not
// reverse comes first.
func (g *Gate) Unmet(a Action, v sandbox.Verdict) *Refusal {
	if g.helper != nil {
		return nil // nobody could grant it
	}
	if i := slices.IndexFunc(v.Denials, isLoss); i >= 0 && a.Kind == word.KindCommand {
		r := ask.Loss(a, v.Denials[i])
		r.ID = g.opts.NewID()
		return &Refusal{Reason: "nobody could be asked, so it was refused", Hint: remedy(g, g.run(lossFlag)), Request: &r}
	}
	wish := suggested(a, v.Suggest)
	s := g.state(g.ledger.at.names(Action{Folder: a.Folder, Wish: wish})...)
	base := s.Base()
	needs := v.Needs()
	if a.Kind != word.KindCommand || base.Unconfined || len(needs) == 0 {
		return nil
	}
	if !v.Denied && refusedIn(g.ledger.at.seen.Home, a, needs).Handled() {
		return nil
	}
	w, refusal := s.Exact(base, a.Folder, wish)
	if refusal != nil || w.Empty() {
		return nil
	}
	seen, _ := g.look(s, a, w.Leaves())
	r := ask.Unmet(s, a, w, seen, needs[0])
	r.ID = g.opts.NewID()
	return &Refusal{Reason: "nobody could be asked, so it was refused", Hint: remedy(g, g.hint(a.Kind, r.Grant)), Request: &r}
}

// Met reports whether a command that passed achieved in another way what a had needed, according to
// v: it ran the same words and was not refused that.
func (g *Gate) Met(a Action, v sandbox.Verdict, by Action, passed sandbox.Verdict) bool {
	needs := v.Needs()
	again := func(d sandbox.Denial) bool {
		return slices.ContainsFunc(needs, func(n sandbox.Denial) bool { return n.Kind == d.Kind && n.Target == d.Target })
	}
	return by.Kind == word.KindCommand && !passed.Failed && !slices.ContainsFunc(passed.Denials, again) && refusedIn(g.ledger.at.seen.Home, a, needs).DoneBy(by.Command)
}

func refusedIn(home string, a Action, denials []sandbox.Denial) *named.RefusedCommand {
	return &named.RefusedCommand{Text: a.Command, Folder: a.Folder, Home: home, Denials: denials}
}

// suggested returns a suggestion as a request of a.
func suggested(a Action, gr sandbox.Grant) Wish {
	wish := Wish{Write: gr.Write, Read: gr.Read, Sockets: gr.Sockets, Unsandboxed: gr.Unsandboxed}
	for _, h := range gr.Hosts {
		wish.Hosts = append(wish.Hosts, named.WithPort(a.Command, h.String()))
	}
	return wish
}
