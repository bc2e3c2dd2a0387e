package exec

import (
	"fmt"
	"slices"
	"testing"
)

// TestTrail: what changed since a moment, in order and bounded, and who did it.
func TestTrail(t *testing.T) {
	s := &trail{}
	for _, p := range []string{"/w/a", "/w/b"} {
		s.add(p, "x")
	}
	mark := s.mark()
	if got, all := s.since(mark); len(got) > 0 || !all {
		t.Errorf("nothing happened, and %q, %v", got, all)
	}
	s.add("/w/c", "x")
	s.add("/w/a", "y")
	if got, all := s.since(mark); !slices.Equal(got, []Change{{"/w/c", "x"}, {"/w/a", "y"}}) || !all {
		t.Errorf("%q, %v", got, all)
	}
	if got, all := s.since(0); !slices.Equal(got, []Change{{"/w/b", "x"}, {"/w/c", "x"}, {"/w/a", "y"}}) || !all {
		t.Errorf("%q, %v", got, all)
	}
	for i := range maxTrail {
		s.add(fmt.Sprint("/w/", i), "x")
	}
	if _, all := s.since(mark); all {
		t.Error("the list is said to be complete")
	}
	now := s.mark()
	s.add("/w/last", "x")
	if got, all := s.since(now); !slices.Equal(got, []Change{{"/w/last", "x"}}) || !all {
		t.Errorf("%q, %v", got, all)
	}
}
