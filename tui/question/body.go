package question

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/internal/visible"
	"codeagent/sandbox"
	"codeagent/tui/denial"
	"codeagent/tui/diff"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/trying"
)

// The order of a question, from the top: who asks, what a yes allows, warnings, what
// was denied, what runs and where, the model's reason. codeagent computes all but
// the last two. Words of the model are drawn behind a bar that no line of codeagent
// has, so they cannot imitate one.

// row is one row of a question; at identifies it among those that must be seen.
type row struct {
	text string
	at   part.Sight
}

// limits bound the rows of parts that are cut on a low screen; zero: no bound.
type limits struct{ command, reason, denials int }

// sheet collects rows.
type sheet struct {
	t     *paint.Theme
	w     int
	home  string
	most  limits
	all   string // the key that shows all
	label string // the last one: it stands only at the first of its fields
	rows  []row
	every []part.Sight // all that must be seen, in rows or left out
}

// field is a part of the question to be drawn.
type field struct {
	label  string
	name   string     // identifies its lines among those that must be seen; "": they need not be
	mark   paint.Span // before the first row, as wide as the indentation of the others
	quoted bool       // words of the model or of a command
	hard   bool       // every space stays: paths
	most   int        // rows; 0: no bound
	tail   int        // of them the last ones
	spans  []paint.Span
	rows   []diff.Row // instead of mark and spans
}

// add draws f line by line: each that was seen stays seen at another width.
func (s *sheet) add(f field) {
	var rows []row
	if f.rows == nil {
		f.rows = linesOf(f.mark, f.spans)
	}
	for i, line := range f.rows {
		var marks []paint.Span
		if f.quoted {
			marks = append(marks, paint.Faint.Span("│ "))
		}
		label := f.label
		if label == s.label {
			label = ""
		}
		s.label = cmp.Or(f.label, s.label)
		drawn := paint.Wrapper{Theme: s.t, Width: s.w - 1, First: append(marks, line.Gutter...), Hard: f.hard}.Labelled(label, line.Text...)
		for at, text := range drawn {
			r := row{text: text}
			if f.name != "" {
				r.at = part.Sight{Line: fmt.Sprint(f.name, " ", i), At: at, Of: len(drawn), Width: s.w}
				s.every = append(s.every, r.at)
			}
			rows = append(rows, r)
		}
	}
	if f.most > 0 && len(rows) > f.most {
		rows = s.shortened(rows, f.most, f.tail)
	}
	s.rows = append(s.rows, rows...)
}

// linesOf splits spans at their line breaks. The mark stands before the first line.
func linesOf(mark paint.Span, spans []paint.Span) []diff.Row {
	out := []diff.Row{{Gutter: []paint.Span{mark}}}
	for _, span := range spans {
		for i, text := range strings.Split(span.Text, "\n") {
			if i > 0 {
				out = append(out, diff.Row{Gutter: []paint.Span{paint.Text.Span(strings.Repeat(" ", paint.Width(mark.Text)))}})
			}
			last := &out[len(out)-1]
			last.Text = append(last.Text, span.Style.Span(text))
		}
	}
	return out
}

// shortened replaces the rows that exceed most, before the last tail ones, with a
// line that counts them.
func (s *sheet) shortened(rows []row, most, tail int) []row {
	head := max(most-1-tail, 0)
	say := fmt.Sprintf("   … %d more lines: %s", len(rows)-head-tail, s.all)
	gap := row{text: s.t.Row(s.w-1, paint.Warn.Span(say))}
	return slices.Concat(rows[:head], []row{gap}, rows[len(rows)-tail:])
}

// sheet is what the question says, in the order above. titled: the rule above
// shows the whole title. label is how wide the answers' labels may be below.
func (q *Question) sheet(t *paint.Theme, w int, home string, most limits, titled bool, label int) *sheet {
	s := &sheet{t: t, w: w, home: home, most: most, all: q.keys.Name(keys.Everywhere, keys.Toggle)}
	if !titled {
		s.add(field{label: "asks", name: "title", spans: paint.Flat([]paint.Span{paint.Strong.Span(titleOf(q.request, home))})})
	}
	if q.tried != nil {
		s.tried(q.tried, q.request.Action, most == limits{})
	}
	s.opens(q.request)
	for i, text := range q.request.Warnings {
		s.add(field{name: fmt.Sprint("warning ", i), mark: paint.Warn.Span("▲ "), spans: paint.Flat([]paint.Span{paint.Warn.Span(visible.Fact(text))})})
	}
	s.answers(q.request.Options, label)
	s.refused(q.request.Denials, q.request.Held)
	for i, text := range q.request.Facts {
		s.add(field{label: "known", name: fmt.Sprint("fact ", i), spans: paint.Flat([]paint.Span{paint.Text.Span(visible.Fact(text))})})
	}
	if a := q.request.Action; q.change == nil && a.Kind == word.KindEdit {
		if q.change = diff.Of(q.request.Changes, home); !diff.Whole(q.request.Changes) {
			q.change = diff.Patch(a.Command)
		}
	}
	s.action(q.request, q.change)
	if reason := q.request.Justification; reason != "" {
		s.add(field{label: "reason", quoted: true, most: s.most.reason, spans: paint.Flat([]paint.Span{paint.Dim.Span("the model says: "), paint.Text.With(paint.Italic).Span("“" + reason + "”")})})
	}
	for _, why := range q.request.Withheld {
		s.add(field{label: "withheld", spans: paint.Flat([]paint.Span{paint.Dim.Span(visible.Fact(why))})})
	}
	return s
}

