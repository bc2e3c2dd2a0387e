package part

import "testing"

// A line that was read in part starts again at another width.
func TestPartsOfTwoWidthsAreNoWhole(t *testing.T) {
	var s Sights
	for at := range 2 {
		s.Note([]Sight{{"opens 0", at, 3, 40}})
	}
	s.Note([]Sight{{"opens 0", 0, 1, 120}})
	if !s.whole["opens 0"] {
		t.Error("a line that was visible in one row is not seen")
	}
	s = Sights{}
	s.Note([]Sight{{"opens 0", 0, 2, 40}, {"opens 0", 1, 2, 50}})
	if s.whole["opens 0"] {
		t.Error("halves of two widths count as a whole")
	}
}
