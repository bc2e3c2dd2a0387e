package sandbox

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"codeagent/sandbox/protect"
)

// Judgement is a policy's decision on one access, with the rule that decided.
type Judgement struct {
	Allowed bool
	// Kind is the denial's kind if the access is not allowed.
	Kind DenialKind
	// Rule is what decided: a root, a protected path, "outside every write root".
	Rule string
	// Reason says of a protected path which program runs or trusts it, and when; empty if that
	// is not known.
	Reason string
	// Locked is the protected file whose lock the path is; empty if it is no lock. Who may change
	// the file may make its lock.
	Locked string
	// Final means that the access is not allowed and that no grant changes that. Rule then says
	// why.
	Final bool
}

// Why says why the access is not allowed: the reason, or else the rule.
func (j Judgement) Why() string { return cmp.Or(j.Reason, j.Rule) }

// hiddenRule is the Rule for what Protected.Hidden names.
const hiddenRule = "codeagent's own records, which no command may read"

// JudgeWrite decides whether a command under p may change the canonical path. It is a pure
// reimplementation of what the kernel enforces; a verdict checks named paths with it.
func (p Policy) JudgeWrite(target string) Judgement {
	if p.Unconfined {
		return Judgement{Allowed: true, Rule: "unconfined"}
	}
	if rule, denied := p.deniesRead(target); denied {
		return Judgement{Kind: KindRead, Rule: rule}
	}
	for _, own := range p.Protected.Own {
		if protect.Covers(own, target) {
			return Judgement{Kind: KindProtected, Rule: own}
		}
	}
	root, ok := p.deepest(target)
	if !ok {
		return Judgement{Kind: KindWrite, Rule: "outside every write root"}
	}
	rule, reason, ok := p.protects(root, target)
	switch {
	case !ok:
		if file, is := protect.LockOf(target); is && p.isRoot(file) {
			return Judgement{Allowed: true, Rule: file}
		}
		return Judgement{Allowed: true, Rule: root.Path}
	case protect.Locks(rule, target):
		return Judgement{Kind: KindProtected, Rule: rule, Reason: reason, Locked: rule}
	}
	return Judgement{Kind: KindProtected, Rule: rule, Reason: reason}
}

// JudgeInOwn is JudgeWrite for a path in a repository that the session made: what version control
// runs there is the session's.
func (p Policy) JudgeInOwn(target string) Judgement {
	p.Protected.Names = protect.OutsideRepositories(p.Protected.Names)
	return p.JudgeWrite(target)
}

// JudgeTracked is JudgeWrite for content that a person's own repository brings: the names of agents, editors
// and shells do not protect from it.
func (p Policy) JudgeTracked(target string) Judgement {
	p.Protected.Names = protect.Untracked(p.Protected.Names)
	return p.JudgeWrite(target)
}

// protects returns the path in root that protects target, and why: target itself, a folder above
// it, or the file whose lock it is. A root at or below the protected path was granted deliberately,
// and the lock with it.
func (p Policy) protects(root Root, target string) (rule, reason string, ok bool) {
	granted := func(file string) bool {
		return p.isRoot(file) && (root.Path == file || protect.Locks(file, target))
	}
	for _, protected := range p.Protected.Paths {
		if Covers(root.Path, protected) && protect.Covers(protected[len(root.Path):], target[len(root.Path):]) && !granted(protected) {
			return protected, p.Protected.Reasons[protected], true
		}
	}
	if root.Origin == FromTemp { // no program reads settings from there
		return "", "", false
	}
	project := root.Path
	if root.Origin == FromGrant {
		project = p.project(target)
	}
	row, rule, ok := protect.Find(p.Protected.Names, root.Path, project, target)
	if !ok || granted(rule) {
		return "", "", false
	}
	return rule, row.Reason, true
}

// project is the deepest root around target that a person opened. A path that was only granted does not count.
func (p Policy) project(target string) (deepest string) {
	for r := range p.roots {
		if r.Origin != FromGrant && len(r.Path) > len(deepest) && Covers(r.Path, target) {
			deepest = r.Path
		}
	}
	return deepest
}

