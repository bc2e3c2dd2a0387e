package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/sandbox"
)

// The order of a question, from the top: who asks, what a yes allows, warnings, what
// was denied, what runs and where, the model's reason. codeagent computes all but
// the last two. Words of the model are drawn behind a bar that no line of codeagent
// has, so they cannot imitate one.

// stanza is one thing that a question says, in rows.
type stanza struct {
	name string // identifies it among those that must be seen; "" for forNothing
	need need
	rows []stanzaRow
	of   int // how many rows it has as a whole
}

// stanzaRow is one row; at is its index in the stanza, -1 for a row that replaces
// others.
type stanzaRow struct {
	text string
	at   int
}

// limits bound the rows of parts that are cut on a low screen; zero: no bound.
type limits struct{ command, reason, denials int }

// sheet collects stanzas.
type sheet struct {
	t    *theme
	w    int
	home string
	most limits
	all  string // the key that shows all
	out  []stanza
}

// narrow is the width below which labels have no column: each is above its stanza.
const narrow = 50

// field is a stanza to be drawn.
type field struct {
	label  string
	name   string
	need   need
	mark   span // before the first row, as wide as the indentation of the others
	quoted bool // words of the model or of a command
	hard   bool // every space stays: paths
	most   int  // rows; zero is no bound
	tail   int  // of them the last ones
	spans  []span
}

// add draws a field.
func (s *sheet) add(f field) {
	const left = 12
	indent := fmt.Sprintf("%*s", left, "")
	first := []span{dim.span(fmt.Sprintf("   %-9s", f.label))}
	rest := []span{text.span(indent)}
	st := stanza{name: f.name, need: f.need}
	var above []string
	if s.w < narrow {
		first, rest = []span{text.span("   ")}, []span{text.span("   ")}
		if f.label != "" {
			above = []string{s.t.row(s.w-1, dim.span(" "+f.label))}
		}
	}
	if f.quoted {
		bar := faint.span("│ ")
		first, rest = append(first, bar), append(rest, bar)
	}
	if f.mark.text != "" {
		first, rest = append(first, f.mark), append(rest, text.span(fmt.Sprintf("%*s", width(f.mark.text), "")))
	}
	lines := wrapper{theme: s.t, width: s.w - 1, first: first, rest: rest, hard: f.hard}.lines(f.spans...)
	lines = append(above, lines...)
	st.of = len(lines)
	for i, l := range lines {
		st.rows = append(st.rows, stanzaRow{l, i})
	}
	if f.most > 0 && len(lines) > f.most {
		st.rows = s.shortened(st.rows, f.most, f.tail)
	}
	s.out = append(s.out, st)
}

// shortened replaces the rows that exceed most, before the last tail ones, with a
// line that counts them.
func (s *sheet) shortened(rows []stanzaRow, most, tail int) []stanzaRow {
	head := max(most-1-tail, 0)
	say := fmt.Sprintf("   … %d more lines: %s", len(rows)-head-tail, s.all)
	gap := stanzaRow{s.t.row(s.w-1, warn.span(say)), -1}
	return slices.Concat(rows[:head], []stanzaRow{gap}, rows[len(rows)-tail:])
}

// stanzas are what the question says, in the order above. titled: the rule above
// shows the whole title.
func (q *question) stanzas(t *theme, w int, home string, most limits, titled bool) []stanza {
	s := &sheet{t: t, w: w, home: home, most: most, all: q.keys.all}
	if !titled {
		s.add(field{label: "asks", name: "title", need: forYes, spans: flat([]span{strong.span(titleOf(q.request))})})
	}
	s.opens(q.request)
	for i, text := range q.request.Warnings {
		s.add(field{name: fmt.Sprint("warning ", i), need: forYes, mark: warn.span("▲ "), spans: flat([]span{warn.span(text)})})
	}
	s.refused(q.request.Denials, q.request.Held)
	s.action(q.request)
	if reason := q.request.Justification; reason != "" {
		s.add(field{label: "reason", quoted: true, most: s.most.reason, spans: flat([]span{dim.span("the model says: "), text.with(italic).span("“" + reason + "”")})})
	}
	return s.out
}

