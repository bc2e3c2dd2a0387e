package question

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/internal/visible"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// drawn is a drawing of a question, and which rows are visible.
type drawn struct {
	part.Drawn
	visible []part.Sight
	left    int // rows that must still be seen before a yes
	below   int // rows that are left out at the end
	body    int // rows of the body that are drawn
}

// onScreen records that the person sees d now.
func (q *Question) onScreen(d drawn) {
	q.seen.Note(d.visible)
	q.drawn, q.left = true, d.left
}

// roll is a question without its answers, in rows of one width.
type roll struct {
	title string
	whole bool // the title is complete
	*sheet
}

// rolled draws everything within limits, for at most h rows with the answers.
func (q *Question) rolled(t *paint.Theme, w, h int, home string, most limits, now time.Time, more int) roll {
	title, whole := q.rule(t, w, home, now, more)
	head := 1
	if !hasHead(h, whole) {
		head = 0
	}
	r := roll{title, whole, q.sheet(t, w, home, most, whole, q.labelWidth(t, w, h-head-1))}
	if whole {
		r.every = append(r.every, titleSight(w))
	}
	return r
}

func titleSight(w int) part.Sight { return part.Sight{Line: "title 0", Of: 1, Width: w} }

// View draws the question in at most h rows, docked below the transcript. If it does
// not fit, it is cut from its end: first the command's middle, then what a yes does
// not allow.
func (q *Question) View(c part.Canvas, h int) part.Drawn {
	t, w, home, now := c.Theme, c.Width, c.Home, c.Now
	q.typed = c.Typed
	if rule := q.Rule; rule != nil {
		title, _ := q.rule(t, w, home, now, c.More)
		rows, text, x, y := rule.view(t, w, max(h-1, 1), home, q.deadline(w, now))
		rows, text = append([]string{title}, rows...), text[:max(min(len(text), h-1), 0)]
		return part.Drawn{Lines: rows[:min(len(rows), h)], X: x, Y: y + 1, Seen: func() {
			for _, row := range text {
				rule.seen[row] = true
			}
			q.onScreen(drawn{})
		}}
	}
	var d drawn
	sizes := []limits{{6, 3, 5}, {3, 2, 2}}
	if !q.request.GrantOnly { // all that a yes applies, where it fits
		sizes = append([]limits{{0, 3, 5}}, sizes...)
	}
	for _, most := range sizes {
		if d = q.fit(t, q.rolled(t, w, h, home, most, now, c.More), 0, h, now); d.below == 0 {
			break
		}
	}
	d.Seen = func() { q.onScreen(d) }
	return d.Drawn
}

// fit draws r from row top on in at most h rows, above the answers that are accepted
// once this was seen.
func (q *Question) fit(t *paint.Theme, r roll, top, h int, now time.Time) drawn {
	d := q.fitted(t, r, top, h, now, 0)
	for left := q.missing(r.every, d.visible); left != d.left; left = q.missing(r.every, d.visible) {
		d = q.fitted(t, r, top, h, now, left)
	}
	return d
}

// missing counts the rows of all that were not seen yet, where those of now count as seen.
func (q *Question) missing(all, now []part.Sight) (left int) {
	for _, r := range all {
		if !q.seen.Has(r) && !slices.Contains(now, r) {
			left++
		}
	}
	return left
}

// hasHead reports whether the title has a row of its own; whole: it would be complete.
func hasHead(h int, whole bool) bool { return h >= 8 || h >= 3 && whole }

