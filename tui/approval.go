package tui

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/sandbox"
)

// question is one request for a permission, docked below the transcript. The
// asks wait for its answer: identical requests are one question.
type question struct {
	request approvals.Request
	asks    []*ask
	// armed questions take keys; barred ones are armed by ctrl+y only, because
	// the person disarmed them.
	armed, barred bool
	// field is the note being written, for the option or for any when "".
	field   *composer
	option  string
	note    string
	problem string
}

// questions is the queue; only the front one is shown.
type questions struct{ queue []*question }

func (q *questions) front() *question {
	if len(q.queue) == 0 {
		return nil
	}
	return q.queue[0]
}

// add queues a, or joins it to an identical question.
func (q *questions) add(a *ask, now time.Time) {
	a.since = now
	key := identity(a.request)
	for _, other := range q.queue {
		if identity(other.request) == key {
			other.asks = append(other.asks, a)
			return
		}
	}
	q.queue = append(q.queue, &question{request: a.request, asks: []*ask{a}})
}

// identity is everything the person sees and decides on: two requests with the
// same identity get the same answer.
func identity(r approvals.Request) string {
	r.ID, r.CallID, r.Action.CallID = "", "", ""
	denials := r.Denials
	r.Denials = nil
	for _, d := range denials {
		// Which of a program's processes tried, when, and by which of a host's
		// addresses, is no other question.
		d.PID, d.Chain, d.Order, d.Count, d.Requested, d.Errno = 0, nil, 0, 0, "", ""
		r.Denials = append(r.Denials, d)
	}
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Sprintf("%p", &r)
	}
	return string(b)
}

// withdraw removes an ask nobody waits for, and its question with the last one.
func (q *questions) withdraw(a *ask) {
	for i, question := range q.queue {
		for j, other := range question.asks {
			if other == a {
				question.asks = append(question.asks[:j], question.asks[j+1:]...)
				if len(question.asks) == 0 {
					q.queue = append(q.queue[:i], q.queue[i+1:]...)
				}
				return
			}
		}
	}
}

// answer closes the front question.
func (q *questions) answer(ans approvals.Answer) {
	for _, a := range q.queue[0].asks {
		a.reply <- ans
	}
	q.queue = q.queue[1:]
}

// choose answers with the option of key; false when the question has none. An
// option whose label ends in … wants words: it opens the field first.
func (q *question) choose(key string) (approvals.Answer, bool) {
	for _, o := range q.request.Options {
		if o.Key != key {
			continue
		}
		if o.Disabled != "" {
			q.problem = o.Label + ": " + o.Disabled
			return approvals.Answer{}, false
		}
		if strings.HasSuffix(o.Label, "…") && q.field == nil {
			q.open(key)
			return approvals.Answer{}, false
		}
		return approvals.Answer{Decision: o.Decision, Reason: q.note}, true
	}
	return approvals.Answer{}, false
}

// has reports whether key is one of the question's options.
func (q *question) has(key string) bool {
	for _, o := range q.request.Options {
		if o.Key == key {
			return true
		}
	}
	return false
}

// open starts the note; with an option's key sending it answers.
func (q *question) open(option string) {
	field := newComposer()
	field.put(q.note)
	q.field, q.option, q.problem = &field, option, ""
}

// send keeps the note and, where it belongs to an option, answers with it.
func (q *question) send() (approvals.Answer, bool) {
	q.note = strings.Join(strings.Fields(q.field.value()), " ")
	option := q.option
	if option == "" {
		q.field = nil
		return approvals.Answer{}, false
	}
	ans, ok := q.choose(option)
	q.field = nil
	return ans, ok
}

