// Package rules reads the rules of rules.toml and judges commands, paths and hosts by them.
// It imports internal/short and sandbox and performs no IO: the caller reads the files. Start
// reading at Set.Command; words.go says how a command line becomes words.
//
//	[[command]]
//	words    = ["git", ["status", "diff", "log"]]   # a prefix; a list names alternatives
//	decision = "allow"                              # allow, ask or forbid
//	match    = ["git log -5"]                       # checked when the file is read
//
//	[[command]]
//	words    = ["npm", "publish"]
//	decision = "forbid"
//	reason   = "releases are made by CI"            # the model reads this
//
//	[[path]]
//	paths    = ["~/notes"]
//	access   = "write"                              # write or read
//	decision = "allow"
//
//	[[host]]
//	hosts    = ["registry.npmjs.org:443"]
//	decision = "allow"
//
// The strictest rule that matches decides. An allow needs a rule for each program of the
// command line, and never applies to a line that is not understood as a whole. A forbid or
// ask also applies to what it may start: behind wrappers, in substitutions, in scripts that
// the line contains. So nothing that is added to a command makes its judgement less strict.
package rules

import (
	"slices"
	"time"

	"codeagent/sandbox"
)

// Decision is what a rule says.
type Decision string

// Decisions, from the least strict to the strictest. Without a rule the decision is None,
// which lies between Allow and Ask: the approval policy decides.
const (
	Allow  Decision = "allow"
	None   Decision = ""
	Ask    Decision = "ask"
	Forbid Decision = "forbid"
)

// strictness orders decisions.
func (d Decision) strictness() int { return slices.Index([]Decision{Allow, None, Ask, Forbid}, d) }

// Stricter reports whether d permits less than other.
func (d Decision) Stricter(other Decision) bool { return d.strictness() > other.strictness() }

// Place is where a rule stands. Line and Column count from 1.
type Place struct {
	File         string
	Line, Column int
}

// Rule is one entry of a file.
type Rule struct {
	Place
	Decision Decision
	// Reason is what the model reads when the rule forbids something.
	Reason string
	// Expires is when the rule ends; zero: never.
	Expires time.Time
	// Words are the first words of a command; each lists its alternatives.
	Words [][]string
	// Opens is what an allowed command may access beside the policy, as it is written.
	Opens Opens
	// Unsandboxed: an allowed command may run outside the sandbox when the model asks for it.
	Unsandboxed bool
	// Paths are absolute, and Access is what the rule decides about them. Hosts have a port.
	Paths  []string
	Access Access
	Hosts  []sandbox.HostPort

	match, notMatch []string
}

// Opens lists paths, hosts and sockets as they are written in a file.
type Opens struct {
	Write   []string `toml:"write"`
	Read    []string `toml:"read"`
	Hosts   []string `toml:"hosts"`
	Sockets []string `toml:"sockets"`
}

// Empty reports whether nothing is listed.
func (o Opens) Empty() bool { return len(o.Write)+len(o.Read)+len(o.Hosts)+len(o.Sockets) == 0 }

// Access is what is done to a path.
type Access string

// Accesses of a path rule.
const (
	Read  Access = "read"
	Write Access = "write"
)

// Set is the rules that hold, of all files. It is not changed after Join.
type Set struct {
	all   []*Rule
	first map[string][]*Rule // command rules by each alternative of the first word
}

// Join makes a set of the rules of several files.
func Join(lists ...[]*Rule) *Set {
	s := &Set{all: slices.Concat(lists...), first: map[string][]*Rule{}}
	for _, r := range s.all {
		if len(r.Words) > 0 {
			for _, word := range r.Words[0] {
				s.first[word] = append(s.first[word], r)
			}
		}
	}
	return s
}

// Rules returns all rules, those of the first file first.
func (s *Set) Rules() []*Rule {
	if s == nil {
		return nil
	}
	return s.all
}

func (r *Rule) holds(now time.Time) bool { return r.Expires.IsZero() || now.Before(r.Expires) }

// Part is one program of a command line, and the rule that decides about it; nil: none.
type Part struct {
	Words []string
	Rule  *Rule
	// Inside: another part may start it, or contains it as text.
	Inside bool
}

// Judgement is what the rules say of a command.
type Judgement struct {
	Decision Decision
	// Rule is the strictest rule that decided; nil for None.
	Rule *Rule
	// Opens is what every part of an allowed command may access; a part that may access less
	// takes the rest away from all. Unsandboxed in the same way.
	Opens       Opens
	Unsandboxed bool
	// Opaque says why no rule can allow the command; empty if one could.
	Opaque string
	Parts  []Part
}

// Command judges a command line for bash at a time.
func (s *Set) Command(line string, now time.Time) Judgement {
	if s == nil || len(s.first) == 0 {
		return Judgement{}
	}
	plain, opaque := plainParts(line)
	j := Judgement{Opaque: opaque}
	s.permit(&j, plain, now)
	s.restrict(&j, line, now)
	if j.Decision != Allow {
		j.Opens, j.Unsandboxed = Opens{}, false
	}
	return j
}

