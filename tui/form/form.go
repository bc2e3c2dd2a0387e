// Package form is a question of an MCP server as the person sees and answers it: which server
// asks first, its words behind a bar that no row of codeagent has, and no value sent before all
// that is sent was visible. It performs no IO and opens nothing; it hands the answer to whoever
// asked. Start with Queue and Form, then body.go for what is shown.
package form

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"codeagent/mcp/inquiry"
	"codeagent/tui/composer"
	"codeagent/tui/keys"
)

// Ask is a question and where its answer goes. Reply has room for one.
type Ask struct {
	Question inquiry.Question
	// Call is the title of the tool call that the server works on, as codeagent shows it; "": it
	// is not known.
	Call  string
	Reply chan inquiry.Reply
	// Wanted: the person asked for it, so it is filled in at once.
	Wanted bool
}

// Keys are the names of the keys that a form's hints mention.
type Keys struct{ Arm, Next, Back, Page string }

// Form is a question of a server, docked below the transcript.
type Form struct {
	// Behind: a request for a permission waits while this form is filled in.
	Behind bool
	Ask    *Ask
	fields []entry
	keys   Keys
	// An armed form takes the keys of its answers. A barred one is armed by a key only, because
	// the person disarmed it.
	armed, barred bool
	// filling: the fields take all keys.
	filling bool
	at      stop // what the cursor is at
	top     int  // the first row of the body that is drawn
	follow  bool // the cursor's row is brought into view
	room    int  // rows of the body that were drawn last
	problem string
	seen    sights
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

// Queue holds the questions that wait; only the front one is shown.
type Queue struct {
	Waiting []*Form
	Keys    Keys
}

// Front is the form that is shown, or nil.
func (q *Queue) Front() *Form {
	if len(q.Waiting) == 0 {
		return nil
	}
	return q.Waiting[0]
}

// Add queues a.
func (q *Queue) Add(a *Ask) {
	f := &Form{Ask: a, keys: q.Keys, seen: sights{rows: map[sight]bool{}, whole: map[string]bool{}, left: true}}
	for _, field := range a.Question.Fields {
		f.fields = append(f.fields, newEntry(field))
	}
	if a.Wanted && len(q.Waiting) == 0 {
		f.Fill()
	}
	q.Waiting = append(q.Waiting, f)
}

// Withdraw removes an ask that nobody waits for any more.
func (q *Queue) Withdraw(a *Ask) {
	q.Waiting = slices.DeleteFunc(q.Waiting, func(f *Form) bool { return f.Ask == a })
}

// Answer closes the front form.
func (q *Queue) Answer(r inquiry.Reply) {
	q.Waiting[0].Ask.Reply <- r
	q.Waiting = q.Waiting[1:]
}

// Disarm takes the keys of the answers from the front form: the person types elsewhere.
func (q *Queue) Disarm() {
	if f := q.Front(); f != nil {
		f.armed = false
	}
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

// Armed reports whether the form takes the keys of its answers.
func (f *Form) Armed() bool { return f.armed }

// Filling reports whether the fields take all keys.
func (f *Form) Filling() bool { return f.filling }

// Hold says that key came too early to answer the form; "": none did.
func (f *Form) Hold(key string) {
	if f.problem = ""; key != "" {
		f.problem = key + " came too early: press it again"
	}
}

// Waits reports whether a pause in typing arms the form.
func (f *Form) Waits() bool { return !f.armed && !f.barred }

// Arm makes the form take the keys of its answers.
func (f *Form) Arm() { f.armed, f.barred = true, false }

// Bar takes the keys from the form until the person arms it.
func (f *Form) Bar() { f.armed, f.barred, f.filling, f.problem = false, true, false, "" }

// The keys of the answers.
const (
	yes     = "1"
	decline = "n"
	cancel  = "c"
	address = "u"
)

// Has reports whether key is one of the form's answers.
func (f *Form) Has(key string) bool {
	return key == yes || key == decline || key == cancel || key == address && f.Ask.Question.URL != ""
}

// Choose takes the key of an answer. reply is nil where the form stays open: the fields are filled
// in first, or not all of it was read. copied is an address to be copied, or "".
func (f *Form) Choose(key string) (reply *inquiry.Reply, copied string) {
	switch {
	case key == decline:
		return &inquiry.Reply{Action: inquiry.Declined}, ""
	case key == cancel:
		return &inquiry.Reply{Action: inquiry.Cancelled}, ""
	case key == address && f.Has(key):
		return nil, f.Ask.Question.URL
	case key == yes && len(f.fields) > 0:
		f.Fill()
	case key == yes && f.read():
		return &inquiry.Reply{Action: inquiry.Accepted, Values: map[string]any{}}, ""
	}
	return nil, ""
}

// Fill gives all keys to the fields, if there are any. What is above them stays in view until the
// person types.
func (f *Form) Fill() {
	f.Arm()
	f.filling = len(f.fields) > 0
}

// Leave gives the keys back to the answers.
func (f *Form) Leave() { f.filling, f.problem = false, "" }

// Press takes a key while the form is filled in: what is typed, or else what the key does. reply
// is the answer, nil as long as it is open; false: the form has no use for the key.
func (f *Form) Press(typed string, do keys.Action, w int) (reply *inquiry.Reply, handled bool) {
	e := &f.fields[f.at.field]
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
		handled = e.text.Edit(do, textWidth(w))
		if e.text.Text != before {
			e.problem = ""
		}
		return nil, handled
	}
	return nil, true
}

// Paste inserts into the field that the cursor is at.
func (f *Form) Paste(s string) {
	if e := &f.fields[f.at.field]; len(e.taken) == 0 {
		e.text.Typed(oneLine(s))
		e.problem = ""
	}
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
func (f *Form) next() *inquiry.Reply {
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
func (f *Form) Send() *inquiry.Reply {
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
	if !f.read() {
		return nil
	}
	return &inquiry.Reply{Action: inquiry.Accepted, Values: values}
}

// Scroll moves the body by pages.
func (f *Form) Scroll(pages int) {
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
