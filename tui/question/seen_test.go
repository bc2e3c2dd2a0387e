package question

import "testing"

// A stanza that was read in part starts again at another width.
func TestPartsOfTwoWidthsAreNoWhole(t *testing.T) {
	var s sights
	for at := range 2 {
		s.note([]sight{{"opens 0", forYes, at, 3, 40}})
	}
	s.note([]sight{{"opens 0", forYes, 0, 1, 120}})
	if !s.whole["opens 0"] {
		t.Error("a stanza that was visible in one row is not seen")
	}
	s = sights{}
	s.note([]sight{{"opens 0", forYes, 0, 2, 40}, {"opens 0", forYes, 1, 2, 50}})
	if s.whole["opens 0"] {
		t.Error("halves of two widths count as a whole")
	}
}
