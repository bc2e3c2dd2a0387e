// Package lines is the face without a full screen, for screen readers and for terminals that cannot move
// their cursor. It writes what happens in lines, each once, and takes what the person types as lines. It
// cannot reach the screen: it looks at a Scene, and returns what it wants as an intent. It performs no
// IO: the writer is handed in. Start with Face.
package lines

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"codeagent/tui/form"
	"codeagent/tui/keys"
	"codeagent/tui/page"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/picker"
	"codeagent/tui/question"
	"codeagent/tui/slash"
	"codeagent/tui/transcript"
)

// Scene is what there is to write.
type Scene struct {
	Canvas     transcript.Canvas
	Transcript *transcript.Transcript
	Front      part.Dock    // the question that waits; nil: none
	Panel      part.Overlay // nil: none
	// Hint is for the person, Hints its number.
	Hint  string
	Hints int
	// Running: a turn runs. Ready: the session has begun, and the person has not left.
	Running, Ready bool
}

// listed is an overlay with a list to choose from.
type listed interface{ Listed() *picker.Picker }

// Tallest is the height of a page that is written as a whole.
const Tallest = 4000

// announceAfter is how long a call runs before it is named: others are named by their end.
const announceAfter = time.Second

// enter is the key of that name.
var enter = keys.Key{Code: '\r'}

// Face writes what is new in each scene.
type Face struct {
	out   io.Writer
	look  func() Scene
	grace time.Duration // how long a question is there before it takes an answer
	// shown is how many entries of the transcript were written, named how many were named as running.
	shown, named int
	hinted       int                // the number of the last hint
	asked        *question.Question // the question that was written
	part         any                // its note or rule that was written
	open         part.Dock          // the question that takes an answer, and until its invitation
	asking       asking             // the question of a server that was written
	until        string
	page         part.Overlay // the page that was written and takes a line
	prompted     bool         // the prompt is the last thing that was written
	announcing   bool
}

// asking is the question of an MCP server: field is the one that takes a line, -1 before the first, the
// number of fields when all were asked.
type asking struct {
	*form.Form
	field int
}

// New returns a face that writes to out what look sees.
func New(out io.Writer, look func() Scene, grace time.Duration) *Face {
	return &Face{out: out, look: look, grace: grace}
}

// Interrupted ends the line in which the person pressed Ctrl+C.
func (f *Face) Interrupted() {
	f.prompted = false
	f.print("")
}

// Take takes what the person wrote: an answer, a choice, a command or a message.
func (f *Face) Take(text string) part.Intent {
	text, f.prompted = strings.TrimSpace(text), false
	over := f.page
	if f.page = nil; over == nil {
		return f.answer(text)
	}
	switch p := over.(type) {
	case listed:
		if n, err := strconv.Atoi(text); err == nil {
			return part.All{part.Show{}, p.Listed().Pick(n)}
		}
	case *page.Page:
		if text == "" {
			return part.All{part.Show{}, p.Accept()}
		}
	}
	return part.All{part.Show{}, f.answer(text)}
}

// answer takes a line for the question in front, or else for the model.
func (f *Face) answer(text string) (intent part.Intent) {
	s := f.look()
	switch q := s.Front.(type) {
	case *form.Form:
		if f.open != s.Front {
			break
		}
		if intent, handled := f.formLine(text); handled {
			return intent
		}
	case *question.Question:
		switch {
		case q.Field != nil:
			q.Field.Typed(text)
			intent, _ = q.Key(enter)
			return intent
		case q.Rule != nil:
			return f.rule(q, text)
		case q.Has(text) && f.open == s.Front:
			intent, _ = q.Key(keys.Key{Code: []rune(text)[0], Text: text})
			return intent
		}
	}
	switch text {
	case "":
		return nil
	case "/more":
		f.printAll(s.Transcript.Opened(canvas(s)))
		return nil
	}
	if s.Front != nil {
		f.print("That is a message for the model. The question still waits for one of its answers.")
	}
	// What is left of the message is removed: a hint says why it was not sent.
	return part.All{slash.Written{Text: text, Send: true}, slash.Written{}}
}

