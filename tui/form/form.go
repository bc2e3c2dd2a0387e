// Package form is a question of an MCP server or of the model as the person sees and answers it:
// who asks first, their words behind a bar that no row of codeagent has, and no value sent before
// all that is sent was visible. It performs no IO and opens nothing; it hands the answer to whoever
// asked. Start with Form, then body.go for what is shown.
package form

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"codeagent/mcp/inquiry"
	"codeagent/tui/composer"
	"codeagent/tui/keys"
	"codeagent/tui/part"
)

// Ask is a question and where its answer goes. Reply has room for one.
type Ask struct {
	Question inquiry.Question
	Reply    chan inquiry.Reply
	// Wanted: the person asked for it, so it is filled in at once.
	Wanted bool
}

// Form is a question that grants nothing, docked below the transcript.
type Form struct {
	part.Arming
	ask *Ask
	// call is the title of the tool call that the server works on, as codeagent shows it; "": it
	// is not known.
	call   string
	fields []entry
	keys   *keys.Table
	// filling: the fields take all keys.
	filling bool
	at      stop // what the cursor is at
	top     int  // the first row of the body that is drawn
	follow  bool // the cursor's row is brought into view
	room    int  // rows of the body that were drawn last
	width   int  // of that drawing
	problem string
	seen    part.Sights
	// unseen is the first row of the last drawing that was not seen, -1 for none.
	unseen int
}

// entry is a field while it is filled in.
type entry struct {
	inquiry.Field
	text  composer.Composer // of what is typed
	taken []bool            // of Choices, and of yes and no
	// problem says why the value does not fit, once it was looked at.
	problem string
}

// stop is a place of the cursor: a field, and its choice; 0 for what is typed.
type stop struct{ field, choice int }

// Dock asks a.
func (a *Ask) Dock(s part.Setting) part.Dock {
	f := &Form{ask: a, call: s.Call(a.Question.CallID), keys: s.Keys}
	for _, field := range a.Question.Fields {
		f.fields = append(f.fields, newEntry(field))
	}
	if a.Wanted && s.Free {
		f.Arm(true)
	}
	return f
}

// Join is never possible: each question is asked.
func (f *Form) Join(part.Ask) bool { return false }

// Withdraw reports whether it was a that nobody waits for any more.
func (f *Form) Withdraw(a part.Ask) bool { return a == f.ask }

// Rank lets what is being filled in stay.
func (f *Form) Rank() part.Rank {
	if f.filling {
		return part.Writing
	}
	return part.Later
}

// reply answers.
func (f *Form) reply(r inquiry.Reply) part.Intent {
	said := map[string]string{inquiry.Accepted: "answered", inquiry.Declined: "declined", inquiry.Cancelled: "cancelled"}[r.Action]
	done := part.Done{Dock: f}
	if !f.ask.Wanted && !f.ask.Question.ByModel() { // the call of the model shows it
		done.Said = "question of " + f.ask.Question.Asker() + ": " + said
	}
	f.ask.Reply <- r
	return done
}

func newEntry(f inquiry.Field) entry {
	e := entry{Field: f, text: composer.New()}
	e.taken = make([]bool, len(e.options()))
	e.set(f.Default)
	return e
}

// set makes v the value; nil: none.
func (e *entry) set(v any) {
	chosen, several := v.([]string)
	written := e.Written(v)
	e.text.Set("")
	if len(e.taken) == 0 {
		e.text.Typed(oneLine(written)) // not as a paste: a long one would be folded
	}
	for i, c := range e.options() {
		e.taken[i] = v != nil && !several && c == written || slices.Contains(chosen, c)
	}
}

// oneLine is a text on one line: values have one.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// options are what can be chosen; none where a text is typed.
func (e *entry) options() []string {
	if e.Kind == inquiry.Boolean {
		return []string{"yes", "no"}
	}
	return e.Choices
}

// value is what the person gave; nil: nothing.
func (e *entry) value() (any, error) {
	if e.Kind != inquiry.Choice && e.Kind != inquiry.Choices {
		written := e.text.Value()
		for i, c := range e.options() {
			if e.taken[i] {
				written = c
			}
		}
		return e.Parse(written)
	}
	// Not by Parse, which also takes numbers, and splits at commas.
	chosen := []string{}
	for i, c := range e.Choices {
		if e.taken[i] {
			chosen = append(chosen, c)
		}
	}
	switch {
	case len(chosen) == 0:
		return nil, e.Fits(nil)
	case e.Kind == inquiry.Choice:
		return chosen[0], nil
	}
	return chosen, e.Fits(chosen)
}

