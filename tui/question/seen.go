package question

import "codeagent/approvals"

// A yes allows only what the person could read. A question is drawn as stanzas.
// Those that say what a yes allows, and every warning, must have been visible row by
// row before an answer that says yes is accepted. What was seen stays seen when the
// window gets smaller. A stanza that was seen only in part starts again at another
// width, because its rows differ there.

// need says for which answers a stanza must have been seen.
type need uint8

const (
	forNothing need = iota // helps the person, allows nothing
	forOutside             // before a yes that leaves the sandbox
	forYes                 // before any yes
)

// sight is one row of a stanza that must be seen: row at of its of rows on a screen
// of width columns.
type sight struct {
	stanza        string
	need          need
	at, of, width int
}

// sights records which rows of a question were seen. The zero value has seen
// nothing, and accepts no yes before the question was drawn.
type sights struct {
	rows  map[sight]bool
	whole map[string]bool // stanzas of which every row was visible
	// drawn: the question was on the screen. yes and outside say which answers its
	// last drawing offered: the keys do what the person sees, and no more.
	drawn, yes, outside bool
}

// bars reports whether an answer must wait until more was seen.
func (s *sights) bars(d approvals.Decision) bool {
	switch {
	case !d.Yes():
		return false
	case d.Leaves():
		return !s.drawn || !s.outside
	}
	return !s.drawn || !s.yes
}

// missing counts the rows of all that were not seen yet, where those of now count as
// seen: for any yes, and for a yes that leaves the sandbox.
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
