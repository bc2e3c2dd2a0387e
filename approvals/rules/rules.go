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
//	[[command]]
//	words    = ["cargo"]
//	backend  = "rust"                               # runs in this backend of config.toml, and decides nothing
//
//	[[path]]                                        # paths and hosts can only be allowed
//	project  = "~/src/app"                          # every rule: only there; expires = 2026-12-31: only until then
//	paths    = ["~/notes"]
//	access   = "write"                              # write or read
//
//	[[host]]
//	hosts    = ["registry.npmjs.org:443"]
//	access   = "fetch"                              # to fetches alone; left out: to commands too
//
//	[[tool]]                                        # a tool of an MCP server
//	tool      = "github__create_issue"              # github__* is all of the server
//	decision  = "allow"                             # allow, ask or forbid
//	described = "1f0c…"                             # an allow: only while the server describes the tool so
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

	"mvdan.cc/sh/v3/syntax"
)

// Decision is what a rule says.
type Decision string

// Decisions, from the least strict to the strictest. No rule means None,
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
	// Decision is that of a rule for commands; paths and hosts can only be allowed.
	Decision Decision
	// Reason is what the model reads when the rule forbids something.
	Reason string
	// Expires is when the rule ends; zero: never.
	Expires time.Time
	// Project, if set, limits the rule to this folder and the folders below it.
	Project string
	// Words are the first words of a command; each lists its alternatives. Exact: the command has no
	// further words.
	Words [][]string
	Exact bool
	// Backend, if set, is where the commands run. Such a rule has no decision.
	Backend string
	// Paths are absolute, and Access is what is allowed there. Hosts have a port.
	Paths  []string
	Access Access
	Hosts  []sandbox.HostPort
	// Tool is a tool of an MCP server, "NAME__tool" or "NAME__*". If Described is set, the rule
	// applies only while the server describes the tool so: see ToolCall.
	Tool, Described string
}

// Access is the kind of access to a path or host.
type Access string

// Accesses of a rule.
const (
	Read  Access = "read"
	Write Access = "write"
	// Fetch opens hosts to fetches of pages, but not to commands.
	Fetch Access = "fetch"
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

// In returns the rules that apply in a session with the canonical workspace folder. canonical
// resolves a project's path. A rule whose project leads through a link may ask or forbid, but not
// allow or choose a backend, because a command may have made the link.
func (s *Set) In(folder string, canonical func(path string) string) *Set {
	return Join(slices.DeleteFunc(slices.Clone(s.Rules()), func(r *Rule) bool {
		return r.Project != "" && !sandbox.Covers(r.Project, folder) &&
			(!r.Decision.Stricter(None) || !sandbox.Covers(canonical(r.Project), folder))
	}))
}

// At returns the rules that have not expired at a time.
func (s *Set) At(now time.Time) *Set {
	if !slices.ContainsFunc(s.Rules(), func(r *Rule) bool { return !r.Holds(now) }) {
		return s
	}
	return Join(slices.DeleteFunc(slices.Clone(s.all), func(r *Rule) bool { return !r.Holds(now) }))
}

// Holds reports whether the rule has not expired.
func (r *Rule) Holds(now time.Time) bool { return r.Expires.IsZero() || now.Before(r.Expires) }

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
	// Opaque says why no rule can allow the command; empty if one could.
	Opaque string
	Parts  []Part
	// Backend is the rule that chooses a backend, nil: none does. Other is one that chooses another backend for the
	// same line.
	Backend, Other *Rule
}

// Command judges a command line for bash.
func (s *Set) Command(line string) Judgement {
	if s == nil || len(s.first) == 0 {
		return Judgement{}
	}
	parsed, opaque := ParseLine(line)
	plain, opaque := plainOf(parsed, opaque)
	j := Judgement{Opaque: opaque}
	s.permit(&j, plain)
	s.restrict(&j, line, parsed)
	s.place(&j, line, parsed)
	return j
}

// place chooses the backend of the line: by the longest rule for each program that the line itself names, wherever it
// stands there. What a program starts stays where that runs.
func (s *Set) place(j *Judgement, line string, parsed *syntax.File) {
	if len(line) > MaxLine || !slices.ContainsFunc(s.all, func(r *Rule) bool { return r.Backend != "" }) {
		return
	}
	if parsed == nil {
		parsed, _ = parse(line) // what was read before an error counts
	}
	syntax.Walk(parsed, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		var found *Rule
		words := wordsOf(call)
		for _, r := range s.begun(words[0]) {
			if r.Backend != "" && words[0] != unknown && mayBegin(r.Words, words) && (found == nil || len(r.Words) > len(found.Words)) {
				found = r
			}
		}
		switch {
		case found == nil:
		case j.Backend == nil:
			j.Backend = found
		case j.Backend.Backend != found.Backend:
			j.Other = found
		}
		return true
	})
}