// take chooses option i, or leaves it out if it was chosen.
func (e *entry) take(i int) {
	on := !e.taken[i]
	if e.Kind != inquiry.Choices {
		clear(e.taken)
	}
	e.taken[i], e.problem = on, ""
}

// Writes reports whether the fields take all keys.
func (f *Form) Writes() bool { return f.filling }

// Hold says that key came too early to answer the form; "": none did.
func (f *Form) Hold(key string) {
	if f.problem = ""; key != "" {
		f.problem = key + " came too early: press it again"
	}
}

// Arm makes the form take the keys of its answers; where the person wants it, the fields take all
// keys, except where one key answers. What is above them stays in view until the person types.
func (f *Form) Arm(wanted bool) {
	f.Arming.Arm(wanted)
	f.filling = f.filling || wanted && len(f.fields) > 0 && !f.one()
}

// Bar takes the keys from the form until the person arms it.
func (f *Form) Bar() { f.Arming.Bar(); f.leave() }

// leave gives the keys back to the answers.
func (f *Form) leave() { f.filling, f.problem = false, "" }

// The keys of the answers.
const (
	yes     = "1"
	decline = "n"
	cancel  = "c"
	address = "u"
)

// Has reports whether key is one of the form's answers.
func (f *Form) Has(key string) bool {
	return f.picks(key) >= 0 || slices.ContainsFunc(f.answers(), func(a part.Answer) bool { return a.Key == key })
}

// answers are the keys and what they do, but for those that take a choice at once.
func (f *Form) answers() []part.Answer {
	q, no := f.ask.Question, []part.Answer{{Key: decline, Label: "decline"}, {Key: cancel, Label: "cancel"}}
	if q.ByModel() {
		no = []part.Answer{{Key: decline, Label: "no answer"}}
	}
	switch {
	case f.one():
		return append([]part.Answer{{Key: fmt.Sprint(len(f.fields[0].Choices) + 1), Label: "own words …"}}, no...)
	case q.URL != "":
		return append([]part.Answer{{Key: yes, Label: "agree, and open it yourself"}, {Key: address, Label: "copy the address"}}, no...)
	case len(q.Fields) == 0:
		return append([]part.Answer{{Key: yes, Label: "agree"}}, no...)
	}
	return append([]part.Answer{{Key: yes, Label: "answer …"}}, no...)
}

// note says what the person should know before answering; "": nothing.
func (f *Form) note() string {
	switch q := f.ask.Question; {
	case q.ByModel():
		return "about the task; an answer permits nothing"
	case q.URL != "":
		return "codeagent does not open this page; you would"
	case len(q.Fields) > 0:
		return "the server gets what you enter: no passwords, no keys"
	}
	return ""
}

// one reports whether the model asks for one choice: a key takes it.
func (f *Form) one() bool { return f.ask.Question.ByModel() && f.fields[0].Kind == inquiry.Choice }

// picks is the choice that a key takes at once, or -1.
func (f *Form) picks(key string) int {
	if i := strings.Index("1234", key); f.one() && len(key) == 1 && i < len(f.fields[0].Choices) {
		return i
	}
	return -1
}

// Starts returns the field that is filled in first after a key; false: the key fills in nothing.
func (f *Form) Starts(key string) (field int, ok bool) {
	if f.one() {
		return 1, key == fmt.Sprint(len(f.fields[0].Choices)+1)
	}
	return 0, key == yes && len(f.fields) > 0
}

// Key takes a key of an armed form.
func (f *Form) Key(k keys.Key) (part.Intent, bool) {
	switch do := f.keys.Find(k, keys.InForm, keys.Everywhere); {
	case do == keys.PageUp:
		f.scroll(-1)
	case do == keys.PageDown:
		f.scroll(1)
	case f.filling:
		return f.press(k, do)
	case f.keys.Find(k, keys.InQuestion) == keys.Option && f.Has(k.Keystroke()):
		return f.Choose(k.Keystroke()), true
	default:
		return nil, false
	}
	return nil, true
}

