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

// Export writes the conversation as a page of Markdown. Part of its content comes from a model and from
// web pages: none of it may look like a part of the page, or be interpreted by the program
// that shows the page. So every text is in a fence: no other quoting of Markdown is safe against text
// that tries to end it.
func (s *Store) Export(w io.Writer, id string) error {
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
	name := Summary{Label: named, First: v.head.First}.Name()
	head := fmt.Sprintf("%s\n\nsession %s\nbegun %s\nin %s", visible.Text(name), v.head.ID, v.head.At.Format(time.RFC3339), visible.Text(v.head.Folder))
	fmt.Fprintf(out, "# Session\n\n%s\n", visible.Fenced(head, "text"))
	count := counts{calls: map[string]int{}}
	for r, err := range v.items() {
		if err != nil {
			return failed(id, err)
		}
		heading, text := count.part(*r.Item)
		for _, i := range r.Item.Images {
			text = strings.TrimPrefix(text+"\n"+visible.Text("[image: "+i.String()+"]"), "\n")
		}
		fmt.Fprintf(out, "\n## %s\n\n%s\n", plain(heading), visible.Fenced(text, "text"))
	}
	return out.Flush()
}

// counts numbers the calls on a page, so that a result can refer to its call.
type counts struct {
	messages, made int
	calls          map[string]int // call numbers by id
}

// part returns the heading and the text of the next item.
func (c *counts) part(i model.Item) (heading, text string) {
	text = visible.Text(i.Text)
	switch i.Kind {
	case model.User:
		c.messages++
		heading = fmt.Sprintf("Message %d", c.messages)
	case model.Assistant:
		heading = "Answer"
	case model.Reasoning:
		heading = "Thinking"
	case model.Call:
		heading = "Call"
		if i.Call != nil {
			c.made++
			c.calls[i.Call.ID] = c.made
			heading, text = fmt.Sprintf("Call %d of %s", c.made, visible.Text(i.Call.Name)), visible.Text(arguments(i.Call.Arguments))
		}
	case model.Result:
		heading = "Result"
		if n := c.calls[i.CallID]; n > 0 {
			heading = fmt.Sprintf("Result of call %d", n)
		}
		if i.Failed {
			heading += ", failed"
		}
	case model.Note:
		heading = "Note to the model"
	case model.Summary:
		heading = "Summary that replaces what came before"
	}
	return heading, text
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

// plain removes what Markdown would interpret from a heading: the model chooses a call's name.
func plain(heading string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && strings.ContainsRune("\\`*{}[]()<>#+!|~&\n\t", r) {
			return '?'
		}
		return r
	}, heading)
}
