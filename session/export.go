package session

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"codeagent/internal/visible"
	"codeagent/model"
)

// Format is the format of an exported session.
type Format string

const (
	Markdown Format = "markdown"
	HTML     Format = "html"
)

// Export writes the conversation as a page. Part of its content comes from a model and from
// web pages: none of it may look like a part of the page, or be interpreted by the program
// that shows the page.
func (s *Store) Export(w io.Writer, id string, format Format) error {
	f, v, err := s.read(id)
	if err != nil {
		return err
	}
	defer f.Close()
	title, err := v.title()
	if err != nil {
		return failed(id, err)
	}
	out := bufio.NewWriter(w)
	var p page = markdownPage{out}
	if format == HTML {
		p = htmlPage{out}
	}
	name := Summary{Title: title, First: v.head.First}.Name()
	p.begin(visible.Text(name), []string{"session " + v.head.ID, "begun " + v.head.At.Format(time.RFC3339), "in " + visible.Text(v.head.Folder)})
	count := counts{calls: map[string]int{}}
	for r, err := range v.items() {
		if err != nil {
			return failed(id, err)
		}
		part := count.part(*r.Item)
		for _, i := range r.Item.Images {
			part.images = append(part.images, s.drawn(id, i))
		}
		p.part(part)
	}
	p.end()
	return out.Flush()
}

// page writes one format. Its input contains visible characters only and is not escaped.
type page interface {
	begin(title string, facts []string)
	part(part)
	end()
}

// part is one item on a page.
type part struct {
	// class is the item's kind.
	class, heading, text string
	// folded parts are collapsed at first.
	folded bool
	images []drawn
}

// drawn is an image on a page: its description, and its type and data if they exist.
type drawn struct {
	words, mediaType string
	data             []byte
}

// drawn reads an image. The type in its record goes into the page only if a browser shows
// that type as a picture and nothing else.
func (s *Store) drawn(id string, i model.Image) drawn {
	d := drawn{words: visible.Text("[image: " + i.String() + "]")}
	switch i.MediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		d.mediaType, d.data = i.MediaType, s.image(id, i)
	}
	return d
}

// counts numbers the calls on a page, so that a result can refer to its call.
type counts struct {
	messages, made int
	calls          map[string]int // call numbers by id
}

// part returns the next item in the form for the page.
func (c *counts) part(i model.Item) part {
	p := part{class: string(i.Kind), text: visible.Text(i.Text)}
	switch i.Kind {
	case model.User:
		c.messages++
		p.heading = fmt.Sprintf("Message %d", c.messages)
	case model.Assistant:
		p.heading = "Answer"
	case model.Reasoning:
		p.heading, p.folded = "Thinking", true
	case model.Call:
		p.heading = "Call"
		if i.Call != nil {
			c.made++
			c.calls[i.Call.ID] = c.made
			p.heading, p.text = fmt.Sprintf("Call %d of %s", c.made, visible.Text(i.Call.Name)), visible.Text(arguments(i.Call.Arguments))
		}
	case model.Result:
		p.heading, p.folded = "Result", true
		if n := c.calls[i.CallID]; n > 0 {
			p.heading = fmt.Sprintf("Result of call %d", n)
		}
		if i.Failed {
			p.heading += ", failed"
		}
	case model.Note:
		p.heading, p.folded = "Note to the model", true
	case model.Summary:
		p.heading, p.folded = "Summary that replaces what came before", true
	}
	return p
}

// arguments writes one name and value of a call's JSON object at a time, so that texts of
// several lines are readable. Anything else is unchanged.
func arguments(raw string) string {
	d := json.NewDecoder(strings.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return raw
	}
	var b strings.Builder
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return raw
		}
		var text string
		switch {
		case json.Unmarshal(value, &text) != nil:
			text = string(value)
		case strings.Contains(text, "\n"):
			text = "\n" + text
		}
		fmt.Fprintf(&b, "%v: %s\n", name, text)
	}
	if _, err := d.Token(); err != nil {
		return raw
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return raw
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// markdownPage puts every text into a fence: no other quoting of Markdown is safe against
// text that tries to end it.
type markdownPage struct{ w *bufio.Writer }

func (p markdownPage) begin(title string, facts []string) {
	fmt.Fprintf(p.w, "# Session\n\n%s\n", fenced(title+"\n\n"+strings.Join(facts, "\n")))
}

func (p markdownPage) part(t part) {
	text := t.text
	for _, i := range t.images {
		text = strings.TrimPrefix(text+"\n"+i.words, "\n")
	}
	fmt.Fprintf(p.w, "\n## %s\n\n%s\n", plain(t.heading), fenced(text))
}

func (p markdownPage) end() {}

// fenced puts text between two rows of backticks longer than any row in it.
func fenced(text string) string {
	longest, run := 2, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	return fence + "text\n" + text + "\n" + fence
}

// plain removes what Markdown would interpret from a heading: the model chooses a call's name.
func plain(heading string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && strings.ContainsRune("\\`*{}[]()<>#+!|~&\n\t", r) {
			return '?'
		}
		return r
	}, heading)
}
