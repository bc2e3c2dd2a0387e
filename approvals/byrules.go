package approvals

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

// The user's rules answer before a person is asked. A rule opens only what a person could
// open as well: what it names passes the same checks as a wish of the model.

// byRules is what the rules say of an action.
type byRules struct {
	// decision is about the action as a whole; place says which rule asks about it.
	decision rules.Decision
	place    string
	// outside: the command may run outside the sandbox if the model asks for it.
	outside bool
}

func (g *Gate) now() time.Time {
	if g.opts.Now != nil {
		return g.opts.Now()
	}
	return time.Now()
}

// forbidden returns the refusal that a rule words.
func forbidden(r *rules.Rule) *Refusal {
	return refuse("the rule at %s forbids this: %s", placeOf(r), short.Cut(r.Reason, maxReason))
}

func placeOf(r *rules.Rule) string { return fmt.Sprintf("%s:%d", show(r.File), r.Line) }

// commandRules judges the command of a, and returns base with what the rules open for it.
func (g *Gate) commandRules(base sandbox.Policy, a Action) (sandbox.Policy, byRules, *Refusal) {
	if a.Kind != word.KindCommand {
		return base, byRules{}, nil
	}
	j := g.opts.Rules.Command(a.Command, g.now())
	by := byRules{decision: j.Decision, outside: j.Unsandboxed}
	switch {
	case j.Decision == rules.Forbid:
		return base, by, forbidden(j.Rule)
	case j.Decision == rules.Ask:
		by.place = placeOf(j.Rule)
	case (j.Unsandboxed || !j.Opens.Empty()) && g.changeableWay(base, a.Folder) != "":
		// The words say which program is meant only as long as no command can put another in
		// its place.
		by.outside = false
	case !j.Opens.Empty():
		o := j.Opens
		w, refusal := g.want(base, "/", Wish{Write: o.Write, Read: o.Read, Hosts: o.Hosts, Sockets: o.Sockets})
		if refusal == nil && w.blocked == "" {
			base = base.With(w.grant)
		}
	}
	return base, by, nil
}

// ruled is wanted under the rules for paths and hosts: what they allow is added to base, and
// what they forbid is refused.
func (g *Gate) ruled(base sandbox.Policy, a Action, by *byRules) (sandbox.Policy, want, []string, *Refusal) {
	w, edited, refusal := g.wanted(base, a)
	if refusal != nil || len(g.opts.Rules.Rules()) == 0 {
		return base, w, edited, refusal
	}
	for _, p := range edited {
		switch d, r := g.opts.Rules.Path(rules.Write, p, g.now()); d {
		case rules.Forbid:
			return base, w, edited, forbidden(r)
		case rules.Ask:
			by.decision, by.place = rules.Ask, placeOf(r)
		}
	}
	asked := w.grant
	if a.Kind == word.KindFetch {
		asked.Hosts = hostsOf(a.Wish.Hosts) // also those that the policy allows
	}
	opened, refusal := g.opened(asked)
	if refusal != nil || opened.Empty() {
		return base, w, edited, refusal
	}
	if g.blocked(base, opened) != "" && a.Kind != word.KindFetch {
		return base, w, edited, nil
	}
	base = base.With(opened)
	w, edited, refusal = g.wanted(base, a)
	return base, w, edited, refusal
}

// hostsOf parses the hosts of a wish that was checked.
func hostsOf(wish []string) (out []sandbox.HostPort) {
	for _, raw := range wish {
		if h, err := sandbox.ParseHostPort(raw); err == nil {
			out = append(out, h)
		}
	}
	return out
}

// opened returns the part of a wanted grant that rules allow.
func (g *Gate) opened(wanted sandbox.Grant) (out sandbox.Grant, refusal *Refusal) {
	judge := func(d rules.Decision, r *rules.Rule) bool {
		if d == rules.Forbid {
			refusal = cmp.Or(refusal, forbidden(r))
		}
		return d == rules.Allow
	}
	pick := func(access rules.Access, paths []string) []string {
		return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !judge(g.opts.Rules.Path(access, p, g.now())) })
	}
	out.Write, out.Read = pick(rules.Write, wanted.Write), pick(rules.Read, wanted.Read)
	out.Hosts = slices.DeleteFunc(slices.Clone(wanted.Hosts), func(h sandbox.HostPort) bool { return !judge(g.opts.Rules.Host(h, g.now())) })
	return out, refusal
}

// changeableWay returns a folder of PATH where commands under base can put programs, or "".
func (g *Gate) changeableWay(base sandbox.Policy, folder string) string {
	i := slices.IndexFunc(g.opts.Path, func(dir string) bool {
		p, refusal := g.at.canonical(folder, dir)
		return refusal != nil || changeable(base, p)
	})
	if i < 0 {
		return ""
	}
	return cmp.Or(g.opts.Path[i], ".")
}
