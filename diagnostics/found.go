package diagnostics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"codeagent/internal/short"
)

// Problem is an error in a file. All texts are bounded, in one line and harmless.
type Problem struct {
	// Path is relative to the workspace. Line and Column begin with 1.
	Path         string
	Line, Column int
	Message      string
	// Code and Source are what the server calls the error and what found it; may be empty.
	Code, Source string
	// Old: it may have been there before the change.
	Old bool
}

func (p Problem) String() string {
	text := fmt.Sprintf("%s:%d:%d: error: %s", p.Path, p.Line, p.Column, p.Message)
	if label := strings.TrimSpace(p.Source + " " + p.Code); label != "" {
		text += " [" + label + "]"
	}
	return text
}

// says is what an error says: an edit may move it.
func (p Problem) says() string { return p.Message + "\x00" + p.Code }

// count counts the errors by what they say.
func count(list []Problem) map[string]int {
	out := map[string]int{}
	for _, p := range list {
		out[p.says()]++
	}
	return out
}

// settle begins a new change: errors that are gone would be new again.
func (d *document) settle() {
	if !d.heard {
		return
	}
	now := count(d.latest)
	for says, n := range d.base {
		if d.base[says] = min(n, now[says]); d.base[says] == 0 {
			delete(d.base, says)
		}
	}
}

// Found returns the errors that the changes handed over so far brought and that no call has returned, by
// file and line.
func (c *Client) Found() (out []Problem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.docs {
		if d.basing || !d.heard {
			continue
		}
		seen := map[string]int{}
		for _, p := range d.latest {
			if seen[p.says()]++; seen[p.says()] > d.base[p.says()] {
				p.Old = !d.known
				d.base[p.says()]++
				out = append(out, p)
			}
		}
		d.known = true
	}
	slices.SortStableFunc(out, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return out
}

// mostListed bounds the errors of one server in a result.
const mostListed = 20

// Words says how many errors the server called name found, and lists the first ones.
func Words(name string, found []Problem) (title string, lines []string) {
	title = short.Count(len(found), "error")
	if !slices.ContainsFunc(found, func(p Problem) bool { return p.Old }) {
		title = strings.Replace(title, " ", " new ", 1)
	}
	for _, p := range found[:min(len(found), mostListed)] {
		lines = append(lines, p.String())
	}
	if more := len(found) - mostListed; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return title + " (" + name + ")", lines
}
