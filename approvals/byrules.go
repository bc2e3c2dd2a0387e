package approvals

import (
	"fmt"

	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

// The user's rules answer before a person is asked. A rule opens only what a person could
// open as well: what it allows has passed the checks of a wish of the model.

// byRules is what the rules say of the command of an action. place names the rule.
type byRules struct {
	decision rules.Decision
	place    string
	rule     *rules.Rule
	// overwrites: an allow rule explicitly names the push options that overwrite.
	overwrites bool
}

// commandRules judges the command of a, or what is typed to a running one: that may be a
// command for a shell, so it can be asked about or forbidden, but not allowed.
func (s state) commandRules(a Action) (byRules, *Refusal) {
	text := a.Command
	switch a.Kind {
	case word.KindCommand:
	case word.KindInput:
		text = a.Input
	case word.KindServer:
		return s.toolRules(a.Server)
	default:
		return byRules{}, nil
	}
	j := s.rules.Command(text, s.now)
	if j.Rule == nil || j.Decision == rules.Allow && a.Kind == word.KindInput {
		return byRules{}, nil
	}
	by := byRules{decision: j.Decision, place: fmt.Sprintf("%s:%d", show(j.Rule.File), j.Rule.Line), rule: j.Rule}
	by.overwrites = j.Decision == rules.Allow && overwritesByRule(j.Parts)
	if j.Decision == rules.Forbid {
		return by, refuse("the rule at %s forbids this: %s", by.place, short.Cut(j.Rule.Reason, maxReason))
	}
	return by, nil
}

// overwritesByRule reports whether allow rules explicitly name the options of each git push that
// overwrites.
func overwritesByRule(parts []rules.Part) (found bool) {
	for _, p := range parts {
		if !rules.OverwritesByWords(p.Words) {
			continue
		}
		if p.Rule == nil || !rules.OverwritesByWords(p.Words[:len(p.Rule.Words)]) {
			return false
		}
		found = true
	}
	return found
}

// ruled is wanted under the rules for paths and hosts: what they allow is added to base.
func (s state) ruled(base sandbox.Policy, a Action) (sandbox.Policy, want, []string, *Refusal) {
	w, edited, refusal := s.wanted(base, a)
	if refusal != nil {
		return base, w, edited, refusal
	}
	opened := s.opened(base, w.grant, a.Kind == word.KindFetch)
	if opened.Empty() || s.blocked(base, opened) != "" && a.Kind != word.KindFetch {
		return base, w, edited, nil
	}
	base = base.With(opened)
	w, edited, refusal = s.wanted(base, a)
	return base, w, edited, refusal
}

// opened returns the part of a wanted grant that rules allow. A rule for a folder opens the same as
// a grant of the folder: a protected file in it needs its own rule. fetch: the grant is for a
// fetch.
func (s state) opened(base sandbox.Policy, wanted sandbox.Grant, fetch bool) (out sandbox.Grant) {
	for _, p := range wanted.Write {
		root := s.ruledRoot(rules.Write, p)
		if root == p || root != "" && base.With(sandbox.Grant{Write: []string{root}}).JudgeWrite(p).Allowed {
			out.Write = append(out.Write, p)
		}
	}
	for _, p := range wanted.Read {
		root := s.ruledRoot(rules.Read, p)
		if root == p || root != "" && base.With(sandbox.Grant{Read: []string{root}}).JudgeRead(p).Allowed {
			out.Read = append(out.Read, p)
		}
	}
	for _, h := range wanted.Hosts {
		if s.rules.Host(h, fetch, s.now) {
			out.Hosts = append(out.Hosts, h)
		}
	}
	return out
}

// ruledRoot returns the path of the rule that allows an access to p, "" for none. A path with a
// link on it counts for nothing: a command may have made the link.
func (s state) ruledRoot(access rules.Access, p string) string {
	root := s.rules.Path(access, p, s.now)
	if root == "" || !s.at.unmoved(root) {
		return ""
	}
	return root
}
