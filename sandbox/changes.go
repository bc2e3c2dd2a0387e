package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// Changes is what a command has changed, as far as it was reported to a ChangeObserver. The zero
// value says that nothing is known to have changed.
type Changes struct {
	// List has each path once, in the order of paths; More counts those that it has no
	// room for.
	List []Change
	More int
	// Partial: not all that was reported could be noted.
	Partial bool
}

// Change is one path that is not what it was.
type Change struct {
	// Path is canonical, and as hostile as what the command chose; a folder's ends with
	// a slash. A folder that was made or taken away stands for all that is below it.
	Path string
	Kind ChangeKind
}

// Took reports whether path was in a folder that is taken away: what became of it
// before is nothing to tell any more.
func (ch Change) Took(path string) bool {
	return ch.Kind == Deleted && strings.HasSuffix(ch.Path, "/") && path != ch.Path && strings.HasPrefix(path, ch.Path)
}

// ChangeKind is what became of a path.
type ChangeKind string

// Kinds of a Change.
const (
	Added   ChangeKind = "add"
	Updated ChangeKind = "update"
	Deleted ChangeKind = "delete"
	// Moved: only a patch says that a file got another path.
	Moved ChangeKind = "move"
)

// Then is what two changes of one path are together, "" for none.
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

// A command chooses how many paths it changes and how long they are.
const (
	maxChanges     = 300
	maxChangeBytes = 32 << 10
)

// None reports that nothing is known to have changed.
func (c *Changes) None() bool { return len(c.List) == 0 && c.More == 0 && !c.Partial }

// Add adds a change that came after those that c has. Once there was no room for
// one, those that follow are counted alone.
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

// Join adds all of later, which came after c.
func (c *Changes) Join(later Changes) {
	for _, ch := range later.List {
		c.Add(ch)
	}
	c.More += later.More
	c.Partial = c.Partial || later.Partial
}

// Names names at most so many of what changed for a person, each with what became of
// it, relative to folder where it lies below. What is named is not made harmless.
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

// Words is one line of at most so many Names: "a.go, b.go (deleted), dir/ (new) and
// 3 more".
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
