package question

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/internal/visible"
	"codeagent/sandbox"
	"codeagent/tui/denial"
	"codeagent/tui/paint"
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
	t    *paint.Theme
	w    int
	home string
	most limits
	all  string // the key that shows all
	out  []stanza
}

// field is a stanza to be drawn.
type field struct {
	label  string
	name   string
	need   need
	mark   paint.Span // before the first row, as wide as the indentation of the others
	quoted bool       // words of the model or of a command
	hard   bool       // every space stays: paths
	most   int        // rows; 0: no bound
	tail   int        // of them the last ones
	spans  []paint.Span
}

func (s *sheet) add(f field) {
	var marks []paint.Span
	if f.quoted {
		marks = append(marks, paint.Faint.Span("│ "))
	}
	lines := paint.Wrapper{Theme: s.t, Width: s.w - 1, First: append(marks, f.mark), Hard: f.hard}.Labelled(f.label, f.spans...)
	st := stanza{name: f.name, need: f.need, of: len(lines)}
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
	gap := stanzaRow{s.t.Row(s.w-1, paint.Warn.Span(say)), -1}
	return slices.Concat(rows[:head], []stanzaRow{gap}, rows[len(rows)-tail:])
}

// stanzas are what the question says, in the order above. titled: the rule above
// shows the whole title. label is how wide the answers' labels may be below.
func (q *Question) stanzas(t *paint.Theme, w int, home string, most limits, titled bool, label int) []stanza {
	s := &sheet{t: t, w: w, home: home, most: most, all: q.keys.All}
	if !titled {
		s.add(field{label: "asks", name: "title", need: forYes, spans: paint.Flat([]paint.Span{paint.Strong.Span(titleOf(q.request, home))})})
	}
	s.opens(q.request)
	for i, text := range q.request.Warnings {
		s.add(field{name: fmt.Sprint("warning ", i), need: forYes, mark: paint.Warn.Span("▲ "), spans: paint.Flat([]paint.Span{paint.Warn.Span(visible.Fact(text))})})
	}
	s.answers(q.request.Options, label)
	s.refused(q.request.Denials, q.request.Held)
	for i, text := range q.request.Facts {
		label := "known"
		if i > 0 {
			label = ""
		}
		s.add(field{label: label, name: fmt.Sprint("fact ", i), need: forYes, spans: paint.Flat([]paint.Span{paint.Text.Span(visible.Fact(text))})})
	}
	s.action(q.request)
	if reason := q.request.Justification; reason != "" {
		s.add(field{label: "reason", quoted: true, most: s.most.reason, spans: paint.Flat([]paint.Span{paint.Dim.Span("the model says: "), paint.Text.With(paint.Italic).Span("“" + reason + "”")})})
	}
	name := "withheld"
	for _, why := range q.request.Withheld {
		s.add(field{label: name, spans: paint.Flat([]paint.Span{paint.Dim.Span(visible.Fact(why))})})
		name = ""
	}
	return s.out
}

// answers writes out the labels that are cut below the question: they say for how long and
// for what a yes is.
func (s *sheet) answers(all []approvals.Option, long int) {
	label := "answers"
	for _, o := range all {
		if !o.Decision.Yes() || shortLabel(o, s.w, long) == o.Label {
			continue
		}
		s.add(field{label: label, name: "answer " + o.Key, need: forYes, mark: paint.Text.Span(o.Key + " "), spans: paint.Flat([]paint.Span{paint.Text.Span(visible.Fact(o.Label))})})
		label = ""
	}
}

