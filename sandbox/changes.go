package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// Changes are the changes of a command that were reported to a ChangeObserver. The zero value means
// that no change is known.
type Changes struct {
	// List has each path once, sorted by path. More counts the paths that did not fit.
	List []Change
	More int
	// Partial means that some reported changes could not be recorded.
	Partial bool
	// Deleted and Overwritten count the files that existed before and that the session had not made,
	// except git's own files. Unkept counts those of them that undo cannot restore.
	Deleted, Overwritten, Unkept int
}

// Change is one path whose state changed.
type Change struct {
	// Path is canonical. The command chose it, so it is hostile input. A folder's path ends with a
	// slash. A folder that was added or deleted stands for everything in it.
	Path string
	Kind ChangeKind
}

// Took reports whether ch deleted a folder that contained path. Earlier changes of path are then no
// longer worth a report.
func (ch Change) Took(path string) bool {
	return ch.Kind == Deleted && strings.HasSuffix(ch.Path, "/") && path != ch.Path && strings.HasPrefix(path, ch.Path)
}

// ChangeKind is how a path changed.
type ChangeKind string

// These are the kinds of a Change.
const (
	Added   ChangeKind = "add"
	Updated ChangeKind = "update"
	Deleted ChangeKind = "delete"
	// Moved is the kind of a file with a new path; only patches report it.
	Moved ChangeKind = "move"
)

// Then combines two successive changes of one path; "" if they cancel out.
func (k ChangeKind) Then(later ChangeKind) ChangeKind {
	switch {
	case k == Added && later == Deleted:
		return ""
	case k == Added && later == Updated:
		return k
	case k == Deleted && later == Added:
		return Updated
	}
	return later
}

// CountKinds counts changes, whose kinds kind returns, in words: "2 deleted, 1 changed, 3 new".
func CountKinds[C any](changes []C, kind func(C) ChangeKind) string {
	n := map[ChangeKind]int{}
	for _, c := range changes {
		n[kind(c)]++
	}
	var out []string
	for _, one := range []struct {
		kind ChangeKind
		word string
	}{{Deleted, "deleted"}, {Updated, "changed"}, {Added, "new"}} {
		if n[one.kind] > 0 {
			out = append(out, fmt.Sprintf("%d %s", n[one.kind], one.word))
		}
	}
	return strings.Join(out, ", ")
}

// These bound the list, because a command chooses how many paths it changes and how long they are.
const (
	maxChanges     = 300
	maxChangeBytes = 32 << 10
)

// None reports that no change is known.
func (c *Changes) None() bool { return len(c.List) == 0 && c.More == 0 && !c.Partial }

// Add adds a change that happened after those in c. Once a change did not fit, Add only counts the
// following ones.
func (c *Changes) Add(ch Change) {
	if c.More > 0 {
		c.More++
		return
	}
	c.List = slices.DeleteFunc(c.List, func(was Change) bool { return ch.Took(was.Path) })
	room := maxChangeBytes - len(ch.Path)
	for i, was := range c.List {
		if was.Path != ch.Path {
			room -= len(was.Path)
			continue
		}
		if c.List[i].Kind = was.Kind.Then(ch.Kind); c.List[i].Kind == "" {
			c.List = append(c.List[:i], c.List[i+1:]...)
		}
		return
	}
	if len(c.List) == maxChanges || room < 0 {
		c.More++
		return
	}
	c.List = append(c.List, ch)
}

// Join adds all changes of later, which happened after those in c.
func (c *Changes) Join(later Changes) {
	for _, ch := range later.List {
		c.Add(ch)
	}
	c.More += later.More
	c.Partial = c.Partial || later.Partial
	c.Deleted, c.Overwritten, c.Unkept = c.Deleted+later.Deleted, c.Overwritten+later.Overwritten, c.Unkept+later.Unkept
}

// fewOverwritten is the number of overwritten files up to which Undoable treats them as an edit.
const fewOverwritten = 2

// Undoable says in one line how many files that the session had not made are gone, and which part
// undo can restore. It is empty if no file was deleted and at most two were overwritten.
func (c *Changes) Undoable() string {
	if c.Deleted == 0 && c.Overwritten <= fewOverwritten {
		return ""
	}
	var what []string
	if c.Deleted > 0 {
		what = append(what, fmt.Sprintf("deleted %s", files(c.Deleted)))
	}
	if c.Overwritten > 0 {
		what = append(what, fmt.Sprintf("overwrote %s", files(c.Overwritten)))
	}
	out := strings.Join(what, " and ") + " that this session had not made"
	switch {
	case c.Partial:
		return out + "; /undo cannot restore all of it"
	case c.Unkept == c.Deleted+c.Overwritten:
		return out + "; /undo cannot restore this"
	case c.Unkept > 0:
		return out + fmt.Sprintf("; /undo can restore all but %d of them", c.Unkept)
	}
	return out + "; /undo can restore all of it"
}

func files(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// Names returns at most the given number of changes for a user, each with its kind. A path below
// folder is relative to it. Names does not escape the paths.
func (c *Changes) Names(folder string, most int) []string {
	var out []string
	for _, ch := range c.List[:min(most, len(c.List))] {
		name, below := strings.CutPrefix(ch.Path, strings.TrimSuffix(folder, "/")+"/")
		if !below || name == "" {
			name = ch.Path
		}
		out = append(out, name+map[ChangeKind]string{Added: " (new)", Deleted: " (deleted)"}[ch.Kind])
	}
	return out
}

// Words is one line with at most the given number of Names: "a.go, b.go (deleted), dir/ (new) and 3
// more".
func (c *Changes) Words(folder string, most int) string {
	var parts []string
	names := c.Names(folder, most)
	if len(names) > 0 {
		parts = append(parts, strings.Join(names, ", "))
	}
	if more := len(c.List) - len(names) + c.More; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	if c.Partial {
		parts = append(parts, "what could not be noted")
	}
	return strings.Join(parts, " and ")
}
