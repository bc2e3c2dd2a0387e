package part

// A yes allows only what the person could read. A dock is drawn in rows. Those of its lines that say
// what a yes allows or sends must have been visible before it is accepted. What was seen stays seen
// when the window changes. A line that was seen only in part starts again at another width, because
// its rows differ there.

// Sight is one row of a line that must be seen: row At of its Of rows on a screen of Width columns.
// The zero value need not be seen.
type Sight struct {
	Line          string
	At, Of, Width int
}

// Sights are the rows that were seen. The zero value has seen nothing.
type Sights struct {
	rows  map[Sight]bool
	whole map[string]bool // lines of which every row was visible
}

// Has reports whether a row was seen, or its whole line at another width.
func (s *Sights) Has(r Sight) bool { return r == Sight{} || s.whole[r.Line] || s.rows[r] }

// Note records rows that the person sees now.
func (s *Sights) Note(now []Sight) {
	if s.rows == nil {
		s.rows, s.whole = map[Sight]bool{}, map[string]bool{}
	}
	for _, r := range now {
		s.rows[r] = true
	}
	for _, r := range now {
		all := r != Sight{}
		for one := (Sight{r.Line, 0, r.Of, r.Width}); all && one.At < one.Of; one.At++ {
			all = s.rows[one]
		}
		s.whole[r.Line] = s.whole[r.Line] || all
	}
}
