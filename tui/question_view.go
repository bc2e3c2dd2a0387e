package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"codeagent/approvals"
)

// drawnQuestion is a drawing of a question: its rows, the position of the note's
// cursor (-1: no cursor), which rows are visible, and which answers it offers.
type drawnQuestion struct {
	lines        []string
	x, y         int
	visible      []sight
	yes, outside bool
	below        int // rows that are left out at the end
	body         int // rows of the body that are drawn
}

// onScreen records that the person sees d now.
func (q *question) onScreen(d drawnQuestion) {
	q.seen.note(d.visible)
	q.seen.drawn, q.seen.yes, q.seen.outside = true, d.yes, d.outside
}

// roll is a question without its answers, in rows of one width.
type roll struct {
	title []string
	whole bool // the title is complete
	rows  []string
	marks []sight // of each row; the zero value for a row that need not be seen
	every []sight // all that must be seen, in rows or left out
	width int
	next  string // the key that shows what is left out
}

// rolled draws everything within limits.
func (q *question) rolled(t *theme, w int, home string, most limits, now time.Time, more int) roll {
	title, whole := q.rule(t, w, now, more)
	r := roll{title: []string{title}, whole: whole, width: w, next: q.keys.all}
	if most == (limits{}) {
		r.next = q.keys.page
	}
	if whole {
		r.every = append(r.every, titleSight(w))
	}
	for _, st := range q.stanzas(t, w, home, most, whole) {
		for at := range st.of {
			if st.need != forNothing {
				r.every = append(r.every, sight{st.name, st.need, at, st.of, w})
			}
		}
		for _, row := range st.rows {
			mark := sight{}
			if st.need != forNothing && row.at >= 0 {
				mark = sight{st.name, st.need, row.at, st.of, w}
			}
			r.rows, r.marks = append(r.rows, row.text), append(r.marks, mark)
		}
	}
	return r
}

func titleSight(w int) sight { return sight{"title", forYes, 0, 1, w} }

// view draws the question in at most h rows, docked below the transcript. If it does
// not fit, it is cut from its end: first the command's middle, then what a yes does
// not allow.
func (q *question) view(t *theme, w, h int, home string, now time.Time, more int) drawnQuestion {
	var d drawnQuestion
	for _, most := range []limits{{6, 3, 5}, {3, 2, 2}} {
		r := q.rolled(t, w, home, most, now, more)
		d = q.fit(t, r, 0, h, now)
		if d.below == 0 {
			break
		}
	}
	return d
}

// fit draws r from row top on in at most h rows, above the answers that are accepted
// once this was seen.
func (q *question) fit(t *theme, r roll, top, h int, now time.Time) drawnQuestion {
	var d drawnQuestion
	for _, open := range [][2]bool{{true, true}, {true, false}, {false, false}} {
		d = q.fitted(t, r, top, h, now, open[0], open[1])
		yes, outside := q.seen.missing(r.every, d.visible)
		if !q.leaves() {
			outside = 0
		}
		if open[0] && yes > 0 || open[1] && outside > 0 {
			continue
		}
		break
	}
	return d
}

// leaves reports whether an answer would let the command leave the sandbox.
func (q *question) leaves() bool {
	return slices.ContainsFunc(q.request.Options, func(o approvals.Option) bool {
		return o.Decision == approvals.Outside || o.Decision == approvals.OutsideSession
	})
}

// fitted is fit with the given answers offered.
func (q *question) fitted(t *theme, r roll, top, h int, now time.Time, yes, outside bool) drawnQuestion {
	d := drawnQuestion{x: -1, y: -1, yes: yes, outside: outside}
	head := r.title
	if h < 3 || h < 8 && !r.whole { // the body has the whole title
		head = nil
	}
	if head != nil && r.whole {
		d.visible = append(d.visible, titleSight(r.width))
	}
	foot, x, y := q.foot(t, r, h-len(head), now, yes, outside)
	room := max(h-len(head)-len(foot), 0)
	shown, marks := r.rows[min(top, len(r.rows)):], r.marks[min(top, len(r.rows)):]
	if len(shown) > room {
		d.below = len(shown) - room
		if room >= 3 {
			d.below++ // for the line that counts them; without room the hint says it
		}
		shown = shown[:len(shown)-d.below]
	}
	d.body = len(shown)
	for _, m := range marks[:len(shown)] {
		if m.need != forNothing {
			d.visible = append(d.visible, m)
		}
	}
	d.lines = append(append(d.lines, head...), shown...)
	switch {
	case d.below > 0 && room >= 3:
		d.lines = append(d.lines, t.row(r.width-1, warn.span(fmt.Sprintf("   ↓ %d more lines", d.below))))
	case d.below == 0 && len(shown) > 0 && len(shown) < room:
		d.lines = append(d.lines, "")
	}
	if y >= 0 {
		d.x, d.y = x, len(d.lines)+y
	}
	d.lines = append(d.lines, foot...)
	return d
}

// foot draws the answers, and below them the note or a hint, in at most h rows. The
// hint is dropped before the answers.
func (q *question) foot(t *theme, r roll, h int, now time.Time, yes, outside bool) (rows []string, x, y int) {
	w := r.width
	rows, x, y = q.options(t, w, h-1, yes, outside), -1, -1
	if q.field != nil {
		line, cx := q.noteLine(t, w)
		rows = append(rows, line)
		x, y = cx, len(rows)-1
	} else {
		until := q.deadline(w, now)
		hint := q.hint(w-2-spansWidth(until), r.next, yes, outside)
		line := t.row(w-1, hint...)
		if until != nil {
			line = t.justify(w-1, hint, until)
		}
		if len(rows) < h || !yes {
			rows = append(rows, line)
		}
	}
	if drop := len(rows) - max(h, 0); drop > 0 {
		rows, y = rows[drop:], y-drop
	}
	return rows, x, y
}

