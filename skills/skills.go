// Package skills reads what a SKILL.md says about itself: the name and the description in its front
// matter. The file may come from anybody, so both are bounded and on one line. The package performs
// no IO. Start reading at Parse.
package skills

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"codeagent/internal/short"
	"codeagent/internal/visible"
)

// FileName is the file that makes a folder a skill.
const FileName = "SKILL.md"

// Bounds. MaxHead is how much of a file is read to find its front matter.
const (
	MaxHead        = 32 << 10
	maxName        = 64   // letters, as in the specification of the format
	maxDescription = 1024 // the same
)

// Skill is one skill. The model reads the rest of File itself.
type Skill struct {
	Name, Description string
	// File is the absolute path of its SKILL.md.
	File string
}

// Parse reads the start of the SKILL.md at file. The error begins with the file and the line.
func Parse(file string, data []byte) (Skill, error) {
	s := Skill{File: file}
	wrong := func(line int, format string, args ...any) (Skill, error) {
		return s, fmt.Errorf("%s:%d: %s", file, line, fmt.Sprintf(format, args...))
	}
	if !utf8.Valid(data) {
		if len(data) < MaxHead {
			return wrong(1, "it is not UTF-8 text")
		}
		data = []byte(strings.ToValidUTF8(string(data), "\uFFFD")) // the cut may be in a letter
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\uFEFF"), "\r\n", "\n")
	lines := strings.Split(text, "\n")
	if strings.TrimRight(lines[0], " \t") != "---" {
		return wrong(1, "no front matter: the first line must be ---")
	}
	end := 1
	for end < len(lines) && strings.TrimRight(lines[end], " \t") != "---" {
		end++
	}
	if end == len(lines) {
		return wrong(1, "the front matter does not end: a line --- is missing")
	}
	fields, line, err := mapping(lines[1:end])
	if err != nil {
		return wrong(1+line, "%v", err)
	}
	for _, key := range []string{"name", "description"} {
		if v, ok := fields[key]; ok && v.nested {
			return wrong(1+v.line, "%s must be a text", key)
		}
	}
	s.Name = oneLine(fields["name"].text, maxName)
	s.Name = cmp.Or(s.Name, oneLine(path.Base(path.Dir(file)), maxName))
	if s.Description = oneLine(fields["description"].text, maxDescription); s.Description == "" {
		return wrong(1, "the front matter has no description")
	}
	return s, nil
}

func oneLine(text string, most int) string {
	return visible.Line(short.Cut(strings.Join(strings.Fields(text), " "), most))
}

// value is the value of a key of the front matter. nested: it is a list or a mapping.
type value struct {
	text   string
	nested bool
	line   int // from 1
}

// mapping reads the keys at the left margin, in the part of YAML that front matter uses: plain and
// quoted texts, also over several lines, and blocks after | and >. It skips the content of lists and
// mappings. line is where an error is, from 1.
func mapping(lines []string) (out map[string]value, line int, err error) {
	out = map[string]value{}
	for i := 0; i < len(lines); {
		text := lines[i]
		at := i + 1
		if blank(text) || strings.HasPrefix(text, "#") {
			i++
			continue
		}
		if text[0] == ' ' || text[0] == '\t' {
			return nil, at, errors.New("unexpected indentation")
		}
		key, rest, ok := strings.Cut(text, ":")
		if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
			return nil, at, errors.New(`want "key: value"`)
		}
		key = strings.Trim(strings.TrimSpace(key), `"'`)
		if _, twice := out[key]; twice {
			return nil, at, fmt.Errorf("%s is given twice", short.Quote(key, 40))
		}
		inner := i + 1
		for inner < len(lines) && inside(lines[inner]) {
			inner++
		}
		v, err := scalar(strings.TrimSpace(rest), lines[i+1:inner])
		if err != nil {
			return nil, at, fmt.Errorf("%s: %w", short.Quote(key, 40), err)
		}
		v.line = at
		out[key], i = v, inner
	}
	return out, 0, nil
}

func blank(line string) bool { return strings.TrimSpace(line) == "" }

// inside reports whether a line belongs to the key above it. A list may begin at the margin.
func inside(line string) bool {
	return blank(line) || line[0] == ' ' || line[0] == '\t' || line == "-" || strings.HasPrefix(line, "- ")
}

// scalar reads the value after a key: rest of its line, and the lines that belong to it.
func scalar(rest string, more []string) (value, error) {
	if rest != "" && (rest[0] == '|' || rest[0] == '>') {
		return value{text: block(rest[0] == '>', more)}, nil
	}
	if strings.HasPrefix(rest, "#") {
		rest = ""
	}
	if rest == "" {
		for _, line := range more {
			text := strings.TrimSpace(line)
			if strings.HasPrefix(text, "- ") || text == "-" {
				return value{nested: true}, nil
			}
			if key, after, ok := strings.Cut(text, ":"); ok && key != "" && !strings.ContainsAny(key, " \"'") && (after == "" || after[0] == ' ') {
				return value{nested: true}, nil
			}
			if text != "" {
				break
			}
		}
	}
	if strings.HasPrefix(rest, "[") || strings.HasPrefix(rest, "{") {
		return value{nested: true}, nil
	}
	text := folded(append([]string{rest}, more...))
	switch {
	case strings.HasPrefix(text, `"`):
		return quoted(text)
	case strings.HasPrefix(text, "'"):
		return single(text)
	}
	if i := strings.Index(text, " #"); i >= 0 {
		text = strings.TrimRight(text[:i], " ")
	}
	if text == "~" || text == "null" {
		text = ""
	}
	return value{text: text}, nil
}

// quoted reads a text in double quotes.
func quoted(text string) (value, error) {
	end := 1
	for end < len(text) && text[end] != '"' {
		if text[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(text) {
		return value{}, errors.New(`the closing " is missing`)
	}
	if err := after(text[end+1:]); err != nil {
		return value{}, err
	}
	var b strings.Builder
	for inner := text[1:end]; inner != ""; {
		if strings.HasPrefix(inner, `\/`) || strings.HasPrefix(inner, `\ `) || strings.HasPrefix(inner, `\'`) {
			b.WriteByte(inner[1])
			inner = inner[2:]
			continue
		}
		r, _, tail, err := strconv.UnquoteChar(inner, '"')
		if err != nil {
			return value{}, errors.New("unknown escape in the quoted text")
		}
		b.WriteRune(r)
		inner = tail
	}
	return value{text: b.String()}, nil
}

// single reads a text in single quotes.
func single(text string) (value, error) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] != '\'':
			b.WriteByte(text[i])
		case i+1 < len(text) && text[i+1] == '\'':
			b.WriteByte('\'')
			i++
		default:
			return value{text: b.String()}, after(text[i+1:])
		}
	}
	return value{}, errors.New("the closing ' is missing")
}

// after accepts what may follow a quoted text.
func after(text string) error {
	if text = strings.TrimSpace(text); text != "" && text[0] != '#' {
		return errors.New("there is text after the closing quote")
	}
	return nil
}

// folded joins lines by spaces, and keeps empty lines as breaks.
func folded(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		switch text := strings.TrimSpace(line); {
		case text == "":
			b.WriteString("\n")
		default:
			if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
				b.WriteByte(' ')
			}
			b.WriteString(text)
		}
	}
	return strings.TrimSpace(b.String())
}

// block reads the lines after | or >.
func block(fold bool, lines []string) string {
	if fold {
		return folded(lines)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
