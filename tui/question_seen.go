package tui

import "codeagent/approvals"

// A yes opens only what the person could read. A question is drawn as stanzas;
// those that say what a yes opens, and every warning, must have been visible as a
// whole, row by row, before the answers that say yes are taken. What was visible
// stays so: a smaller window does not take back what was read, but a stanza that
// was visible in part begins anew at another width, where its rows are others.

// need says before which answers a stanza must have been visible.
type need uint8

const (
	forNothing need = iota // helps the person, opens nothing
	forOutside             // before a yes that leaves the sandbox
	forYes                 // before any yes
)

// sight is one row of a stanza that must be seen: row at of the of rows that it
// has in a screen of width columns.
type sight struct {
	stanza        string
	need          need
	at, of, width int
}

// sights is what of a question was visible. The zero value has seen nothing, and
// takes no yes before the question was drawn.
type sights struct {
	rows  map[sight]bool
	whole map[string]bool // stanzas of which every row was visible
	// drawn: the question was on the screen. yes and outside say what its last
	// drawing offered: the keys do what the person sees, and no more.
	drawn, yes, outside bool
}

// bars reports whether an answer must wait for something to be seen.
func (s *sights) bars(d approvals.Decision) bool {
	switch d {
	case approvals.Deny, approvals.Stop, approvals.Unanswered, approvals.Unattended:
		return false
	case approvals.Outside, approvals.OutsideSession:
		return !s.drawn || !s.outside
	}
	return !s.drawn || !s.yes
}

// missing counts the rows of all that were not visible yet, with those of now
// taken as visible: before any yes, and before one that leaves the sandbox.
func (s *sights) missing(all, now []sight) (yes, outside int) {
	shown := make(map[sight]bool, len(now))
	for _, r := range now {
		shown[r] = true
	}
	for _, r := range all {
		if s.whole[r.stanza] || s.rows[r] || shown[r] {
			continue
		}
		outside++
		if r.need == forYes {
			yes++
		}
	}
	return yes, outside
}

// note takes rows as visible.
func (s *sights) note(now []sight) {
	if s.rows == nil {
		s.rows, s.whole = map[sight]bool{}, map[string]bool{}
	}
	for _, r := range now {
		s.rows[r] = true
	}
	for _, r := range now {
		if s.whole[r.stanza] {
			continue
		}
		all, one := true, r
		for one.at = 0; all && one.at < one.of; one.at++ {
			all = s.rows[one]
		}
		if all {
			s.whole[r.stanza] = true
		}
	}
}
