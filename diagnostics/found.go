package diagnostics

import (
	"cmp"
	"fmt"
	"sort"

	"codeagent/internal/short"
)

// mostListed bounds the errors in a result.
const mostListed = 20

// problem is an error in a file. All texts are bounded, in one line and harmless.
type problem struct {
	path           string // relative to the workspace
	line, column   int    // begin with 1
	message, label string // label: what found it, and its code; may be empty
}

func (p problem) String() string {
	text := fmt.Sprintf("%s:%d:%d: error: %s", p.path, p.line, p.column, p.message)
	if p.label != "" {
		text += " [" + p.label + "]"
	}
	return text
}

// says is what an error is known by: an edit may move it.
func (p problem) says() string { return p.message + "\x00" + p.label }

// count counts the errors by what they say.
func count(list []problem) map[string]int {
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
		d.base[says] = min(n, now[says])
	}
}

// Found says how many errors the changes handed over so far brought that no call has returned (a title
// such as "2 new errors"; "": none), and lists the first ones by file and line. "2 errors": they may have
// been there before.
func (c *Client) Found() (title string, lines []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []problem
	noun := "new error"
	for _, d := range c.docs {
		if !d.heard {
			continue
		}
		was := d.base
		d.base = map[string]int{}
		for _, p := range d.latest {
			says := p.says()
			if d.base[says]++; d.base[says] > was[says] {
				found = append(found, p)
				if was == nil {
					noun = "error"
				}
			}
		}
		for says, n := range was {
			d.base[says] = max(n, d.base[says])
		}
	}
	if len(found) == 0 {
		return "", nil
	}
	sort.SliceStable(found, func(i, j int) bool {
		a, b := found[i], found[j]
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column)) < 0
	})
	for _, p := range found[:min(len(found), mostListed)] {
		lines = append(lines, p.String())
	}
	if more := len(found) - mostListed; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return short.Count(len(found), noun), lines
}