// InPackages reports whether target lies where names of agents, editors and shells are data.
func (p Policy) InPackages(target string) bool { return protect.InPackages(p.project(target), target) }

// isRoot reports whether path itself is a write root.
func (p Policy) isRoot(path string) bool {
	root, _ := p.deepest(path)
	return root.Path == path
}

// JudgeRead decides whether a command under p may read the canonical path.
func (p Policy) JudgeRead(target string) Judgement {
	if p.Unconfined {
		return Judgement{Allowed: true, Rule: "unconfined"}
	}
	if CoveredBy(p.Protected.Hidden, target) {
		return Judgement{Kind: KindRead, Rule: hiddenRule, Final: true}
	}
	if rule, denied := p.deniesRead(target); denied {
		return Judgement{Kind: KindRead, Rule: rule}
	}
	if len(p.Read) == 0 {
		return Judgement{Allowed: true, Rule: "everything is readable"}
	}
	for _, root := range p.Read {
		if Covers(root.Path, target) {
			return Judgement{Allowed: true, Rule: root.Path}
		}
	}
	if root, ok := p.deepest(target); ok {
		return Judgement{Allowed: true, Rule: root.Path}
	}
	return Judgement{Kind: KindRead, Rule: "outside every read root"}
}

// JudgeHost decides whether a command under p may connect to h. Without a port h is a lookup, which
// is part of every connection to that name. What deny_hosts names is denied first.
func (p Policy) JudgeHost(h HostPort) Judgement {
	if i := slices.IndexFunc(p.Network.Deny, func(d HostPort) bool { return d.denies(h) }); i >= 0 {
		return Judgement{Kind: KindNetwork, Rule: "deny_hosts names it (" + p.Network.Deny[i].String() + ")", Final: true}
	}
	switch {
	case p.Unconfined || p.Network.Mode == NetworkFull:
		return Judgement{Allowed: true, Rule: "full network"}
	case p.Network.Mode == NetworkAllow && Allowed(p.Network.Hosts, h):
		return Judgement{Allowed: true, Rule: h.String()}
	}
	return Judgement{Kind: KindNetwork, Rule: "no network"}
}

func (p Policy) deniesRead(target string) (string, bool) {
	for _, entry := range p.DenyRead {
		if Covers(entry, target) {
			return entry, true
		}
	}
	return GlobAround(p.DenyGlobs, target)
}

// GlobAround returns the first of globs that covers target.
func GlobAround(globs []string, target string) (string, bool) {
	for _, glob := range globs {
		// A glob with a bracket may also be the literal name of a file.
		if Covers(glob, target) || globCovers(glob, target) {
			return glob, true
		}
	}
	return "", false
}

// IsGlob reports whether an entry of the setting deny_read is a glob and not an exact path.
func IsGlob(entry string) bool { return strings.ContainsAny(entry, "*?[") }

// globCovers reports whether glob matches target or one of its ancestors. "**" stands for any
// number of components; a glob without a leading slash matches at any depth. The matcher goes
// through the target once for each pattern component and never backtracks, so the work is bounded
// by the product of the two lengths.
func globCovers(glob, target string) bool {
	if !strings.HasPrefix(glob, "/") && !strings.HasPrefix(glob, "**/") {
		glob = "**/" + glob
	}
	parts := strings.Split(strings.Trim(target, "/"), "/")
	// reached[n] means that the pattern so far matches exactly parts[:n].
	reached := make([]bool, len(parts)+1)
	reached[0] = true
	for component := range strings.SplitSeq(strings.Trim(glob, "/"), "/") {
		next := make([]bool, len(parts)+1)
		for n := range next {
			switch {
			case component == "**":
				next[n] = reached[n] || n > 0 && next[n-1]
			case n > 0 && reached[n-1]:
				ok, err := path.Match(component, parts[n-1])
				next[n] = err == nil && ok
			}
		}
		reached = next
	}
	return slices.Contains(reached[1:], true)
}