// rule takes a line while the rule of the answer "always" is shown.
func (f *Face) rule(q *question.Question, text string) part.Intent {
	switch text {
	case "":
		return q.SaveRule()
	case "scope":
		q.Rule.ToggleScope()
		f.part = nil
	case "toml":
		q.Rule.Toggle()
		f.part = nil
	default:
		q.Rule = nil
	}
	return nil
}

// Write writes what is new since the last time.
func (f *Face) Write() part.Intent {
	s := f.look()
	f.shown = min(f.shown, s.Transcript.Size())
	lines, shown := s.Transcript.Settled(canvas(s), f.shown)
	f.printAll(lines)
	f.shown, f.named = shown, max(f.named, shown)
	if s.Hints != f.hinted {
		if f.hinted = s.Hints; s.Hint != "" {
			f.print(s.Hint)
		}
	}
	var wants part.All
	if s.Panel != nil && s.Panel != f.page && f.writePanel(s) {
		s.Panel, wants = nil, part.All{part.Show{}}
	}
	wants = append(wants, f.writeQuestion(s), f.writeForm(s))
	if s.Ready && !s.Running && s.Front == nil && s.Panel == nil && !f.prompted {
		fmt.Fprint(f.out, "> ")
		f.prompted = true
	}
	if s.Running && !f.announcing {
		f.announcing = true
		wants = append(wants, part.Wait{Pause: announceAfter, Then: f.announce})
	}
	return wants
}

// announce names the calls that run.
func (f *Face) announce() part.Intent {
	s := f.look()
	f.announcing = false
	f.printAll(s.Transcript.Running(canvas(s), f.named))
	f.named = s.Transcript.Size()
	return nil
}

// opens opens a question for answers, unless another one is in front by then.
func (f *Face) opens(q part.Dock) part.Intent {
	return part.Wait{Pause: f.grace, Then: func() part.Intent {
		if q == f.look().Front {
			f.open = q
			f.print(f.until)
		}
		return nil
	}}
}

func (f *Face) writeQuestion(s Scene) (opens part.Intent) {
	q, ok := s.Front.(*question.Question)
	if !ok {
		if f.asked = nil; s.Front == nil {
			f.open, f.asking = nil, asking{}
		}
		return nil
	}
	var written any
	switch {
	case q.Field != nil:
		written = q.Field
	case q.Rule != nil:
		written = q.Rule
	}
	if q == f.asked && written == f.part {
		return nil
	}
	if q != f.asked { // what is being typed is not about it
		f.open, f.asking = nil, asking{} // a form is asked again afterwards, with what was given
		opens = f.opens(q)
	}
	f.asked, f.part = q, written
	c := s.Canvas
	switch {
	case q.Field != nil:
		f.print("reason (optional), then Enter:")
	case q.Rule != nil:
		drawn := q.View(part.Canvas{Theme: c.Theme, Width: c.Width, Home: c.Home, Now: c.Now}, Tallest)
		drawn.Seen()
		f.printAll(drawn.Lines)
		f.print("Enter saves this rule; the word scope changes where it holds; toml shows its text; anything else goes back")
	default:
		q.NoPreview()
		q.Arm(false) // for what its drawing offers
		lines, _, _ := question.NewPage(q, c.Home, func() time.Time { return c.Now }).View(c.Theme, c.Width, Tallest)
		lines = withoutTail(lines)
		for i, l := range lines[:max(len(lines)-1, 0)] {
			if l = spoken(l); i == 0 {
				l = "question: " + strings.TrimPrefix(l, "denied: ")
			}
			f.print(l)
		}
		// The last line is about keys, and about the time that is left.
		until := ""
		if _, left, held := strings.Cut(ansi.Strip(lines[len(lines)-1]), "auto-deny"); held {
			until = " Auto-deny" + left + "."
		}
		f.until = "Answer with one of these, then Enter." + until
	}
	return opens
}

