package draft

import (
	"bytes"
	"path/filepath"

	"znkr.io/diff"

	"codeagent/sandbox"
)

// Chosen returns the changes of list that yes chooses, with the folders that they need: a new folder for what is
// chosen in it, a deleted one if all in it was chosen. yes is asked about a folder only if nothing else in it changed.
func Chosen(list []Change, yes func(Change) (Change, bool)) (out []Change) {
	has := map[string]bool{} // folders with changes in them
	for _, c := range list {
		for dir := filepath.Dir(c.Path); !has[dir]; dir = filepath.Dir(dir) {
			has[dir] = true
		}
	}
	var folders []Change
	asked, chosen := map[string]int{}, map[string]int{} // by folder
	count := func(n map[string]int, c Change) {
		for dir := filepath.Dir(c.Path); ; dir = filepath.Dir(dir) {
			if n[dir]++; dir == "/" {
				break
			}
		}
	}
	for _, c := range list {
		if c.Type == "folder" && has[c.Path] {
			folders = append(folders, c)
			continue
		}
		count(asked, c)
		if c, ok := yes(c); ok {
			out = append(out, c)
			count(chosen, c)
		}
	}
	for _, f := range folders {
		if n := chosen[f.Path]; n == asked[f.Path] || n > 0 && f.Kind != sandbox.Deleted {
			out = append(out, f)
		}
	}
	return out
}

// Hunk is a part of the change of a text file.
type Hunk struct {
	// Old and New are the lines on each side, each with its end, and At the number of the first old one.
	At       int
	Old, New []string
	from, to int // in the old lines
}

// Hunks takes the change from old to now apart, at places where lines between two changes are the same.
func Hunks(old, now []byte) (out []Hunk) {
	a, b := lines(old), lines(now)
	for _, h := range diff.Hunks(a, b, diff.Context(0)) {
		out = append(out, Hunk{At: h.PosX + 1, Old: a[h.PosX:h.EndX], New: b[h.PosY:h.EndY], from: h.PosX, to: h.EndX})
	}
	return out
}

func lines(text []byte) (out []string) {
	for l := range bytes.Lines(text) {
		out = append(out, string(l))
	}
	return out
}

// Part returns c with only those of hunks, the Hunks from old, for which yes holds.
func (c Change) Part(old []byte, hunks []Hunk, yes []bool) Change {
	a := lines(old)
	c.part = []byte{}
	at := 0
	take := func(ls []string) {
		for _, l := range ls {
			c.part = append(c.part, l...)
		}
	}
	for i, h := range hunks {
		take(a[at:h.from])
		if yes[i] {
			take(h.New)
		} else {
			take(h.Old)
		}
		at = h.to
	}
	take(a[at:])
	return c
}