// Choose takes the key of an answer. The form stays open where the fields are filled in first, or
// where not all of it was read.
func (f *Form) Choose(key string) part.Intent {
	switch {
	case key == decline:
		return f.reply(inquiry.Reply{Action: inquiry.Declined})
	case key == cancel:
		return f.reply(inquiry.Reply{Action: inquiry.Cancelled})
	case key == address:
		return part.Copy(f.ask.Question.URL)
	}
	if field, ok := f.Starts(key); ok {
		f.Arm(true)
		f.filling, f.follow = true, true
		f.enter(field)
		return nil
	}
	if i := f.picks(key); i >= 0 {
		clear(f.fields[0].taken)
		f.fields[0].take(i)
	}
	return f.Send()
}

// press takes a key while the form is filled in.
func (f *Form) press(k keys.Key, do keys.Action) (part.Intent, bool) {
	switch do {
	case keys.Back, keys.Interrupt:
		f.leave()
		return nil, true
	case keys.Arm, keys.Toggle:
		return nil, true
	case keys.None:
		do = f.keys.Find(k, keys.InComposer)
	}
	e, typed := &f.fields[f.at.field], keys.Typed(k)
	f.problem, f.follow = "", true
	switch {
	case do == keys.Send:
		return f.next(), true
	case do == keys.Up:
		f.move(-1)
	case do == keys.Down:
		f.move(1)
	case len(e.taken) > 0:
		if typed != " " {
			return nil, typed != ""
		}
		e.take(f.at.choice)
	case typed != "":
		e.text.Typed(typed)
		e.problem = ""
	default:
		before := e.text.Text
		handled := e.text.Edit(do, textWidth(f.width))
		if e.text.Text != before {
			e.problem = ""
		}
		return nil, handled
	}
	return nil, true
}

// Paste inserts into the field that the cursor is at.
func (f *Form) Paste(s string) part.Intent {
	if e := &f.fields[f.at.field]; len(e.taken) == 0 {
		e.text.Typed(oneLine(s))
		e.problem = ""
	}
	return nil
}

// stops are the places of the cursor, from the top.
func (f *Form) stops() (all []stop) {
	for i := range f.fields {
		for c := range max(len(f.fields[i].taken), 1) {
			all = append(all, stop{i, c})
		}
	}
	return all
}

func (f *Form) move(by int) {
	all := f.stops()
	from := f.at.field
	f.at = all[max(min(slices.Index(all, f.at)+by, len(all)-1), 0)]
	if f.at.field != from {
		if by > 0 {
			f.enter(f.at.field)
		}
		f.look(from)
	}
}

// enter moves the cursor to a field: to what is chosen there.
func (f *Form) enter(field int) {
	f.at = stop{field, max(slices.Index(f.fields[field].taken, true), 0)}
}

// look says at a field that was left what is wrong with its value.
func (f *Form) look(field int) {
	e := &f.fields[field]
	e.problem = ""
	if _, err := e.value(); err != nil && !errors.Is(err, inquiry.ErrMissing) {
		e.problem = err.Error()
	}
}

// next is Enter: it goes to the next field, and after the last one sends the answers. Where a
// choice is required and nothing is chosen yet, it takes the one that the cursor is at.
func (f *Form) next() part.Intent {
	if e := &f.fields[f.at.field]; e.Required && len(e.taken) > 0 && !slices.Contains(e.taken, true) {
		e.take(f.at.choice)
	}
	f.look(f.at.field)
	if f.fields[f.at.field].problem != "" {
		return nil
	}
	if f.at.field+1 < len(f.fields) {
		f.enter(f.at.field + 1)
		return nil
	}
	return f.Send()
}

// Send is the answer with what was filled in; nil where a value does not fit, which is then
// said, or where not all was read.
func (f *Form) Send() part.Intent {
	values := map[string]any{}
	for i := range f.fields {
		e := &f.fields[i]
		v, err := e.value()
		if err != nil {
			e.problem, f.follow = err.Error(), true
			f.enter(i)
			return nil
		}
		if v != nil {
			values[e.Name] = v
		}
	}
	switch {
	case !f.read():
		return nil
	case len(values) == 0 && f.ask.Question.ByModel():
		f.problem = "choose, or write an answer"
		return nil
	}
	return f.reply(inquiry.Reply{Action: inquiry.Accepted, Values: values})
}

// scroll moves the body by pages.
func (f *Form) scroll(pages int) {
	f.top, f.follow = max(f.top+pages*max(f.room-1, 1), 0), false
}

// host is whose page a URL is; "" for what is not a URL.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
