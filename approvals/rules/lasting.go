package rules

import (
	"fmt"
	"slices"
	"strings"

	"codeagent/internal/short"
	"codeagent/sandbox"
)

// Rules that an answer saves, and the earlier calls that they would have answered.

// mostParts limits the number of programs in a line that gets rules, because a person reads each
// rule.
const mostParts = 3

// ForLine returns the narrowest rules that allow a command line, one for each of its programs. If
// no lasting rule should allow it, there are no rules and why gives the reason.
func ForLine(line string) (list []*Rule, why string) {
	parts, opaque := plainParts(line)
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

// Past is one tool call of an earlier session: its command, what the sandbox refused, and what a
// person allowed. A need has a Kind and a Target. Both are empty if the need is to run the command.
type Past struct {
	Command          string
	Refused, Allowed []sandbox.Denial
}

// Replay counts the earlier calls that a rule would have answered.
type Replay struct {
	// Calls counts the calls that were refused something that the rule would have allowed. Shown are
	// the first things that it would have allowed.
	Calls int
	Shown []string
	// Yeses counts the calls for which a person allowed the same.
	Yeses int
	// Part: not all earlier sessions were read.
	Part bool
}

// mostShown limits Shown.
const mostShown = 3

// Add counts one call for which the rule would have allowed what.
func (r *Replay) Add(what []string) {
	r.Calls++
	for _, w := range what {
		if len(r.Shown) < mostShown && !slices.Contains(r.Shown, w) {
			r.Shown = append(r.Shown, w)
		}
	}
}

// String describes the replay in one line. It is empty without calls.
func (r Replay) String() string {
	if r.Calls == 0 {
		return ""
	}
	atLeast := ""
	if r.Part {
		atLeast = "at least "
	}
	shown := make([]string, len(r.Shown))
	for i, s := range r.Shown {
		shown[i] = short.Middle(s, 80)
	}
	return fmt.Sprintf("would also have allowed %s%s: %s", atLeast, short.Count(r.Calls, "earlier call"), strings.Join(shown, ", "))
}
