package decide

import (
	"fmt"
	"slices"

	"codeagent/approvals/rules"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

// The user's rules answer before a person is asked. A rule opens only what a person could
// open as well: what it allows has passed the checks of a wish of the model.

// ByRules is what the rules say of the command of an action. Place names the rule.
type ByRules struct {
	Decision rules.Decision
	Place    string
	Rule     *rules.Rule
	// overwrites: an allow rule explicitly names the push options that overwrite.
	overwrites bool
}

// CommandRules judges the command of a, or what is typed to a running one: that may be a
// command for a shell, so it can be asked about or forbidden, but not allowed.
func (s State) CommandRules(a Action) (ByRules, *Refusal) {
	text := a.Command
	switch a.Kind {
	case word.KindCommand:
	case word.KindInput:
		text = a.Input
	case word.KindServer:
		return s.toolRules(a.Server)
	default:
		return ByRules{}, nil
	}
	j := s.Rules.Command(text)
	if a.Kind == word.KindCommand && j.Decision != rules.Forbid {
		if refusal := s.placed(a, j); refusal != nil {
			return ByRules{}, refusal
		}
	}
	if j.Rule == nil || j.Decision == rules.Allow && a.Kind == word.KindInput {
		return ByRules{}, nil
	}
	by := ByRules{Decision: j.Decision, Place: fmt.Sprintf("%s:%d", Show(j.Rule.File), j.Rule.Line), Rule: j.Rule}
	by.overwrites = j.Decision == rules.Allow && overwritesByRule(j.Parts)
	if j.Decision == rules.Forbid {
		return by, refuse("the rule at %s forbids this: %s", by.Place, short.Cut(j.Rule.Reason, MaxReason))
	}
	return by, nil
}

// placed refuses a command that was planned for another backend than the rules choose now.
func (s State) placed(a Action, j rules.Judgement) *Refusal {
	name, refusal := s.BackendBy(j, a.Wish)
	switch {
	case refusal != nil:
		return refusal
	case name != a.Backend:
		return refuse("the rules changed meanwhile, and with them the backend of this command: make the call again")
	case name != "" && s.Helper: // it could meet programs of the session there
		return refuse("a rule sends this to the backend %s, where helpers run nothing", Show(name))
	}
	return nil
}

// BackendBy returns the backend that rules choose for a command with that wish; "" is that of the session, or none: what
// runs without a sandbox runs in no backend.
func (s State) BackendBy(j rules.Judgement, w Wish) (string, *Refusal) {
	switch {
	case j.Backend == nil, w.Unsandboxed, s.Unconfined:
		return "", nil
	case j.Other != nil:
		return "", &Refusal{
			Reason: fmt.Sprintf("rules send parts of this line to different backends (%s:%d and %s:%d)", Show(j.Backend.File), j.Backend.Line, Show(j.Other.File), j.Other.Line),
			Advice: "Make it two calls.",
		}
	case j.Backend.Backend == s.Backend:
		return "", nil
	}
	return j.Backend.Backend, nil
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
func (s State) ruled(base sandbox.Policy, a Action) (sandbox.Policy, Want, []string, *Refusal) {
	w, edited, refusal := s.Wanted(base, a)
	if refusal != nil {
		return base, w, edited, refusal
	}
	opened := s.Opened(base, w.Grant, a.Kind == word.KindFetch)
	if opened.Empty() || s.Blocked(base, opened) != "" && a.Kind != word.KindFetch {
		return base, w, edited, nil
	}
	base = base.With(opened)
	w, edited, refusal = s.Wanted(base, a)
	return base, w, edited, refusal
}

// Opened returns the part of a wanted grant that rules allow. A rule for a folder opens the same as
// a grant of the folder: a protected file in it needs its own rule. fetch: the grant is for a
// fetch.
func (s State) Opened(base sandbox.Policy, wanted sandbox.Grant, fetch bool) (out sandbox.Grant) {
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
		if s.Rules.Host(h, fetch) {
			out.Hosts = append(out.Hosts, h)
		}
	}
	return s.open(out, fetch)
}

// ruledRoot returns the path of the rule that allows an access to p, "" for none. A path with a
// link on it counts for nothing: a command may have made the link.
func (s State) ruledRoot(access rules.Access, p string) string {
	root := s.Rules.Path(access, p)
	if root == "" || !s.Places.Unmoved(root) {
		return ""
	}
	return root
}

// Openable rejects rules that a person may write by hand but an answer may not save. Such a rule
// opens something that no question can grant, or its text shows less than it opens. shown is the
// grant in the question.
func (s State) Openable(shown sandbox.Grant, r *rules.Rule) *Refusal {
	at, base := s.Places, s.Policy
	if r.Decision != rules.Allow {
		return refuse("an answer saves only rules that allow")
	}
	if len(r.Words) > 0 {
		for _, name := range r.Words[0] {
			if why := rules.Runs(append([]string{name}, slices.Concat(r.Words[1:]...)...)); why != "" {
				return refuse("%s", why)
			}
		}
	}
	for _, p := range r.Paths {
		if refusal := at.Unclear(p, p); refusal != nil {
			return refusal
		}
		if refusal := at.RefusePath(base, p, p); refusal != nil {
			return refusal
		}
		switch j := base.JudgeWrite(p); {
		case !at.Unmoved(p):
			return refuse("%s leads through a link", Show(p))
		case r.Access == rules.Write && !j.Allowed && j.Kind == sandbox.KindProtected:
			return refuse("%s is protected (%s)", Show(p), j.Why())
		case !base.JudgeRead(p).Allowed && len(readWarnings(base, p)) > 0:
			return refuse("%s is closed to reading by deny_read", Show(p))
		}
	}
	for _, h := range r.Hosts {
		if words := ownPlace(h.Host); words != "" && !slices.Contains(shown.Hosts, h) {
			return refuse("%s is %s, and was not asked for", h.Host, words)
		}
	}
	return nil
}
