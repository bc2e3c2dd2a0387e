package transcript

import (
	"slices"

	"github.com/charmbracelet/x/ansi"

	"codeagent/tui/paint"
)

// opener is a body that can have more to show than its summary.
type opener interface{ Foldable() bool }

// folds is which entry the keys open and fold, and where the entries are for the mouse.
type folds struct {
	// chosen is the entry that Toggle means; nil: the last visible one.
	chosen *entry
	// deed is what Toggle would do to an entry as it was drawn last.
	deed struct {
		e              *entry
		version, width int
		words          string
	}
	// rows are the indexes of the entries in the rows of the last View.
	rows []int
}

// foldable reports whether opening or folding entry i would show anything else.
func (t *list) foldable(i int, c Canvas) bool {
	e := t.entries[i]
	if o, ok := e.body.(opener); !ok || !o.Foldable() {
		return false
	}
	if e.moving {
		return true // more may come
	}
	c.whole = t.whole
	shut, open := c, c
	open.open = true
	return !slices.Equal(e.body.Draw(shut), e.body.Draw(open))
}

// Toggle opens or folds the chosen entry, or else the last visible one that has more
// to show; false: no entry has more.
func (t *list) Toggle(c Canvas) bool {
	in := slices.Compact(slices.Clone(t.rows))
	if i := slices.Index(t.entries, t.chosen); t.chosen != nil && i >= 0 {
		in = []int{i}
	}
	for _, i := range slices.Backward(in) {
		if t.foldable(i, c) {
			t.toggle(i)
			return true
		}
	}
	return false
}

// Deed says what Toggle does to the chosen entry: "opens" or "folds", and "" for nothing.
func (t *list) Deed(c Canvas) string {
	i := slices.Index(t.entries, t.chosen)
	if i < 0 {
		return ""
	}
	e, d := t.entries[i], &t.deed
	if d.e == e && d.version == e.version && d.width == c.Width {
		return d.words
	}
	d.e, d.version, d.width, d.words = e, e.version, c.Width, ""
	if t.foldable(i, c) {
		d.words = "opens"
		if e.open {
			d.words = "folds"
		}
	}
	return d.words
}

// ToggleAt opens or folds the entry in a row of the last View; false: the row has no entry
// that has more to show.
func (t *list) ToggleAt(c Canvas, row int) bool {
	if row < 0 || row >= len(t.rows) || !t.foldable(t.rows[row], c) {
		return false
	}
	t.toggle(t.rows[row])
	return true
}

// toggle leaves the entry where it is on the screen. A running one is followed on.
func (t *list) toggle(i int) {
	e := t.entries[i]
	e.open = !e.open
	e.changed()
	if e.moving && t.Follow {
		return
	}
	t.Follow = false
	if i == t.top.at && !e.open {
		t.top.off = 0 // what was in view may be gone
	}
}

// choose chooses the next entry, above with -1 and below with
// +1, and brings it into view. The first one is the last or the first in view.
func (t *list) choose(c Canvas, by int) {
	at, seen := slices.Index(t.entries, t.chosen), t.rows
	if len(seen) == 0 {
		return
	}
	if t.chosen == nil || !slices.Contains(seen, at) {
		if at = seen[0] - 1; by < 0 {
			at = seen[len(seen)-1] + 1
		}
	}
	for at += by; at >= 0 && at < len(t.entries); at += by {
		if t.entries[at].source() != "" && len(t.lines(at, c)) > 0 {
			t.chosen = t.entries[at]
			t.show(c, at)
			return
		}
	}
}

// show scrolls only where entry at is not in view: upwards to its beginning, downwards
// to its end.
func (t *list) show(c Canvas, at int) {
	if slices.Contains(t.rows, at) {
		return
	}
	above := at < t.rows[0]
	t.top, t.Follow = place{at: at}, false
	if t.start(c); !above && !t.Follow {
		t.Scroll(c, min(len(t.lines(at, c)), t.Height)-t.Height)
	}
}

// Chosen reports whether an entry is chosen; Unchoose ends that.
func (f *folds) Chosen() bool { return f.chosen != nil }
func (f *folds) Unchoose()    { f.chosen = nil }

// bar draws a bar in the gutter of drawn lines, beside the mark of the first one.
func bar(t *paint.Theme, lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if w := ansi.StringWidth(l); w > paint.Gutter {
			l = ansi.Cut(l, 0, paint.Gutter-1) + paint.Reset + t.Paint(paint.Accent, "▎") + ansi.Cut(l, paint.Gutter, w)
		}
		out[i] = l
	}
	return out
}