// tried says what the action did on a draft, whole or how much. Deletions must be seen.
func (s *sheet) tried(x *approvals.Tried, a approvals.Action, whole bool) {
	all, kept := &trying.Tried{}, paint.Good.Span("a yes keeps exactly this, and does not run it again")
	if x.Again != "" {
		kept = paint.Warn.Span("a yes runs it again: " + visible.Fact(x.Again))
	}
	for _, c := range x.Changes {
		all.Changes = append(all.Changes, trying.Change{FileChange: c.FileChange, Note: c.Note, Why: c.Why})
	}
	counts := all.Counts()
	if len(x.Changes) == 0 {
		counts = "no file changed"
	}
	s.add(field{label: "tried", spans: paint.Flat([]paint.Span{paint.Strong.Span(counts), paint.Text.Span("; " + x.Said)})})
	s.add(field{label: "tried", spans: paint.Flat([]paint.Span{kept})})
	gone, rest := trying.Screen{Setting: part.Setting{Home: s.home, Folder: a.Folder}}.Parts(all, s.t, s.w-1)
	for i, line := range gone {
		r := row{line, part.Sight{Line: fmt.Sprint("deleted ", i), Of: 1, Width: s.w}}
		if s.every = append(s.every, r.at); whole {
			s.rows = append(s.rows, r)
		}
	}
	for _, line := range append(rest, "") {
		if whole {
			s.rows = append(s.rows, row{text: line})
		}
	}
}

// answers writes out the labels that are cut below the question: they say for how long and
// for what a yes is.
func (s *sheet) answers(all []approvals.Option, long int) {
	for _, o := range all {
		if !o.Decision.Yes() || shortLabel(o, s.w, long) == o.Label {
			continue
		}
		s.add(field{label: "answers", name: "answer " + o.Key, mark: paint.Text.Span(o.Key + " "), spans: paint.Flat([]paint.Span{paint.Text.Span(visible.Fact(o.Label))})})
	}
}

// opens says what a yes allows, or what the command that gets the input may do.
func (s *sheet) opens(r approvals.Request) {
	label := "allows"
	if r.Action.Kind == word.KindInput {
		label = "may" // it was granted already
	}
	one := func(i int, mark, text string) {
		s.add(field{label: label, name: fmt.Sprint("opens ", i), mark: paint.Good.Span(mark), hard: true, spans: paint.Flat([]paint.Span{paint.Strong.Span(visible.Fact(text))})})
	}
	lines := append(denial.Grants(r.Grant, s.home), r.Opens...)
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
		if !held && i == most && len(denials) > most+1 {
			s.add(field{spans: []paint.Span{paint.Dim.Span(fmt.Sprintf("… and %d more", len(denials)-i))}})
			return
		}
		spans := []paint.Span{paint.Text.Span(d.Verb() + " "), paint.Text.Span(visible.Fact(paint.Tilde(d.Target, s.home)))}
		if d.Count > 1 {
			spans = append(spans, paint.Dim.Span(fmt.Sprintf(" ×%d", d.Count)))
		}
		spans = append(spans, paint.Dim.Span("  "+visible.Fact(witness(d))))
		f := field{label: label, mark: paint.Warn.Span("⊘ "), spans: paint.Flat(spans)}
		if held { // it names who asks in full, which the title may shorten
			f.name = fmt.Sprint("refused ", i)
		}
		s.add(f)
		if s.most.denials > 0 {
			continue
		}
		for _, l := range denial.Records(d, s.home) {
			s.add(field{mark: paint.Dim.Span("  "), spans: paint.Flat([]paint.Span{paint.Dim.Span(visible.Fact(l))})})
		}
	}
}

// action says what runs, is typed, fetched or changed, and where. If a yes applies its
// text, all of that must be seen.
func (s *sheet) action(r approvals.Request, change []diff.Row) {
	a := r.Action
	f := field{label: "command", name: "action", quoted: true, most: s.most.command, tail: (s.most.command - 1) / 2}
	folder := "folder"
	if r.GrantOnly {
		f.name, folder = "", ""
	}
	into := f
	into.name = ""
	switch {
	case a.Kind == word.KindEdit && a.Command != "":
		f.label, f.hard, f.rows = "change", true, change
	case a.Kind == word.KindFetch:
		f.label, f.hard, f.spans = "fetch", true, paint.Flat([]paint.Span{paint.Strong.Span("GET " + a.Command)})
	case a.Kind == word.KindInput: // quoted, so that every character is seen for what it is
		f.label, f.hard, f.spans = "types", true, []paint.Span{paint.Strong.Span(strconv.Quote(a.Input))}
		s.add(f)
		f = into
		f.label, f.mark, f.spans = "into", paint.Text.Span("$ "), []paint.Span{paint.Text.Span(a.Running.Command)}
	case a.Server != nil: // what it does with them, no sandbox knows
		f.label, f.hard, f.spans = "sends", true, []paint.Span{paint.Strong.Span(a.Server.Readable())}
		s.add(f)
		f = into
		f.label, f.spans = "to", []paint.Span{paint.Text.Span(a.Server.Program)}
	case a.Command != "":
		f.mark, f.spans = paint.Strong.Span("$ "), []paint.Span{paint.Strong.Span(a.Command)}
	case a.Title != "" && a.Title != r.Title:
		f.label, f.spans = "does", paint.Flat([]paint.Span{paint.Strong.Span(visible.Fact(a.Title))})
	default:
		return
	}
	s.add(f)
	if name := r.Backend(); name != "" {
		s.add(field{label: "backend", hard: true, spans: paint.Flat([]paint.Span{paint.Text.Span(visible.Fact(name))})})
	}
	if a.Folder != "" {
		s.add(field{label: "in", name: folder, hard: true, spans: paint.Flat([]paint.Span{paint.Text.Span(visible.Fact(paint.Tilde(a.Folder, s.home)))})})
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