// fitted is fit where so many rows are left to be seen.
func (q *Question) fitted(t *paint.Theme, r roll, top, h int, now time.Time, left int) drawn {
	d := drawn{Drawn: part.Drawn{X: -1, Y: -1}, left: left}
	if hasHead(h, r.whole) {
		d.Lines = append(d.Lines, r.title)
		if r.whole {
			d.visible = append(d.visible, titleSight(r.w))
		}
	}
	foot, x, y := q.foot(t, r, h-len(d.Lines), now, left)
	room := max(h-len(d.Lines)-len(foot), 0)
	shown := r.rows[min(top, len(r.rows)):]
	if len(shown) > room {
		d.below = len(shown) - room
		if room >= 3 {
			d.below++ // for the line that counts them; without room the hint says it
		}
		shown = shown[:len(shown)-d.below]
	}
	d.body = len(shown)
	for _, row := range shown {
		d.Lines, d.visible = append(d.Lines, row.text), append(d.visible, row.at)
	}
	switch {
	case d.below > 0 && room >= 3:
		d.Lines = append(d.Lines, t.Row(r.w-1, paint.Warn.Span(fmt.Sprintf("   ↓ %d more lines", d.below))))
	case d.below == 0 && len(shown) > 0 && len(shown) < room:
		d.Lines = append(d.Lines, "")
	}
	if y >= 0 {
		d.X, d.Y = x, len(d.Lines)+y
	}
	d.Lines = append(d.Lines, foot...)
	return d
}

// foot draws the answers, and below them the note or a hint, in at most h rows. The
// hint is dropped before the answers.
func (q *Question) foot(t *paint.Theme, r roll, h int, now time.Time, left int) (rows []string, x, y int) {
	w := r.w
	rows, x, y = q.options(t, w, q.labelWidth(t, w, h-1), left), -1, -1
	if q.Field != nil {
		line, cx := q.noteLine(t, w)
		rows = append(rows, line)
		x, y = cx, len(rows)-1
	} else {
		until := q.deadline(w, now)
		if w < roomy && until != nil {
			if until = append([]paint.Span{paint.Faint.Span(" · ")}, until...); q.early { // why no answer was given comes first
				until = nil
			}
		}
		hint := q.hint(w-2-paint.WidthOf(until), left)
		line := t.Row(w-1, hint...)
		if until != nil {
			line = t.Justify(w-1, hint, until)
		}
		if len(rows) < h || left > 0 {
			rows = append(rows, line)
		}
	}
	if drop := len(rows) - max(h, 0); drop > 0 {
		rows, y = rows[drop:], y-drop
	}
	return rows, x, y
}

// noteLine draws the note being written, and returns the column of its cursor.
func (q *Question) noteLine(t *paint.Theme, w int) (string, int) {
	prompt := "   note for the model: "
	for _, o := range q.request.Options {
		if q.option == o.Key {
			prompt = "   " + paint.Cut(strings.TrimRight(o.Label, " …"), w/2) + ": "
		}
	}
	shown, x, _ := q.Field.View(t, max(w-paint.Width(prompt)-1, 8), 1)
	line := shown[0]
	if q.Field.Empty() {
		room, hint := max(w-paint.Width(prompt)-1, 8), "reason (optional), Enter to send"
		if paint.Width(hint) > room {
			hint = "Enter sends"
		}
		line = t.Row(room, paint.Dim.Span(hint))
	}
	return t.Paint(paint.Accent, prompt) + line, paint.Width(prompt) + x
}

// labelWidth is how wide the labels of the answers may be on about most rows. What is cut
// there is in the body in full.
func (q *Question) labelWidth(t *paint.Theme, w, most int) (long int) {
	for _, long = range []int{w, 14, 8, 3} {
		if len(q.options(t, w, long, 0)) <= max(most*2/3, 1) {
			break
		}
	}
	return long
}

func shortLabel(o approvals.Option, w, long int) string {
	return paint.Cut(o.Label, min(max(w-6-paint.Width(o.Key), 8), long))
}

// options draws the answers with labels of at most long columns. They are struck out while they are not accepted.
func (q *Question) options(t *paint.Theme, w, long, left int) []string {
	var all []part.Answer
	for _, o := range q.offered() {
		all = append(all, part.Answer{Key: o.Key, Label: shortLabel(o, w, long), Shut: left > 0 && o.Decision.Yes()})
	}
	return q.Foot(t, w, all)
}