// noteLine draws the note being written, and returns the column of its cursor.
func (q *question) noteLine(t *theme, w int) (string, int) {
	prompt := "   note for the model: "
	for _, o := range q.request.Options {
		if q.option == o.Key {
			prompt = "   " + cut(strings.TrimRight(o.Label, " …"), w/2) + ": "
		}
	}
	shown, x, _ := q.field.view(t, max(w-width(prompt)-1, 8), 1)
	line := shown[0]
	if q.field.empty() {
		line = t.row(max(w-width(prompt)-1, 8), dim.span("reason (optional), Enter to send"))
	}
	return t.paint(accent, prompt) + line, width(prompt) + x
}

// options draws the answers in about most rows: with less room their labels are
// shorter. They look ready only when the question is armed, and struck out while
// they are not accepted.
func (q *question) options(t *theme, w, most int, yes, outside bool) []string {
	long := w
	rows := q.optionRows(t, w, long, yes, outside)
	for _, long = range []int{14, 8, 3} {
		if len(rows) <= max(most*2/3, 1) {
			break
		}
		rows = q.optionRows(t, w, long, yes, outside)
	}
	return rows
}

// optionRows draws the answers with labels of at most long columns.
func (q *question) optionRows(t *theme, w, long int, yes, outside bool) []string {
	key, label := dim, dim
	if q.armed {
		key, label = warn.with(bold), text
	}
	edge, gap := 3, 3
	if w < 30 {
		edge, gap = 1, 1
	}
	var rows []string
	row, used := strings.Repeat(" ", edge), edge
	for _, o := range q.request.Options {
		name := cut(o.Label, min(max(w-6-width(o.Key), 8), long))
		k, l := key, label
		if o.Disabled != "" || !taken(o.Decision, yes, outside) {
			k, l = dim.with(struck), dim.with(struck)
		}
		item := t.paint(k, show(o.Key)) + " " + t.paint(l, name)
		n := width(o.Key) + 1 + width(name)
		if used > edge && used+n > w-1 {
			rows = append(rows, strings.TrimRight(row, " "))
			row, used = strings.Repeat(" ", edge), edge
		}
		row += item + strings.Repeat(" ", gap)
		used += n + gap
	}
	return append(rows, strings.TrimRight(row, " "))
}

// taken reports whether an answer is accepted.
func taken(d approvals.Decision, yes, outside bool) bool {
	s := sights{drawn: true, yes: yes, outside: outside}
	return !s.bars(d)
}

// rule is the line above the question with its title, and whether the title is
// complete.
func (q *question) rule(t *theme, w int, now time.Time, more int) (string, bool) {
	s := warn
	if q.armed {
		s = s.with(bold)
	}
	right := ""
	if len(q.asks) > 1 {
		right += fmt.Sprintf(" ×%d", len(q.asks))
	}
	if more > 0 {
		right += fmt.Sprintf(" · %d more", more)
	}
	if q.request.Held {
		waits := " · waits "
		if w >= roomy {
			waits = " · the command waits "
		}
		right += waits + minutes(now.Sub(q.asks[0].since))
	}
	right = cut(right, max(w-16, 0))
	title := titleOf(q.request)
	shown := cut(title, max(w-6-width(right), 10))
	whole := width(title) <= max(w-6-width(right), 10)
	line := max(w-4-width(shown)-width(right), 0)
	return t.paint(s, "─⊘ "+shown) + t.paint(dim, show(right)) + " " + t.paint(warn, strings.Repeat("─", line)), whole
}

func titleOf(r approvals.Request) string {
	return cmp.Or(r.Title, r.Action.Title, "permission needed")
}

// roomy is the width from which the times of a held call are written out.
const roomy = 60

// deadline says when a question without an answer is denied.
func (q *question) deadline(w int, now time.Time) []span {
	r := q.request
	if !r.Held || r.Patience == 0 {
		return nil
	}
	left := minutes(max(r.Patience-now.Sub(q.asks[0].since), 0))
	if w < roomy {
		return []span{dim.span("no in " + left)}
	}
	return []span{dim.span("auto-deny in " + left)}
}

// hint is the line below the answers, in a form that fits in w columns.
func (q *question) hint(w int, all string, yes, outside bool) []span {
	switch {
	case !yes:
		return fitting(w, []span{accent.span("   " + all), warn.span(" shows the rest; yes needs all of it seen")},
			[]span{accent.span("   " + all), warn.span(" shows all, then yes")}, []span{accent.span("   " + all), warn.span(" first")})
	case q.problem != "":
		return []span{warn.span("   " + q.problem)}
	case !q.armed:
		return []span{accent.span("   " + q.keys.arm), dim.span(" to answer")}
	case q.note != "":
		return []span{dim.span("   with the note “" + q.note + "”")}
	case !outside:
		return fitting(w, []span{accent.span("   " + all), warn.span(" shows the whole command; outside needs all of it seen")},
			[]span{accent.span("   " + all), warn.span(" before outside")})
	}
	note := []span{accent.span("   " + q.keys.note), dim.span(" adds a note")}
	return fitting(w, append(note[:len(note):len(note)], accent.span("   Esc"), dim.span(": back to typing")), note)
}

// fitting is the first of choices that fits in w columns, else the last.
func fitting(w int, choices ...[]span) []span {
	for _, c := range choices {
		if spansWidth(c) <= w {
			return c
		}
	}
	return choices[len(choices)-1]
}
