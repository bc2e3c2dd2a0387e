package session

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
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
	named, err := v.label()
	if err != nil {
		return failed(id, err)
	}
	out := bufio.NewWriter(w)
	var p page = markdownPage{out}
	if format == HTML {
		p = htmlPage{out}
	}
	name := Summary{Label: named, First: v.head.First}.Name()
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
	fmt.Fprintf(p.w, "# Session\n\n%s\n", visible.Fenced(title+"\n\n"+strings.Join(facts, "\n"), "text"))
}

func (p markdownPage) part(t part) {
	text := t.text
	for _, i := range t.images {
		text = strings.TrimPrefix(text+"\n"+i.words, "\n")
	}
	fmt.Fprintf(p.w, "\n## %s\n\n%s\n", plain(t.heading), visible.Fenced(text, "text"))
}

func (p markdownPage) end() {}

// plain removes what Markdown would interpret from a heading: the model chooses a call's name.
func plain(heading string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && strings.ContainsRune("\\`*{}[]()<>#+!|~&\n\t", r) {
			return '?'
		}
		return r
	}, heading)
}

// htmlPage writes one file that contains its images, has no script and loads nothing; its
// content security policy forbids both.
type htmlPage struct{ w *bufio.Writer }

const htmlTop = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
img { display: block; max-width: 100%%; margin: .3rem 0; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0; font: inherit; }
.tool_call pre, .tool_result pre, .reasoning pre, .note pre { font: 13px/1.4 ui-monospace, monospace; }
section { border-left: 3px solid #8886; padding-left: 1rem; margin: 1rem 0; }
.user { border-color: #27c; }
h1 { font-size: 1.3rem; } h2, summary { font-size: .8rem; color: #888; margin: 0; font-weight: 600; }
</style>
</head>
<body>
`

func (p htmlPage) begin(title string, facts []string) {
	fmt.Fprintf(p.w, htmlTop, html.EscapeString(title))
	fmt.Fprintf(p.w, "<h1>%s</h1>\n", html.EscapeString(title))
	for _, f := range facts {
		fmt.Fprintf(p.w, "<p>%s</p>\n", html.EscapeString(f))
	}
}

func (p htmlPage) part(t part) {
	open, end := "<h2>%s</h2>", ""
	if t.folded {
		open, end = "<details><summary>%s</summary>", "</details>"
	}
	fmt.Fprintf(p.w, "<section class=\"%s\">"+open+"<pre>\n%s</pre>", html.EscapeString(t.class), html.EscapeString(t.heading), html.EscapeString(t.text))
	for _, i := range t.images {
		p.image(i)
	}
	fmt.Fprint(p.w, end+"</section>\n")
}

// image writes an image, or its description if the data is lost.
func (p htmlPage) image(i drawn) {
	if len(i.data) == 0 {
		fmt.Fprintf(p.w, "<pre>%s</pre>", html.EscapeString(i.words))
		return
	}
	fmt.Fprintf(p.w, "<img alt=\"%s\" src=\"data:%s;base64,", html.EscapeString(i.words), html.EscapeString(i.mediaType))
	e := base64.NewEncoder(base64.StdEncoding, p.w)
	_, _ = e.Write(i.data) // the page's Flush reports the error
	_ = e.Close()
	fmt.Fprint(p.w, "\">")
}

func (p htmlPage) end() { fmt.Fprint(p.w, "</body>\n</html>\n") }