// opens says what a yes allows, or what the command that gets the input may do.
func (s *sheet) opens(r approvals.Request) {
	label := "allows"
	if r.Action.Kind == word.KindInput {
		label = "may" // it was granted already
	}
	one := func(i int, mark, text string) {
		name := fmt.Sprint("opens ", i)
		if i > 0 {
			label = ""
		}
		s.add(field{label: label, name: name, need: forYes, mark: paint.Good.Span(mark), hard: true, spans: paint.Flat([]paint.Span{paint.Strong.Span(visible.Fact(text))})})
	}
	lines := denial.Grants(r.Grant, s.home)
	for i, g := range lines {
		one(i, "+ ", g)
	}
	if r.Action.Kind == word.KindEdit {
		for _, p := range r.Action.Paths {
			if g := "write " + paint.Tilde(p, s.home); !slices.Contains(lines, g) {
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
	label, most := "denied", denial.Most
	if held { // it has not been denied yet
		label = "tries"
	}
	if s.most.denials > 0 {
		most = s.most.denials
	}
	for i, d := range denials {
		if i == most && len(denials) > most+1 {
			s.add(field{spans: []paint.Span{paint.Dim.Span(fmt.Sprintf("… and %d more", len(denials)-i))}})
			return
		}
		verb, _ := denial.Words(d)
		spans := []paint.Span{paint.Text.Span(verb + " "), paint.Text.Span(visible.Fact(paint.Tilde(d.Target, s.home)))}
		if d.Count > 1 {
			spans = append(spans, paint.Dim.Span(fmt.Sprintf(" ×%d", d.Count)))
		}
		spans = append(spans, paint.Dim.Span("  "+visible.Fact(witness(d))))
		f := field{label: label, mark: paint.Warn.Span("⊘ "), spans: paint.Flat(spans)}
		if held { // it names who asks in full, which the title may shorten
			f.name, f.need = fmt.Sprint("refused ", i), forYes
		}
		s.add(f)
		label = ""
		if s.most.denials > 0 {
			continue
		}
		for _, l := range denial.Records(d, s.home) {
			s.add(field{mark: paint.Dim.Span("  "), spans: paint.Flat([]paint.Span{paint.Dim.Span(visible.Fact(l))})})
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
	case a.Kind == word.KindEdit && a.Command != "":
		f.label, f.name, f.need, f.hard, f.spans = "change", "", forNothing, true, patchSpans(a.Command)
	case a.Kind == word.KindFetch:
		f.label, f.need, f.hard, f.spans = "fetch", forYes, true, paint.Flat([]paint.Span{paint.Strong.Span("GET " + a.Command)})
	case a.Kind == word.KindInput: // quoted, so that every character is seen for what it is
		f.label, f.need, f.hard, f.spans = "types", forYes, true, []paint.Span{paint.Strong.Span(strconv.Quote(a.Input))}
		s.add(f)
		f = field{label: "into", quoted: true, most: s.most.command, tail: f.tail, mark: paint.Text.Span("$ "), spans: []paint.Span{paint.Text.Span(a.Running.Command)}}
	case a.Server != nil: // what it does with them, no sandbox knows
		f.label, f.hard, f.spans = "sends", true, []paint.Span{paint.Strong.Span(a.Server.Readable())}
		if f.need = forNothing; r.Grant.Empty() {
			f.need, f.most = forYes, 0
		}
		s.add(f)
		f = field{label: "to", quoted: true, most: s.most.command, tail: f.tail, spans: []paint.Span{paint.Text.Span(a.Server.Program)}}
	case a.Command != "":
		f.mark, f.spans = paint.Strong.Span("$ "), []paint.Span{paint.Strong.Span(a.Command)}
	case a.Title != "" && a.Title != r.Title:
		f.label, f.name, f.need, f.spans = "does", "", forNothing, paint.Flat([]paint.Span{paint.Strong.Span(visible.Fact(a.Title))})
	default:
		return
	}
	s.add(f)
	if a.Folder != "" {
		s.add(field{label: "in", name: "folder", need: forOutside, hard: true, spans: paint.Flat([]paint.Span{paint.Text.Span(visible.Fact(paint.Tilde(a.Folder, s.home)))})})
	}
}

func witness(d sandbox.Denial) string {
	how := denial.SeenBy(d.Evidence)
	who := d.Who()
	if who == "" {
		return how
	}
	return strings.TrimSuffix(who+", "+how, ", ")
}

// patchSpans colours the patch that an edit wants to apply. It is shown as written,
// because the files are not read before the answer.
func patchSpans(patch string) []paint.Span {
	var out []paint.Span
	for _, line := range strings.Split(strings.TrimSuffix(patch, "\n"), "\n") {
		s := paint.Dim
		switch {
		case line == "*** Begin Patch", line == "*** End Patch":
			continue
		case strings.HasPrefix(line, "*** "):
			line, s = strings.TrimPrefix(line, "*** "), paint.Strong
		case strings.HasPrefix(line, "@@"):
			s = paint.Faint
		case strings.HasPrefix(line, "+"):
			s = paint.Added
		case strings.HasPrefix(line, "-"):
			s = paint.Gone
		}
		if len(out) > 0 {
			line = "\n" + line
		}
		out = append(out, s.Span(line))
	}
	return out
}
