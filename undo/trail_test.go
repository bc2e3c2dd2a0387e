package undo

import (
	"fmt"
	"slices"
	"testing"
)

// TestTrail: what changed since a moment, in order and bounded.
func TestTrail(t *testing.T) {
	s := &History{}
	for _, p := range []string{"/w/a", "/w/b"} {
		s.trail.add(p)
	}
	mark := s.Mark()
	if got, all := s.Since(mark); len(got) > 0 || !all {
		t.Errorf("nothing happened, and %q, %v", got, all)
	}
	s.trail.add("/w/c")
	s.trail.add("/w/a")
	if got, all := s.Since(mark); !slices.Equal(got, []string{"/w/c", "/w/a"}) || !all {
		t.Errorf("%q, %v", got, all)
	}
	if got, all := s.Since(0); !slices.Equal(got, []string{"/w/b", "/w/c", "/w/a"}) || !all {
		t.Errorf("%q, %v", got, all)
	}
	for i := range maxTrail {
		s.trail.add(fmt.Sprint("/w/", i))
	}
	if _, all := s.Since(mark); all {
		t.Error("the list is said to be complete")
	}
	now := s.Mark()
	s.trail.add("/w/last")
	if got, all := s.Since(now); !slices.Equal(got, []string{"/w/last"}) || !all {
		t.Errorf("%q, %v", got, all)
	}
}
