// Package plain writes a request for a permission in plain words, for faces without a screen
// of their own: an editor, an MCP client, a log. It performs no IO and grants nothing. Start
// reading at Of, then Question.Text for the order and Question.Answer for the way back.
package plain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/internal/visible"
)

// Question is a request in words. Names in it, which commands and models choose, are escaped:
// each text is one line, and nothing in it is obeyed by a terminal. What codeagent computed is
// complete; the texts of the model are quoted and may be shortened.
type Question struct {
	// Title says in one line who wants what.
	Title string `json:"title"`
	// Allows is what a yes allows beyond the sandbox, one item each.
	Allows []string `json:"allows"`
	// Warnings and Known are one sentence each. Evidence is what the sandbox denied; with Held
	// the denied call waits for the answer, for Patience seconds at most.
	Warnings []string `json:"warnings,omitempty"`
	Evidence []string `json:"evidence,omitempty"`
	Held     bool     `json:"held,omitempty"`
	Patience int      `json:"patience_s,omitempty"`
	Known    []string `json:"known,omitempty"`
	// Does names what Text is: "runs", "changes", "fetches", "types", "sends". Text, and Into, the command
	// that is typed to or the server that is sent to, are rows of the model's; Folder is where it happens.
	Does   string   `json:"does,omitempty"`
	Text   []string `json:"text,omitempty"`
	Into   []string `json:"into,omitempty"`
	Folder string   `json:"folder,omitempty"`
	// Backend is where a rule runs the command; "" is the backend of the session.
	Backend string `json:"backend,omitempty"`
	// Always says what the answer always decides, Rule is the text that it saves.
	Always []string `json:"always,omitempty"`
	Rule   []string `json:"rule,omitempty"`
	// Withheld says which answers are not offered, and why.
	Withheld []string `json:"withheld,omitempty"`
	// Reason is the model's justification, at most reasonRows rows.
	Reason []string `json:"reason,omitempty"`
	// Options are the answers, the least permission first.
	Options []Option `json:"options"`
}

// Option is one answer. ID is the same in every question with this answer: once, session,
// all_edits, always, outside, outside_session, no, stop.
type Option struct {
	ID       string             `json:"id"`
	Label    string             `json:"label"`
	Decision approvals.Decision `json:"-"`
}

// no is the ID of the answer that only denies: approvals.Deny is empty.
const no = "no"

// Bounds of the text that would run, be written or be typed. A text that has to be read before
// a yes is shown whole; if it is longer than wholeBytes no such yes is offered. Of others, the
// middle is left out.
const (
	wholeBytes = 64 << 10
	textRows   = 40
	textTail   = 12
)

// Of writes r in words.
func Of(r approvals.Request) Question {
	q := Question{
		Title: row(cmp.Or(r.Title, r.Action.Title, "permission needed")), Allows: allows(r), Held: r.Held,
		Warnings: rows(r.Warnings), Evidence: rows(Denials(r.Denials)), Known: rows(r.Facts), Withheld: rows(r.Withheld),
	}
	if r.Held {
		q.Patience = int(r.Patience.Seconds())
	}
	long := q.action(r)
	if r.Lasting != nil {
		q.Always, q.Rule = Quoted(r.Lasting.Sentence(), 0), Quoted(r.Lasting.Project, 0)
	}
	if r.Justification != "" {
		q.Reason = Quoted(visible.Line(r.Justification), reasonRows)
	}
	for _, o := range r.Options {
		if long && o.Decision.Yes() {
			q.Withheld = append(q.Withheld, row(o.Label)+": the text is too long to be shown here")
			continue
		}
		id := string(o.Decision)
		if o.Decision == approvals.Deny {
			id = no
		}
		q.Options = append(q.Options, Option{ID: id, Label: row(strings.TrimSuffix(o.Label, ", because …")), Decision: o.Decision})
	}
	return q
}

