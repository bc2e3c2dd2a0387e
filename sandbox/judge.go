package sandbox

import (
	"path"
	"slices"
	"strings"
)

// Judgement is a policy's decision on one access, with the rule that decided.
type Judgement struct {
	Allowed bool
	// Kind is the denial's kind if the access is not allowed.
	Kind DenialKind
	// Rule is what decided: a root, a protected name, "outside every write root".
	Rule string
	// Final means that the access is not allowed and that no grant changes that. Rule then says
	// why.
	Final bool
}

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
		if Covers(own, target) {
			return Judgement{Kind: KindProtected, Rule: own}
		}
	}
	decides, ok := p.deepest(target)
	root := decides.Path
	if !ok {
		return Judgement{Kind: KindWrite, Rule: "outside every write root"}
	}
	for _, protected := range p.Protected.Paths {
		// A root at or below the protected path was granted deliberately.
		if Covers(protected, target) && !Covers(protected, root) {
			return Judgement{Kind: KindProtected, Rule: protected}
		}
	}
	if decides.Origin != FromTemp { // no program reads settings from there
		if name, ok := p.protectedName(root, target); ok {
			return Judgement{Kind: KindProtected, Rule: name}
		}
	}
	return Judgement{Allowed: true, Rule: root}
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
// is part of every connection to that name.
func (p Policy) JudgeHost(h HostPort) Judgement {
	switch {
	case p.Unconfined || p.Network.Mode == NetworkFull:
		return Judgement{Allowed: true, Rule: "full network"}
	case p.Network.Mode == NetworkAllow && slices.ContainsFunc(p.Network.Hosts, func(open HostPort) bool {
		return open == h || h.Port == 0 && open.Host == h.Host
	}):
		return Judgement{Allowed: true, Rule: h.String()}
	}
	return Judgement{Kind: KindNetwork, Rule: "no network"}
}

// protectedName returns the protected name that covers target in the part below root. A root that
// is itself the named entry was granted and is not protected.
func (p Policy) protectedName(root, target string) (string, bool) {
	below := "/" + strings.TrimPrefix(strings.TrimPrefix(target, root), "/") + "/"
	for _, name := range p.Protected.Names {
		if strings.Contains(below, "/"+name+"/") {
			return name, true
		}
	}
	return "", false
}

func (p Policy) deniesRead(target string) (string, bool) {
	for _, entry := range p.DenyRead {
		if Covers(entry, target) {
			return entry, true
		}
	}
	for _, glob := range p.DenyGlobs {
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
