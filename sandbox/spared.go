package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// Spared are the denials that had no visible effect on a command that passed.
func (v Verdict) Spared() []Denial {
	if v.Denied || v.Failed {
		return nil
	}
	lost := v.Lost()
	same := func(a, b Denial) bool { return a.Kind == b.Kind && a.Target == b.Target && a.PID == b.PID }
	return slices.DeleteFunc(slices.Clone(v.Denials), func(d Denial) bool {
		return d.Moot || slices.ContainsFunc(lost, func(o Denial) bool { return same(o, d) })
	})
}

// mostSpared is the number of targets in the line about spared denials.
const mostSpared = 2

// SparedWords says in one line what a command did without. It is empty for no denials. show formats
// a target. A read is called one: a file that nothing may read says more than one that may not be
// changed.
func SparedWords(spared []Denial, show func(target string) string) string {
	var names []string
	calls := 0
	for _, d := range spared {
		name := show(d.Target)
		if d.Kind == KindRead {
			name = "read " + name
		}
		if calls += max(d.Count, 1); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	var b strings.Builder
	for i, n := range names[:min(len(names), mostSpared)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(n)
	}
	if more := len(names) - mostSpared; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	if calls > 1 {
		return fmt.Sprintf("did without: %s (%d refused calls)", b.String(), calls)
	}
	return "did without: " + b.String()
}
