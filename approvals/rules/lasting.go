package rules

import "fmt"

// Rules that an answer saves.

// mostParts limits the number of programs in a line that gets rules, because a person reads each
// rule.
const mostParts = 3

// ForLine returns the narrowest rules that allow a command line, one for each of its programs. If
// no lasting rule should allow it, there are no rules and why gives the reason.
func ForLine(line string) (list []*Rule, why string) {
	parts, opaque := Programs(line)
	switch {
	case opaque != "":
		return nil, opaque
	case len(parts) > mostParts:
		return nil, fmt.Sprintf("it starts %d programs", len(parts))
	}
	for _, words := range parts {
		if why := Runs(words); why != "" {
			return nil, why
		}
		if changesFolder(words) {
			continue
		}
		r := &Rule{Decision: Allow, Exact: true}
		for _, word := range words {
			r.Words = append(r.Words, []string{word})
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		return nil, "it starts no program"
	}
	return list, ""
}
