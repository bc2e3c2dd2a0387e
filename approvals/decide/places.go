package decide

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"codeagent/sandbox"
	"codeagent/sandbox/named"
)

// Places is what the gate saw of the file system before a decision: where each name led that the
// decision is about, and what was there. What the gate did not look at is refused.
type Places struct {
	// Home and Workspace are canonical; Written is the home folder as the settings name it.
	Home, Workspace, Written string
	// Seen is by absolute name, as Name returns it.
	Seen map[string]Place
}

// Place is the canonical path that a name leads to, and whether something, or a folder, is there. Err
// says why that is not known.
type Place struct {
	Path           string
	Exists, Folder bool
	Err            error
}

// Name returns the absolute name of raw, relative to folder. It may contain every character except NUL:
// what is allowed already needs no question, whatever its name.
func (at Places) Name(folder, raw string) (string, *Refusal) {
	switch {
	case raw == "" || len(raw) > MaxEntry || strings.ContainsRune(raw, 0):
		return "", PlainText(raw)
	case path.IsAbs(raw):
		return raw, nil
	case !strings.HasPrefix(raw, "~"):
		if !path.IsAbs(folder) {
			return "", refuse("path %q: the folder %q it is relative to is not absolute", raw, folder)
		}
		return folder + "/" + raw, nil
	case raw != "~" && !strings.HasPrefix(raw, "~/"):
		return "", refuse("path %q: only ~ and ~/… are understood; write the absolute path", raw)
	case at.Written == "":
		return "", refuse("path %q: the home folder is not known here; write the absolute path", raw)
	}
	return at.Written + raw[1:], nil
}

// Canonical returns the path that raw leads to.
func (at Places) Canonical(folder, raw string) (string, *Refusal) {
	name, refusal := at.Name(folder, raw)
	if refusal != nil {
		return "", refusal
	}
	place, ok := at.Seen[name]
	switch {
	case !ok:
		return "", refuse("path %q was not looked at", raw)
	case place.Err != nil:
		return "", refuse("%v", place.Err)
	case len(place.Path) > MaxEntry:
		return "", refuse("path %q… is longer than %d bytes", place.Path[:64], MaxEntry)
	}
	return place.Path, nil
}

// Unclear refuses a question about p, the target of raw, if a person could not see what would
// be granted.
func (at Places) Unclear(raw, p string) *Refusal {
	for _, s := range []string{raw, p} {
		if r := PlainText(s); r != nil {
			return r
		}
	}
	if strings.ContainsAny(raw, "*?") && !at.Seen[p].Exists {
		return refuse("path %q: patterns are not understood; name the folder itself", raw)
	}
	return nil
}

// RefusePath refuses what must never be granted, whoever asks.
func (at Places) RefusePath(base sandbox.Policy, raw, p string) *Refusal {
	if p == "/" {
		return refuse("path %q is the root of the file system: everything would be open; ask for the folder you need", raw)
	}
	if at.Home != "" && foldCovers(p, at.Home) {
		return refuse("path %q is the home folder or holds it: nearly everything would be open; ask for the folder or file you need", raw)
	}
	for _, own := range base.Protected.Own {
		if foldCovers(own, p) {
			return refuse("path %q belongs to codeagent itself and is never opened", raw)
		}
		if foldCovers(p, own) {
			return refuse("path %q holds %q, which belongs to codeagent itself and is never opened; ask for something below it", raw, own)
		}
	}
	return nil
}

// foldCovers is sandbox.Covers without regard to case: some file systems ignore case, and the
// safe error is to refuse.
func foldCovers(root, p string) bool {
	return sandbox.Covers(strings.ToLower(root), strings.ToLower(p))
}

// Unmoved reports whether p leads to itself: no link is on the way.
func (at Places) Unmoved(p string) bool {
	place, ok := at.Seen[p]
	return ok && path.IsAbs(p) && path.Clean(p) == p && place.Err == nil && place.Path == p
}

