package rules

import (
	"fmt"
	"slices"
	"strings"

	"codeagent/internal/short"
	"codeagent/sandbox"
)

// Rules that an answer saves, and what they would have answered before.

// mostParts bounds the programs of a line that gets rules: a person reads each.
const mostParts = 3

// ForLine returns the narrowest rules that allow a command line, one for each of its programs.
// Without rules, why says what no rule should allow.
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

// Past is one tool call of an earlier session: its command, what the sandbox refused it, and
// what a person allowed. A need has a Kind and a Target; allowing the command itself has
// neither.
type Past struct {
	Command          string
	Refused, Allowed []sandbox.Denial
}

// Replay is what a rule would have answered in earlier sessions.
type Replay struct {
	// Calls counts the calls that were refused something and would have been allowed it. Shown
	// are the first of what they would have been allowed.
	Calls int
	Shown []string
	// Yeses counts the calls that a person allowed just that.
	Yeses int
	// Part: there are more sessions than could be read.
	Part bool
}

// mostShown bounds what a replay names.
const mostShown = 3

// Add counts one call, which would have been allowed what.
func (r *Replay) Add(what []string) {
	r.Calls++
	for _, w := range what {
		if len(r.Shown) < mostShown && !slices.Contains(r.Shown, w) {
			r.Shown = append(r.Shown, w)
		}
	}
}

// String says it in one line; empty without calls.
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