// permit allows the judgement if each part is allowed.
func (s *Set) permit(j *Judgement, plain [][]string, now time.Time) {
	denied, moved := false, false
	for _, words := range plain {
		r := s.allow(words, now)
		j.Parts = append(j.Parts, Part{Words: words, Rule: r})
		switch {
		case r == nil && changesFolder(words):
			moved = true
		case r == nil:
			denied = true
		case j.Rule == nil:
			j.Rule, j.Opens, j.Unsandboxed = r, r.Opens, r.Unsandboxed
		default:
			j.Opens, j.Unsandboxed = common(j.Opens, r.Opens), j.Unsandboxed && r.Unsandboxed
		}
	}
	if denied || j.Rule == nil {
		j.Rule = nil
		return
	}
	j.Decision, j.Unsandboxed = Allow, j.Unsandboxed && !moved
}

// changesFolder reports "cd FOLDER". It needs no rule: no rule depends on the folder.
func changesFolder(words []string) bool {
	return len(words) == 2 && words[0] == "cd" && words[1] != "" && words[1][0] != '-'
}

// allow returns the longest rule that allows words, the first of equal ones.
func (s *Set) allow(words []string, now time.Time) (found *Rule) {
	for _, r := range s.first[words[0]] {
		if r.Decision == Allow && r.holds(now) && r.begins(words, false) && (found == nil || len(r.Words) > len(found.Words)) {
			found = r
		}
	}
	return found
}

// restrict applies the asks and forbids to whatever the line may start.
func (s *Set) restrict(j *Judgement, line string, now time.Time) {
	if !slices.ContainsFunc(s.all, func(r *Rule) bool { return len(r.Words) > 0 && r.Decision.Stricter(None) }) {
		return
	}
	eachProgram(line, func(words []string, inside bool) {
		for at := range words {
			r := s.strictest(words[at:], at == 0, now)
			if r == nil {
				continue
			}
			j.note(Part{Words: words[at:], Rule: r, Inside: inside || at > 0})
		}
	})
}

// strictest returns the strictest ask or forbid for words. atStart: words are all words of a
// program, so that an unknown first one may be any program.
func (s *Set) strictest(words []string, atStart bool, now time.Time) (found *Rule) {
	candidates := s.first[base(words[0])]
	if words[0] == unknown {
		if !atStart || len(words) < 2 {
			return nil
		}
		candidates = s.all
	}
	for _, r := range candidates {
		if len(r.Words) > 0 && r.Decision.Stricter(None) && r.holds(now) && r.begins(words, true) && (found == nil || r.Decision.Stricter(found.Decision)) {
			found = r
		}
	}
	return found
}

// note adds a part that a restricting rule decides about.
func (j *Judgement) note(p Part) {
	same := func(known Part) bool { return known.Rule == p.Rule || slices.Equal(known.Words, p.Words) }
	if i := slices.IndexFunc(j.Parts, same); i < 0 {
		j.Parts = append(j.Parts, p)
	} else if !p.Inside {
		j.Parts[i] = p
	}
	if p.Rule.Decision.Stricter(j.Decision) {
		j.Decision, j.Rule = p.Rule.Decision, p.Rule
	}
}

// begins reports whether words begin with the rule's words. maybe: an unknown word may be any,
// and a program is compared by the last part of its path.
func (r *Rule) begins(words []string, maybe bool) bool {
	if len(words) < len(r.Words) {
		return false
	}
	for i, alternatives := range r.Words {
		word := words[i]
		if maybe && i == 0 {
			word = base(word)
		}
		if !slices.Contains(alternatives, word) && (!maybe || word != unknown) {
			return false
		}
	}
	return true
}

// common returns what both lists contain.
func common(a, b Opens) Opens {
	both := func(a, b []string) (out []string) {
		for _, s := range a {
			if slices.Contains(b, s) {
				out = append(out, s)
			}
		}
		return out
	}
	return Opens{both(a.Write, b.Write), both(a.Read, b.Read), both(a.Hosts, b.Hosts), both(a.Sockets, b.Sockets)}
}

// Path judges an access to an absolute, clean path. An allow or a forbid of a folder includes
// all paths in it; an allow to write includes reading.
func (s *Set) Path(access Access, path string, now time.Time) (Decision, *Rule) {
	return s.strict(now, func(r *Rule) bool {
		same := r.Access == access || r.Decision == Allow && r.Access == Write || r.Decision != Allow && r.Access == Read
		return same && slices.ContainsFunc(r.Paths, func(root string) bool {
			return sandbox.Covers(root, path) || r.Decision != Allow && sandbox.Covers(path, root)
		})
	})
}

// Host judges a contact with a host.
func (s *Set) Host(h sandbox.HostPort, now time.Time) (Decision, *Rule) {
	return s.strict(now, func(r *Rule) bool { return slices.Contains(r.Hosts, h) })
}

// strict returns the strictest rule that holds and matches.
func (s *Set) strict(now time.Time, matches func(*Rule) bool) (Decision, *Rule) {
	var found *Rule
	for _, r := range s.Rules() {
		if r.holds(now) && matches(r) && (found == nil || r.Decision.Stricter(found.Decision)) {
			found = r
		}
	}
	if found == nil {
		return None, nil
	}
	return found.Decision, found
}