// body draws what is asked, without the options.
func (q *question) body(t *theme, w int, home string, full bool) []string {
	r := q.request
	label := func(name string, s style) ([]span, []span) {
		return []span{{fmt.Sprintf("   %-9s", name), s}}, []span{{strings.Repeat(" ", 12), text}}
	}
	var out []string
	field := func(name string, spans ...span) {
		first, rest := label(name, dim)
		out = append(out, wrapper{theme: t, width: w - 1, first: first, rest: rest}.lines(flat(spans)...)...)
	}
	switch {
	case r.Action.Command != "" && r.Action.Kind == approvals.KindEdit:
		out = append(out, folded(t, w, patchLines(t, w, r.Action.Command), 10, full, "the whole change")...)
	case r.Action.Kind == approvals.KindFetch: // the whole address: it says what is sent
		out = append(out, folded(t, w, commandLines(t, w, "GET "+r.Action.Command), 6, full, "the whole address")...)
	case r.Action.Command != "":
		out = append(out, folded(t, w, commandLines(t, w, "$ "+r.Action.Command), 6, full, "the whole command")...)
	case r.Action.Kind == approvals.KindInput:
		// Quoted, so that every character is seen for what it is.
		out = append(out, folded(t, w, commandLines(t, w, strconv.Quote(r.Action.Input)), 6, full, "all that is typed")...)
		field("into", span{"$ " + r.Action.Running.Command, text})
	case r.Action.Title != "" && r.Action.Title != r.Title:
		out = append(out, t.row(w-1, span{"   " + r.Action.Title, strong}))
	}
	if r.Action.Folder != "" {
		field("in", span{tilde(r.Action.Folder, home), text})
	}
	for i, p := range r.Action.Paths {
		name := ""
		if i == 0 {
			name = "files"
		}
		if i == 4 && !full && len(r.Action.Paths) > 5 {
			field("", span{fmt.Sprintf("… and %d more", len(r.Action.Paths)-i), dim})
			break
		}
		field(name, span{tilde(p, home), text})
	}
	for i, d := range r.Denials {
		name := ""
		if i == 0 {
			name = "refused"
		}
		if i == 4 && !full && len(r.Denials) > 5 {
			field("", span{fmt.Sprintf("… and %d more", len(r.Denials)-i), dim})
			break
		}
		verb, _ := denialWords(d)
		field(name, span{verb + " ", text}, span{tilde(d.Target, home), text}, span{"  " + witness(d), dim})
		if full {
			for _, l := range records(d, home) {
				field("", span{l, dim})
			}
		}
	}
	if r.Justification != "" {
		field("reason", span{"“" + r.Justification + "”", style{inkText, italic}}, span{"  the model's words", dim})
	}
	for i, g := range grantLines(r.Grant, home) {
		name := ""
		switch {
		case i == 0 && r.Action.Kind == approvals.KindInput:
			name = "may" // it was granted already
		case i == 0:
			name = "grants"
		}
		field(name, span{"+ ", good}, span{g, strong})
	}
	if r.Grant.Empty() && r.Action.Kind != "" {
		field("grants", span{"nothing beyond the sandbox", text})
	}
	for _, w := range r.Warnings {
		field("", span{"▲ " + w, warn})
	}
	return out
}

// commandLines wraps what runs or is typed.
func commandLines(t *theme, w int, s string) []string {
	return wrapper{theme: t, width: w - 1, first: []span{{"   ", text}}, rest: []span{{"     ", text}}}.lines(span{s, strong})
}

// witness says who tried and how that is known.
func witness(d sandbox.Denial) string {
	how := seenBy(d.Evidence)
	who := d.Who()
	if who == "" {
		return how
	}
	return strings.TrimSuffix(who+", "+how, ", ")
}

// options draws the answers; they look ready only when the question is armed.
func (q *question) options(t *theme, w int) []string {
	key, label := dim, dim
	if q.armed {
		key, label = style{inkWarn, bold}, text
	}
	var rows []string
	row, used := "   ", 3
	for _, o := range q.request.Options {
		name := cut(o.Label, max(w-6-width(o.Key), 8))
		k, l := key, label
		if o.Disabled != "" {
			k, l = dim, style{inkDim, struck}
		}
		item := t.paint(k, show(o.Key)) + " " + t.paint(l, name)
		n := width(o.Key) + 1 + width(name)
		if used > 3 && used+n > w-1 {
			rows = append(rows, strings.TrimRight(row, " "))
			row, used = "   ", 3
		}
		row += item + "   "
		used += n + 3
	}
	return append(rows, strings.TrimRight(row, " "))
}

