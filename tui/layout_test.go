package tui

import (
	"fmt"
	"strings"
	"testing"
)

// draw draws the areas as columns of letters, one row each.
func (a areas) draw() string {
	var b strings.Builder
	for _, p := range []struct {
		name string
		band band
	}{{"transcript", a.transcript}, {"question", a.question}, {"status", a.status}, {"queued", a.queued}, {"menu", a.menu}, {"rule", a.rule}, {"composer", a.composer}, {"footer", a.footer}} {
		if p.band.height > 0 {
			fmt.Fprintf(&b, "%s*%d ", p.name, p.band.height)
		}
	}
	return strings.TrimSpace(b.String())
}

func TestArrange(t *testing.T) {
	for _, c := range []struct {
		h    int
		w    wants
		want string
	}{
		{24, wants{composer: 1}, "transcript*20 status*1 rule*1 composer*1 footer*1"},
		{24, wants{composer: 5}, "transcript*16 status*1 rule*1 composer*5 footer*1"},
		{24, wants{composer: 100}, "transcript*13 status*1 rule*1 composer*8 footer*1"},
		{60, wants{composer: 100}, "transcript*45 status*1 rule*1 composer*12 footer*1"},
		{24, wants{composer: 1, question: 10}, "transcript*10 question*10 status*1 rule*1 composer*1 footer*1"},
		{24, wants{composer: 1, question: 50}, "transcript*3 question*17 status*1 rule*1 composer*1 footer*1"},
		{24, wants{composer: 1, menu: 4, queued: 2}, "transcript*14 status*1 queued*2 menu*4 rule*1 composer*1 footer*1"},
		{12, wants{composer: 1, question: 50}, "question*9 rule*1 composer*1 footer*1"},
		{4, wants{composer: 1}, "transcript*1 rule*1 composer*1 footer*1"},
		{3, wants{composer: 1, question: 9}, "question*1 rule*1 composer*1"},
		{2, wants{composer: 1}, "transcript*1 composer*1"},
		{1, wants{composer: 3}, "composer*1"},
	} {
		a := arrange(c.h, c.w)
		if got := a.draw(); got != c.want {
			t.Errorf("arrange(%d, %+v)\n got %s\nwant %s", c.h, c.w, got, c.want)
		}
	}
}

// The parts always fill the screen without a gap.
func TestArrangeFillsTheScreen(t *testing.T) {
	for h := 1; h < 60; h++ {
		for n := range 400 {
			w := wants{question: n % 7 * 4, queued: n / 7 % 4, menu: n / 28 % 5, composer: n / 140 * 5}
			a := arrange(h, w)
			top := 0
			for _, b := range []band{a.transcript, a.question, a.status, a.queued, a.menu, a.rule, a.composer, a.footer} {
				if b.top != top || b.height < 0 {
					t.Fatalf("arrange(%d, %+v) = %+v", h, w, a)
				}
				top += b.height
			}
			if top != h || a.composer.height == 0 {
				t.Fatalf("arrange(%d, %+v) fills %d rows: %+v", h, w, top, a)
			}
		}
	}
}
