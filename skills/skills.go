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
	for _, f := range []struct {
		key  string
		into *string
		most int
	}{{"name", &s.Name, maxName}, {"description", &s.Description, maxDescription}} {
		text, line, err := field(lines[1:end], f.key)
		if err != nil {
			return wrong(1+line, "%s: %v", f.key, err)
		}
		*f.into = oneLine(text, f.most)
	}
	s.Name = cmp.Or(s.Name, oneLine(path.Base(path.Dir(file)), maxName))
	if s.Description == "" {
		return wrong(1, "the front matter has no description")
	}
	return s, nil
}

func oneLine(text string, most int) string {
	return visible.Line(short.Cut(strings.Join(strings.Fields(text), " "), most))
}

// field reads the text of a key at the left margin, in the part of YAML that front matter uses: plain
// and quoted texts, also over several lines, and blocks after | and >. A YAML library would refuse the
// plain text with ": " in it that many files have. line is where the key is, from 1.
func field(lines []string, key string) (text string, line int, err error) {
	for i, first := range lines {
		rest, is := strings.CutPrefix(first, key+":")
		if !is {
			continue
		}
		more := lines[i+1:]
		for n, l := range more {
			if l != "" && l[0] != ' ' && l[0] != '\t' {
				more = more[:n]
				break
			}
		}
		text, err = scalar(strings.TrimSpace(rest), strings.TrimSpace(strings.Join(more, "\n")))
		return text, i + 1, err
	}
	return "", 0, nil
}

// scalar reads the text after a key: rest of its line, and more lines.
func scalar(rest, more string) (string, error) {
	if rest == "" || rest[0] == '|' || rest[0] == '>' {
		rest, more = more, ""
		if strings.HasPrefix(rest, "- ") {
			return "", errors.New("it must be a text")
		}
	}
	text := strings.TrimSpace(rest + "\n" + more)
	switch {
	case text == "":
		return "", nil
	case text[0] == '[', text[0] == '{':
		return "", errors.New("it must be a text")
	case text[0] == '"':
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return "", errors.New(`the closing " is missing, or an escape is unknown`)
		}
		return strconv.Unquote(quoted)
	case text[0] == '\'':
		end := strings.LastIndexByte(text, '\'')
		if end == 0 {
			return "", errors.New("the closing ' is missing")
		}
		return strings.ReplaceAll(text[1:end], "''", "'"), nil
	}
	text, _, _ = strings.Cut(text, " #")
	return text, nil
}