// allows lists the grant, and the files of an edit. An input gets nothing that its command does
// not have.
func allows(r approvals.Request) []string {
	list := append(r.Grant.Lines(nil), r.Opens...)
	if r.Action.Kind == word.KindEdit {
		for _, p := range r.Action.Paths {
			if g := "write " + p; !slices.Contains(list, g) {
				list = append(list, g)
			}
		}
	}
	return append([]string{}, rows(list)...)
}

// action writes what happens and where. It reports whether the text, which a yes applies, is too
// long to be read before.
func (q *Question) action(r approvals.Request) (long bool) {
	a := r.Action
	text := a.Command
	switch {
	case a.Kind == word.KindInput:
		q.Does, text = "types", strconv.Quote(a.Input)
		q.Into = shortened(Quoted(a.Running.Command, 0))
	case a.Kind == word.KindFetch:
		q.Does, text = "fetches", "GET "+a.Command
	case a.Kind == word.KindEdit:
		q.Does = "changes"
	case a.Server != nil:
		q.Does, text = "sends", a.Server.Readable()
		q.Into = Quoted(a.Server.Program, 0)
	case text != "":
		q.Does = "runs"
	case a.Title != r.Title:
		q.Does, text = "does", a.Title
	}
	if text == "" {
		q.Does = ""
		return false
	}
	q.Text, q.Folder, q.Backend = Quoted(text, 0), row(a.Folder), row(r.Backend())
	if long = !r.GrantOnly && len(text) > wholeBytes; long || r.GrantOnly {
		q.Text = shortened(q.Text)
	}
	return long
}

// shortened replaces the middle of list by a count of what is left out.
func shortened(list []string) []string {
	if len(list) <= textRows {
		return list
	}
	head, tail := list[:textRows-textTail-1], list[len(list)-textTail:]
	return slices.Concat(head, []string{fmt.Sprintf("… %d rows", len(list)-len(head)-len(tail))}, tail)
}

// Words writes the whole question without its options: what codeagent computed first, then the
// action, the model's reason last. Every row of a text that codeagent did not write begins
// with a mark that no row of codeagent has.
func (q Question) Words() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	each := func(label string, list []string) {
		for _, l := range list {
			line("%s: %s", label, l)
		}
	}
	block := func(label, mark string, list []string) {
		if len(list) == 0 {
			return
		}
		line("%s:", label)
		for _, l := range list {
			line("%s", strings.TrimRight("  "+mark+" "+l, " "))
		}
	}
	line("%s", q.Title)
	if len(q.Allows) == 0 {
		line("allows: no extra permissions")
	}
	label := "allows"
	if q.Does == "types" {
		label = "the command may" // it was granted already
	}
	each(label, q.Allows)
	each("warning", q.Warnings)
	if label = "denied"; q.Held {
		label = "tries"
	}
	each(label, q.Evidence)
	each("known", q.Known)
	if q.Patience > 0 {
		line("no answer within %d seconds is a no", q.Patience)
	}
	block("always means", "+", q.Always)
	block("always saves this rule", "+", q.Rule)
	each("not offered", q.Withheld)
	block(q.Does, "|", q.Text)
	block("into", "|", q.Into)
	if q.Folder != "" {
		line("in: %s", q.Folder)
	}
	if q.Backend != "" {
		line("backend: %s", q.Backend)
	}
	block("reason, in the model's words", ">", q.Reason)
	return strings.TrimRight(b.String(), "\n")
}

// Markdown is Words in a fenced block, for clients that draw Markdown: nothing in it is drawn as
// a link, a picture or a heading. The fence is longer than every row of backquotes inside.
func (q Question) Markdown() string {
	return visible.Fenced(q.Words(), "text")
}

// Answer returns the answer that the option with this ID means. Every other ID is a no.
func (q Question) Answer(id string) approvals.Answer {
	for _, o := range q.Options {
		if o.ID == id {
			return approvals.Answer{Decision: o.Decision}
		}
	}
	return approvals.Answer{Decision: approvals.Unanswered, Reason: "the client chose an option that was not offered: " + short.Quote(id, 64)}
}
