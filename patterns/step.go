package patterns

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"sort"
	"strings"
	"sync"
)

// Step is what ran last: its kind, and the texts in it that the next call may name.
type Step struct {
	Kind  string
	slots []slot
}

// slot is a text that stands in a template by its name.
type slot struct{ name, value string }

// Ran is a call that ended.
type Ran struct {
	Tool, Arguments string
	// Command is the text of a command.
	Command string
	Failed  bool
	// Changed are the files that the call changed, in the form that a model writes. Text is its result.
	Changed []string
	Text    string
}

// Marks enclose the name of a slot. A call that has one is not learned.
const opens, closes = "\u27e6", "\u27e7"

// leastSlot and mostSlot bound the length of a text that fills a slot, maxCall that of a call that is learned.
const leastSlot, mostSlot, maxCall = 3, 256, 4 << 10

// hit is a line of a search: a path, a number and the text.
var hit = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^([^:\n]+):[0-9]+:`) })

// StepOf describes r. A command is known by its first two words, any other call by its tool.
func StepOf(r Ran) Step {
	s := Step{Kind: r.Tool}
	if words := strings.Fields(r.Command); len(words) > 0 && len(r.Changed) == 0 {
		s.Kind += " " + strings.Join(words[:min(2, len(words))], " ")
	}
	if r.Failed {
		s.Kind += " (failed)"
	}
	add := func(name, value string) {
		if n := len(value); n >= leastSlot && n <= mostSlot {
			s.slots = append(s.slots, slot{opens + name + closes, value})
		}
	}
	if found := hit().FindStringSubmatch(r.Text); found != nil {
		add("hit", found[1])
	}
	for _, path := range r.Changed[:min(1, len(r.Changed))] {
		add("changed", path)
	}
	var arguments map[string]any
	if json.Unmarshal([]byte(r.Arguments), &arguments) == nil {
		for name, value := range arguments {
			if text, ok := value.(string); ok && name != "command" {
				add(name, text)
			}
		}
	}
	// The longest first: one may be a part of another.
	sort.Slice(s.slots, func(i, j int) bool {
		a, b := s.slots[i], s.slots[j]
		return cmp.Or(cmp.Compare(len(b.value), len(a.value)), cmp.Compare(a.name, b.name)) < 0
	})
	return s
}

// call is a call in a template, in this order.
type call struct {
	Tool      string `json:"tool"`
	Arguments any    `json:"arguments"`
}

// Template returns the call as text, with what it took from the step as slots. ok is false for a call that cannot be
// learned.
func (s Step) Template(tool, arguments string) (text string, ok bool) {
	c := call{Tool: tool}
	if len(arguments) > maxCall || strings.Contains(arguments, opens) || json.Unmarshal([]byte(arguments), &c.Arguments) != nil {
		return "", false
	}
	c.Arguments = each(c.Arguments, func(text string) string {
		for _, slot := range s.slots {
			text = replaceWord(text, slot.value, slot.name)
		}
		return text
	})
	return encode(c)
}

// Fill makes a call of a template. ok is false if the step has not all of its slots.
func (s Step) Fill(text string) (tool, arguments string, ok bool) {
	var c call
	if json.Unmarshal([]byte(text), &c) != nil || c.Tool == "" {
		return "", "", false
	}
	c.Arguments = each(c.Arguments, func(text string) string {
		for _, slot := range s.slots {
			text = strings.ReplaceAll(text, slot.name, slot.value)
		}
		return text
	})
	arguments, ok = encode(c.Arguments)
	return c.Tool, arguments, ok && !strings.Contains(arguments, opens)
}

// Same reports whether two texts are the same JSON.
func Same(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	one, _ := encode(x)
	two, _ := encode(y)
	return one == two
}

func encode(v any) (string, bool) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSpace(b.String()), err == nil
}

// each returns v with each string in it replaced, but not the names of fields.
func each(v any, by func(string) string) any {
	switch v := v.(type) {
	case string:
		return by(v)
	case []any:
		for i := range v {
			v[i] = each(v[i], by)
		}
	case map[string]any:
		for name := range v {
			v[name] = each(v[name], by)
		}
	}
	return v
}

// replaceWord replaces word where no letter, digit or part of a path is beside it.
func replaceWord(text, word, by string) string {
	var out strings.Builder
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			out.WriteString(text[from:])
			return out.String()
		}
		at += from
		end := at + len(word)
		out.WriteString(text[from:at])
		if at > 0 && joins(text[at-1]) || end < len(text) && joins(text[end]) {
			out.WriteString(word)
		} else {
			out.WriteString(by)
		}
		from = end
	}
}

func joins(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 || strings.IndexByte("/._-", c) >= 0
}
