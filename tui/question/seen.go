package question

import "codeagent/approvals"

// A yes allows only what the person could read. A question is drawn in rows. Those of
// its lines that say what a yes allows or applies, and of every warning, must have been
// visible before an answer that says yes is accepted. What was seen stays seen when the
// window changes. A line that was seen only in part starts again at another width,
// because its rows differ there.

// sight is one row of a line that must be seen: row at of its of rows on a screen of
// width columns. The zero value need not be seen.
type sight struct {
	line          string
	at, of, width int
}

// sights records which rows of a question were seen. The zero value has seen
// nothing, and accepts no yes before the question was drawn.
type sights struct {
	rows  map[sight]bool
	whole map[string]bool // lines of which every row was visible
	// drawn: the question was on the screen, and its last drawing left this many rows to
	// be seen: the keys do what the person sees, and no more.
	drawn bool
	left  int
}

// bars reports whether an answer must wait until more was seen.
func (s *sights) bars(d approvals.Decision) bool { return d.Yes() && (!s.drawn || s.left > 0) }

func (s *sights) has(r sight) bool { return r == sight{} || s.whole[r.line] || s.rows[r] }

// missing counts the rows of all that were not seen yet, where those of now count as seen.
func (s *sights) missing(all, now []sight) (left int) {
	shown := make(map[sight]bool, len(now))
	for _, r := range now {
		shown[r] = true
	}
	for _, r := range all {
		if !s.has(r) && !shown[r] {
			left++
		}
	}
	return left
}

func (s *sights) note(now []sight) {
	if s.rows == nil {
		s.rows, s.whole = map[sight]bool{}, map[string]bool{}
	}
	for _, r := range now {
		s.rows[r] = true
	}
	for _, r := range now {
		all := r != sight{}
		for one := (sight{r.line, 0, r.of, r.width}); all && one.at < one.of; one.at++ {
			all = s.rows[one]
		}
		s.whole[r.line] = s.whole[r.line] || all
	}
}
