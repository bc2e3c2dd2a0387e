package approvals

import (
	"codeagent/event/word"
	"codeagent/sandbox"
)

// Unmet returns what a command that passed lost to the sandbox (sandbox.Verdict.Lost), as the refusal
// that asking for it would have got where nobody can answer. It returns nil if there is nothing, or
// nothing that anybody could grant.
func (g *Gate) Unmet(a Action, v sandbox.Verdict) *Refusal {
	base := g.Base()
	if a.Kind != word.KindCommand || base.Unconfined || len(v.Lost()) == 0 {
		return nil
	}
	w, refusal := g.want(base, a.Folder, suggested(a, v.Suggest))
	if refusal != nil || w.empty() {
		return nil
	}
	r := g.request(a, w)
	r.Title = heldWho(v.Lost()[0]) + " wants to " + grantWords(r.Grant)
	return &Refusal{Reason: "nobody could be asked, so it was refused", Hint: g.hint(a.Kind, r.Grant), Request: &r}
}

// suggested returns a suggestion as the wish of a.
func suggested(a Action, gr sandbox.Grant) Wish {
	wish := Wish{Write: gr.Write, Read: gr.Read, Sockets: gr.Sockets, Unsandboxed: gr.Unsandboxed}
	for _, h := range gr.Hosts {
		wish.Hosts = append(wish.Hosts, withPort(a.Command, h.String()))
	}
	return wish
}