// view draws the question in at most h rows and says where the cursor of its
// field stands, if it has one. The options always stay; the body gives way.
func (q *question) view(t *theme, w, h int, home string, now time.Time, more int) (lines []string, x, y int) {
	foot := q.options(t, w)
	x, y = -1, -1
	if q.field != nil {
		prompt := "   note for the model: "
		for _, o := range q.request.Options {
			if q.option == o.Key {
				prompt = "   " + cut(strings.TrimRight(o.Label, " …"), w/2) + ": "
			}
		}
		shown, cx, _ := q.field.view(t, max(w-width(prompt)-1, 8), 1)
		line := shown[0]
		if q.field.empty() {
			line = t.paint(dim, "Enter sends; may stay empty")
		}
		foot = append(foot, t.paint(accent, prompt)+line)
		x, y = width(prompt)+cx, len(foot)-1
	} else {
		until := q.deadline(w, now)
		hint := q.hint(w - 2 - spansWidth(until))
		line := t.row(w-1, hint...)
		if until != nil {
			line = t.justify(w-1, hint, until)
		}
		foot = append(foot, line)
	}
	head := []string{q.title(t, w, now, more)}
	body := q.body(t, w, home, false)
	if room := h - len(head) - len(foot); len(body) > room {
		keep := max(room-1, 0)
		hidden := len(body) - keep
		body = body[:keep]
		if room > 0 {
			rest := fmt.Sprintf("   … %d more lines: %s", hidden, keyName(keyFor(everywhere, actToggle)))
			if w >= roomy {
				rest += " shows all of it"
			}
			body = append(body, t.row(w-1, span{rest, warn}))
		}
	}
	if len(body) > 0 && len(head)+len(body)+len(foot) < h {
		body = append(body, "")
	}
	lines = append(append(head, body...), foot...)
	if y >= 0 {
		y += len(head) + len(body)
	}
	if len(lines) > h {
		drop := len(lines) - h
		lines = lines[drop:]
		y -= drop
	}
	return lines, x, y
}

// title is the rule above the question with what is asked in it.
func (q *question) title(t *theme, w int, now time.Time, more int) string {
	s := warn
	if q.armed {
		s.attr |= bold
	}
	title := firstOf(q.request.Title, q.request.Action.Title, "A permission is asked for")
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
		right += waits + clock(now.Sub(q.asks[0].since))
	}
	shown := cut(title, max(w-6-width(right), 10))
	rule := max(w-4-width(shown)-width(right), 0)
	return t.paint(s, "─⊘ "+shown) + t.paint(dim, show(right)) + " " + t.paint(style{ink: s.ink}, strings.Repeat("─", rule))
}

// roomy is from which width on the clocks of a held call are told in sentences.
const roomy = 60

// deadline says when no answer becomes a no.
func (q *question) deadline(w int, now time.Time) []span {
	r := q.request
	if !r.Held || r.Patience == 0 {
		return nil
	}
	left := clock(max(r.Patience-now.Sub(q.asks[0].since), 0))
	if w < roomy {
		return []span{{"no in " + left, dim}}
	}
	return []span{{"unanswered it is a no in " + left, dim}}
}

// clock writes a time as minutes and seconds: it changes its width seldom.
func clock(d time.Duration) string {
	seconds := int(d.Seconds())
	return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
}

// hint is the line below the options, as much of it as fits in w columns.
func (q *question) hint(w int) []span {
	switch {
	case q.problem != "":
		return []span{{"   " + q.problem, warn}}
	case !q.armed:
		return []span{{"   " + keyName(keyFor(everywhere, actArm)), accent}, {" to answer", dim}}
	case q.note != "":
		return []span{{"   with the note “" + q.note + "”", dim}}
	}
	note := []span{{"   " + keyName(keyFor(inQuestion, actNote)), accent}, {" adds a note   ", dim}}
	for _, rest := range []string{" lets go of the keys", " lets go"} {
		if all := append(note[:len(note):len(note)], span{"Esc", accent}, span{rest, dim}); spansWidth(all) <= w {
			return all
		}
	}
	return note
}