// rule is the line above the question with its title, and whether the title is
// complete.
func (q *Question) rule(t *paint.Theme, w int, home string, now time.Time, more int) (string, bool) {
	right := ""
	if len(q.Asks) > 1 {
		right += fmt.Sprintf(" ×%d", len(q.Asks))
	}
	if more > 0 {
		right += fmt.Sprintf(" · %d more", more)
	}
	if q.request.Held {
		waits := " · waits "
		if w >= roomy {
			waits = " · the " + waiter(q.request) + " waits "
		}
		right += waits + paint.Minutes(now.Sub(q.Asks[0].since))
	}
	return q.Head(t, w, "⊘", titleOf(q.request, home), right)
}

// waiter is what a held call belongs to.
func waiter(r approvals.Request) string {
	if r.Action.Server != nil {
		return "server"
	}
	return "command"
}

// titleOf is the title with the home folder of its paths shortened, as in the rows below it.
func titleOf(r approvals.Request, home string) string {
	return visible.Fact(paint.Tildes(cmp.Or(r.Title, r.Action.Title, "permission needed"), home))
}

// roomy is the width from which the times of a held call are written out.
const roomy = 60

// deadline says when a question without an answer is denied.
func (q *Question) deadline(w int, now time.Time) []paint.Span {
	r := q.request
	if !r.Held || r.Patience == 0 {
		return nil
	}
	left := paint.Minutes(max(r.Patience-now.Sub(q.Asks[0].since), 0))
	if w < roomy {
		return []paint.Span{paint.Dim.Span("no in " + left)}
	}
	return []paint.Span{paint.Dim.Span("auto-deny in " + left)}
}

// hint is the line below the answers, in a form that fits in w columns.
func (q *Question) hint(w, left int) []paint.Span {
	arm := []paint.Span{paint.Accent.Span("   " + q.keys.Name(keys.Everywhere, keys.Arm)), paint.Dim.Span(" to answer")}
	switch {
	case q.typed && !q.Armed():
		return fitting(w, append(arm[:2:2], paint.Warn.Span("; until then keys write your message")), append(arm[:2:2], paint.Warn.Span("; keys write below")), arm)
	case left > 0:
		lines := "more lines"
		if left == 1 {
			lines = "more line"
		}
		next, count := paint.Accent.Span(q.keys.Name(keys.Everywhere, keys.PageDown)), fmt.Sprintf(": %d ", left)
		edge := []paint.Span{paint.Text.Span("   ")}
		if q.early {
			edge = append(edge, paint.Warn.With(paint.Bold).Span("not yet: "))
		}
		var forms [][]paint.Span
		for _, say := range []string{count + lines + " to see before a yes", count + "to see before a yes", count + "must be seen"} {
			forms = append(forms, slices.Concat(edge, []paint.Span{next, paint.Warn.Span(say)}))
		}
		return fitting(w, append(forms, []paint.Span{next, paint.Warn.Span(count + "unseen")})...)
	case q.tries:
		return []paint.Span{paint.Dim.Span("   it runs on a draft…")}
	case q.held != "":
		again := []paint.Span{paint.Warn.Span("   " + q.held + " came too early: press it again")}
		return fitting(w, append(again[:1:1], paint.Dim.Span(" once you have read this")), again)
	case !q.Armed():
		return arm
	case q.note != "":
		return []paint.Span{paint.Dim.Span("   with the note “" + q.note + "”")}
	}
	note := []paint.Span{paint.Accent.Span("   " + q.keys.Name(keys.InQuestion, keys.Note)), paint.Dim.Span(" adds a note")}
	return fitting(w, append(note[:len(note):len(note)], paint.Accent.Span("   Esc"), paint.Dim.Span(": back to typing")), note)
}

// fitting is the first of choices that fits in w columns, else the last.
func fitting(w int, choices ...[]paint.Span) []paint.Span {
	for _, c := range choices {
		if paint.WidthOf(c) <= w {
			return c
		}
	}
	return choices[len(choices)-1]
}