// Standing returns the part of a grant whose paths still lead where they did when they were
// shown: a path that has become a link, or leads through one, is left out.
func (at Places) Standing(grant sandbox.Grant) sandbox.Grant {
	same := func(paths []string) []string {
		return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !at.Unmoved(p) })
	}
	grant.Write, grant.Read, grant.Sockets = same(grant.Write), same(grant.Read), same(grant.Sockets)
	return grant
}

// HeldNames lists what a decision about a refused access to target asks about.
func HeldNames(target string) []string {
	names := []string{target, path.Dir(target)}
	if cache, ok := sandbox.CacheOf(target); ok {
		names = append(names, cache, path.Join(cache, "bin"))
	}
	return names
}

// Tree returns the deepest path that the command of a names at or above p, if something of given lies there, too.
func (at Places) Tree(a Action, p string, given []sandbox.Grant) (tree string) {
	if len(given) == 0 {
		return ""
	}
	for _, name := range named.Read(a.Command, a.Folder, at.Written, nil).Paths() {
		if name != "/" && sandbox.Covers(name, p) {
			tree = name // of two such, the longer one sorts last
		}
	}
	if tree != "" && !slices.ContainsFunc(given, func(g sandbox.Grant) bool {
		return slices.ContainsFunc(g.Write, func(q string) bool { return sandbox.Covers(tree, q) })
	}) {
		return ""
	}
	return tree
}

// around returns what to ask for when a write of p is refused to a command that was granted given: p, or its folder if
// something else in there was granted and the command does not name p, or the folder that the command names if something
// else below that was granted. Such names change from run to run, or come to light one after the other, and a question for
// each would have no end. A folder that must not be opened as a whole is not asked for; then why is the reason.
func (s State) around(base sandbox.Policy, a Action, p string, given []sandbox.Grant) (place, why string) {
	dir, sibling := path.Dir(p), false
	for _, g := range given {
		if sandbox.CoveredBy(g.Write, p) {
			return p, ""
		}
		sibling = sibling || slices.ContainsFunc(g.Write, func(q string) bool { return path.Dir(q) == dir })
	}
	if !sibling || strings.Contains(a.Command, path.Base(p)) {
		dir = s.Places.Tree(a, p, given)
	}
	if dir == p || !s.Places.Seen[dir].Folder {
		return p, ""
	}
	switch {
	case s.Places.RefusePath(base, dir, dir) != nil, base.JudgeWrite(dir).Kind == sandbox.KindProtected, !s.Places.Unmoved(dir):
		return p, Show(dir) + " is not opened as a whole: the next run may be refused another name in it"
	case slices.ContainsFunc(s.Path, func(programs string) bool { return sandbox.Covers(dir, programs) }):
		return p, Show(dir) + " is not opened as a whole: programs are looked for in it"
	}
	return dir, ""
}

// heldPlace returns what to ask for when a write of target is held: target, or the cache that
// contains it. A tool continues to write to its cache, and a question for each file would be
// answered without being read. The cache must exist: an absent name could become anything. It
// must hold no programs, since someone would run them.
func (at Places) heldPlace(target string) string {
	cache, ok := sandbox.CacheOf(target)
	bin, looked := at.Seen[path.Join(cache, "bin")]
	if ok && at.Seen[cache].Folder && at.Unmoved(cache) && looked && bin.Err == nil && !bin.Exists {
		return cache
	}
	return target
}

func (at Places) writeWarnings(base sandbox.Policy, p string) []string {
	var out []string
	switch j := base.Reopened().JudgeWrite(p); j.Kind {
	case sandbox.KindProtected:
		out = append(out, fmt.Sprintf("%s is protected: %s", Show(p), j.Why()))
	case sandbox.KindRead:
		out = append(out, fmt.Sprintf("%s is closed to reading by deny_read (%s)", Show(p), j.Rule))
	}
	if at.Seen[p].Folder {
		where := ""
		if at.Workspace != "" && !sandbox.Covers(at.Workspace, p) {
			where = " outside the workspace"
		}
		out = append(out, fmt.Sprintf("%s is a folder%s: everything in it becomes writable", Show(p), where))
	}
	return out
}