// writePanel writes an overlay that was read, and reports whether it is done: it takes no line.
func (f *Face) writePanel(s Scene) (done bool) {
	switch over := s.Panel.(type) {
	case listed:
		p := over.Listed()
		rows, ready := p.Rows()
		if !ready {
			return false
		}
		f.page = nil
		f.print(p.Title)
		for _, l := range []string{p.Problem, p.None} {
			if l != "" && (len(rows) == 0 || l == p.Problem) {
				f.print(l)
			}
		}
		for i, r := range rows {
			words := []string{strconv.Itoa(i+1) + ":", r.Text, r.About, r.More}
			if r.Mark {
				words = append(words, "(in use)")
			}
			f.print(strings.Join(strings.Fields(strings.Join(words, " ")), " "))
		}
		if len(rows) > 0 {
			f.page = s.Panel
			f.print("A number " + p.Enter + "; an empty line closes the list.")
		}
	case *page.Page:
		p := over
		if !p.Ready() {
			return false
		}
		f.page = nil
		lines := withoutTail(p.Draw(s.Canvas.Theme, s.Canvas.Width-1))
		f.print(p.Title)
		f.printAll(lines)
		if p.Accept != nil {
			f.page = p
			f.print("Enter " + p.Enter + "; any other line closes this.")
		}
	default:
		f.page = nil
		f.print("this needs a screen")
	}
	return f.page == nil
}

// writeForm writes the question of a server that is new.
func (f *Face) writeForm(s Scene) part.Intent {
	q, ok := s.Front.(*form.Form)
	if !ok || q == f.asking.Form {
		return nil
	}
	f.asking, f.open = asking{q, -1}, nil // what is being typed is not about it
	for _, l := range q.Spoken() {
		f.print(l)
	}
	f.until = "Answer with one of these, then Enter. " + q.Answers()
	return f.opens(q)
}

// formLine takes a line for the question of a server; false: not one of its answers.
func (f *Face) formLine(text string) (intent part.Intent, handled bool) {
	q, i := f.asking.Form, f.asking.field
	switch {
	case i >= 0 && i < q.Fields():
		if err := q.Take(i, text); err != nil {
			f.print("It " + err.Error() + ".")
			return nil, true
		}
		f.nextField()
		return nil, true
	case i >= 0 && text == "1":
		return q.Send(), true
	case !q.Has(text) || i >= 0 && text != "n" && text != "c":
		return nil, false
	}
	if first, ok := q.Starts(text); ok && i < 0 {
		f.asking.field = first - 1
		f.nextField()
		return nil, true
	}
	return q.Choose(text), true
}

func (f *Face) nextField() {
	f.asking.field++
	if i, q := f.asking.field, f.asking.Form; i < q.Fields() {
		for _, l := range q.Prompt(i) {
			f.print(l)
		}
		return
	}
	f.print(f.asking.Summary())
	if !f.asking.Has("c") {
		f.print("1: send it; n: no answer")
		return
	}
	f.print("1: send it; n: decline; c: cancel")
}

// printAll writes drawn lines.
func (f *Face) printAll(drawn []string) {
	for _, l := range drawn {
		f.print(spoken(l))
	}
}

// print writes a line of shown text.
func (f *Face) print(text string) {
	if f.prompted {
		fmt.Fprintln(f.out)
		f.prompted = false
	}
	for l := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(f.out, strings.TrimRight(paint.Show(l), " "))
	}
}

// canvas leaves room: a mark in words is wider.
func canvas(s Scene) transcript.Canvas {
	s.Canvas.Lines, s.Canvas.Width = true, max(s.Canvas.Width-9, 20)
	return s.Canvas
}

func withoutTail(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(ansi.Strip(lines[len(lines)-1])) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// spoken is a drawn line as it is read aloud: no styles, no frames, words for the mark in the gutter.
func spoken(l string) string {
	l = strings.TrimLeft(strings.TrimRight(ansi.Strip(l), " ─│"), "─")
	for _, m := range [][2]string{
		{"✓", "done:"}, {"✗", "failed:"}, {"⊘", "denied:"}, {"?", "asked:"}, {"▲", "warning:"}, {"■", "stopped:"}, {"●", "running:"}, {"┃", "message:"},
		{"·", ""}, {"◆", ""}, {"≡", ""}, {"↶", ""},
	} {
		if rest, ok := strings.CutPrefix(l, m[0]+" "); ok {
			return strings.TrimLeft(m[1]+" "+rest, " ")
		}
	}
	return l
}