// permit allows the judgement if each part is allowed.
func (s *Set) permit(j *Judgement, plain [][]string) {
	denied := false
	for _, words := range plain {
		r, why := s.allow(words)
		if j.Opaque == "" {
			j.Opaque = why
		}
		j.Parts = append(j.Parts, Part{Words: words, Rule: r})
		switch {
		case r == nil:
			denied = denied || !changesFolder(words)
		case j.Rule == nil:
			j.Rule = r
		}
	}
	if denied || j.Rule == nil {
		j.Rule = nil
		return
	}
	j.Decision = Allow
}

// changesFolder reports "cd FOLDER". It needs no rule: no rule depends on the folder.
func changesFolder(words []string) bool {
	return len(words) == 2 && words[0] == "cd" && words[1] != "" && words[1][0] != '-'
}

// allow returns the longest rule that allows words; of equally long rules the first. A rule does
// not apply if the words after its own words could start another program. If that leaves no rule,
// why names such a word.
func (s *Set) allow(words []string) (found *Rule, why string) {
	for _, r := range s.first[words[0]] {
		if r.Decision != Allow || !r.begins(words) || found != nil && len(r.Words) <= len(found.Words) {
			continue
		}
		if hides := hidden(words, len(r.Words)); hides != "" {
			why = hides
			continue
		}
		found = r
	}
	if found != nil {
		why = ""
	}
	return found, why
}

// restrict applies the asks and forbids to whatever the line may start.
func (s *Set) restrict(j *Judgement, line string, parsed *syntax.File) {
	i := slices.IndexFunc(s.all, func(r *Rule) bool { return len(r.Words) > 0 && r.Decision.Stricter(None) })
	if i < 0 {
		return
	}
	whole := eachProgram(line, parsed, func(words []string, inside bool) {
		for at := range words {
			if r := s.strictest(words[at:], at == 0); r != nil {
				j.note(Part{Words: words[at:], Rule: r, Inside: inside || at > 0})
			}
		}
	})
	if !whole && !j.Decision.Stricter(None) {
		// It is not known what the line starts, and there is something that it must not start.
		j.Decision, j.Rule = Ask, s.all[i]
	}
}

// strictest returns the strictest ask or forbid for words. program: the first of them is a
// program's name, also if it is unknown.
func (s *Set) strictest(words []string, program bool) (found *Rule) {
	candidates := s.begun(words[0])
	if words[0] == unknown && program {
		candidates = slices.DeleteFunc(slices.Clone(s.all), func(r *Rule) bool { return len(r.Words) < 2 })
	}
	for _, r := range candidates {
		if r.Decision.Stricter(None) && mayBegin(r.Words, words) && (found == nil || r.Decision.Stricter(found.Decision)) {
			found = r
		}
	}
	return found
}

// begun returns the rules whose first word is a program's name, or the last part of its path.
func (s *Set) begun(program string) []*Rule {
	if name := base(program); name != program {
		return slices.Concat(s.first[name], s.first[program])
	}
	return s.first[program]
}

// mayBegin reports whether words may begin a command of the rule: options may stand between
// the rule's words, each with an argument, and an unknown word may be any. The first word is
// compared by the last part of its path.
func mayBegin(rule [][]string, words []string) bool {
	if !slices.Contains(rule[0], base(words[0])) && !slices.Contains(rule[0], words[0]) && words[0] != unknown {
		return false
	}
	// at[i]: the rule's words so far may end before words[i].
	at := make([]bool, len(words)+2)
	at[1] = true
	for _, alternatives := range rule[1:] {
		next := make([]bool, len(words)+2)
		for i, word := range words {
			if !at[i] {
				continue
			}
			option := len(word) > 1 && word[0] == '-'
			if option || word == unknown {
				at[i+1], at[i+2] = true, true
			}
			if word == unknown || slices.Contains(alternatives, word) {
				next[i+1] = true
			}
		}
		at = next
	}
	return slices.Contains(at, true)
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

// begins reports whether words begin with the rule's words.
func (r *Rule) begins(words []string) bool {
	if len(words) < len(r.Words) || r.Exact && len(words) > len(r.Words) {
		return false
	}
	for i, alternatives := range r.Words {
		if !slices.Contains(alternatives, words[i]) {
			return false
		}
	}
	return true
}

// Path returns the root of a rule that allows an access to an absolute, clean path, the most
// exact one; "" if none does. To allow writing is also to allow reading.
func (s *Set) Path(access Access, path string) (root string) {
	for _, r := range s.Rules() {
		if r.Access != access && r.Access != Write {
			continue
		}
		for _, dir := range r.Paths {
			if sandbox.Covers(dir, path) && len(dir) > len(root) {
				root = dir
			}
		}
	}
	return root
}

// Host reports whether a rule allows a fetch or a command to contact a host.
func (s *Set) Host(h sandbox.HostPort, fetch bool) bool {
	return slices.ContainsFunc(s.Rules(), func(r *Rule) bool {
		return (fetch || r.Access != Fetch) && sandbox.Allowed(r.Hosts, h)
	})
}