// opens says what a yes allows, or what the command that gets the input may do.
func (s *sheet) opens(r approvals.Request) {
	label := "allows"
	if r.Action.Kind == event.KindInput {
		label = "may" // it was granted already
	}
	one := func(i int, mark, text string) {
		name := fmt.Sprint("opens ", i)
		if i > 0 {
			label = ""
		}
		s.add(field{label: label, name: name, need: forYes, mark: good.span(mark), hard: true, spans: flat([]span{strong.span(text)})})
	}
	lines := grantLines(r.Grant, s.home)
	for i, g := range lines {
		one(i, "+ ", g)
	}
	if r.Action.Kind == event.KindEdit {
		for _, p := range r.Action.Paths {
			if g := "write " + tilde(p, s.home); !slices.Contains(lines, g) {
				lines = append(lines, g)
				one(len(lines)-1, "+ ", g)
			}
		}
	}
	if len(lines) == 0 && r.Action.Kind != "" {
		one(0, "  ", "no extra permissions")
	}
}

// refused lists what the sandbox denied: the first few, or all in the full view.
func (s *sheet) refused(denials []sandbox.Denial, held bool) {
	label, most := "denied", mostDenials
	if s.most.denials > 0 {
		most = s.most.denials
	}
	for i, d := range denials {
		if i == most && len(denials) > most+1 {
			s.add(field{spans: []span{dim.span(fmt.Sprintf("… and %d more", len(denials)-i))}})
			return
		}
		verb, _ := denialWords(d)
		spans := []span{text.span(verb + " "), text.span(tilde(d.Target, s.home))}
		if d.Count > 1 {
			spans = append(spans, dim.span(fmt.Sprintf(" ×%d", d.Count)))
		}
		spans = append(spans, dim.span("  "+witness(d)))
		f := field{label: label, mark: warn.span("⊘ "), spans: flat(spans)}
		if held { // it names who asks in full, which the title may shorten
			f.name, f.need = fmt.Sprint("refused ", i), forYes
		}
		s.add(f)
		label = ""
		if s.most.denials > 0 {
			continue
		}
		for _, l := range records(d, s.home) {
			s.add(field{mark: dim.span("  "), spans: flat([]span{dim.span(l)})})
		}
	}
}

// action says what runs, is typed, fetched or changed, and where. Outside the sandbox
// only its text says what a command does, so all of it must be seen. So must typed
// input and an address, which leave the sandbox unchanged.
func (s *sheet) action(r approvals.Request) {
	a := r.Action
	f := field{label: "command", name: "action", need: forOutside, quoted: true, most: s.most.command, tail: (s.most.command - 1) / 2}
	if r.Grant.Unsandboxed {
		f.need = forYes
	}
	switch {
	case a.Kind == event.KindEdit && a.Command != "":
		f.label, f.name, f.need, f.hard, f.spans = "change", "", forNothing, true, patchSpans(a.Command)
	case a.Kind == event.KindFetch:
		f.label, f.need, f.hard, f.spans = "fetch", forYes, true, flat([]span{strong.span("GET " + a.Command)})
	case a.Kind == event.KindInput: // quoted, so that every character is seen for what it is
		f.label, f.need, f.hard, f.spans = "types", forYes, true, []span{strong.span(strconv.Quote(a.Input))}
		s.add(f)
		f = field{label: "into", quoted: true, most: s.most.command, tail: f.tail, spans: []span{text.span("$ " + a.Running.Command)}}
	case a.Command != "":
		f.spans = []span{strong.span("$ " + a.Command)}
	case a.Title != "" && a.Title != r.Title:
		f.label, f.name, f.need, f.spans = "does", "", forNothing, flat([]span{strong.span(a.Title)})
	default:
		return
	}
	s.add(f)
	if a.Folder != "" {
		s.add(field{label: "in", name: "folder", need: forOutside, hard: true, spans: flat([]span{text.span(tilde(a.Folder, s.home))})})
	}
}

// witness says which program tried and how that is known.
func witness(d sandbox.Denial) string {
	how := seenBy(d.Evidence)
	who := d.Who()
	if who == "" {
		return how
	}
	return strings.TrimSuffix(who+", "+how, ", ")
}
