package form

import (
	"fmt"
	"strings"

	"codeagent/internal/visible"
)

// Where no screen is drawn a form is asked line by line: what it is, its answers, then each field,
// and at the end what is sent.

// Spoken is the question in lines, for a person who gets all of it and not as a drawing.
func (f *Form) Spoken() []string {
	q := f.ask.Question
	out := []string{"question: " + f.who()}
	if f.call != "" && !q.ByModel() {
		out = append(out, "during: "+visible.Fact(f.call))
	}
	if q.URL != "" {
		out = append(out, "at host: "+visible.Fact(host(q.URL)), "address, in the server's words: "+visible.Line(q.URL))
	}
	if note := f.note(); note != "" {
		out = append(out, note)
	}
	f.unseen = -1
	out = append(out, f.says()+visible.Line(q.Message)+"”")
	if f.one() {
		return append(out, f.fields[0].spoken()...)
	}
	return out
}

// says introduces words of the asker.
func (f *Form) says() string {
	if f.ask.Question.ByModel() {
		return "the model says: “"
	}
	return "the server says: “"
}

// spoken are the choices, numbered.
func (e *entry) spoken() (out []string) {
	for n, c := range e.Choices {
		if c = fmt.Sprintf("%d: “%s”", n+1, visible.Line(c)); len(e.About) > 0 && e.About[n] != "" {
			c += ", “" + visible.Line(e.About[n]) + "”"
		}
		out = append(out, c)
	}
	return out
}

// Answers names the answers in a line.
func (f *Form) Answers() string {
	var out []string
	if f.one() {
		out = append(out, fmt.Sprintf("1 to %d: that choice", len(f.fields[0].Choices)))
	}
	for _, a := range f.answers() {
		if a.Key != address {
			out = append(out, a.Key+": "+strings.TrimSuffix(a.Label, " …"))
		}
	}
	return strings.Join(out, "; ")
}

// Fields is how many fields are asked.
func (f *Form) Fields() int { return len(f.fields) }

// Prompt asks for field i, in lines.
func (f *Form) Prompt(i int) []string {
	e := &f.fields[i]
	words := fmt.Sprintf("field %d of %d, the server calls it “%s”: %s", i+1, len(f.fields), visible.Line(e.Label()), e.Wants())
	if f.ask.Question.ByModel() {
		words = strings.ToLower(e.Label()) + ": " + e.Wants()
	}
	if e.Required {
		words += ", required"
	}
	out := []string{words}
	if e.Description != "" && e.Description != e.Label() {
		out = append(out, f.says()+visible.Line(e.Description)+"”")
	}
	out = append(out, e.spoken()...)
	hint := "an empty line leaves it out"
	switch v, err := e.value(); {
	case err == nil && v != nil && e.Required:
		hint = "an empty line keeps “" + visible.Line(e.Written(v)) + "”"
	case err == nil && v != nil:
		hint = "an empty line keeps “" + visible.Line(e.Written(v)) + "”, a - leaves it out"
	case e.Required:
		hint = ""
	}
	if hint != "" {
		out = append(out, hint)
	}
	return out
}

// Take makes a line the value of field i. The error says why it does not fit.
func (f *Form) Take(i int, line string) error {
	e := &f.fields[i]
	switch {
	case line == "":
		_, err := e.value()
		return err
	case line == "-" && !e.Required:
		e.set(nil)
		return nil
	}
	v, err := e.Parse(oneLine(line))
	if err == nil {
		e.set(v)
	}
	return err
}

// Summary says what is sent.
func (f *Form) Summary() string {
	var all []string
	for i := range f.fields {
		e := &f.fields[i]
		if v, err := e.value(); err == nil && v != nil {
			all = append(all, visible.Line(e.Label())+": “"+visible.Line(e.Written(v))+"”")
		}
	}
	if len(all) == 0 {
		return "sends: nothing"
	}
	return "sends: " + strings.Join(all, ", ")
}
