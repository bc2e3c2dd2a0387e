package skills

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	const file = "/home/u/.claude/skills/pdf-forms/SKILL.md"
	long := strings.Repeat("word ", 1000)
	for name, c := range map[string]struct{ text, skill, description, err string }{
		"plain":          {"---\nname: pdf\ndescription: Fill in forms. Use it: for PDF files.\n---\n# PDF", "pdf", "Fill in forms. Use it: for PDF files.", ""},
		"over lines":     {"---\nname: pdf\ndescription: Fill in\n  forms\n  of all kinds\nlicense: MIT\n---\n", "pdf", "Fill in forms of all kinds", ""},
		"double quotes":  {"---\nname: \"pdf\"\ndescription: \"A \\\"b\\\" \\u00e9: c # d\" # e\n---\n", "pdf", `A "b" é: c # d`, ""},
		"single quotes":  {"---\nname: 'pdf'\ndescription: 'It''s: this'\n---\n", "pdf", "It's: this", ""},
		"folded":         {"---\nname: pdf\ndescription: >-\n  one\n  two\n\n  three\nmetadata:\n  author: x\n  name: other\n---\n", "pdf", "one two three", ""},
		"literal":        {"---\nname: pdf\ndescription: |\n  one\n   two: 2\n---\n", "pdf", "one two: 2", ""},
		"lists":          {"---\nname: pdf\nallowed-tools:\n- Bash\n- Read\ndescription: x # why\ntags: [a, b]\n---\n", "pdf", "x", ""},
		"windows":        {"\uFEFF---\r\nname: pdf\r\ndescription: x\r\n---\r\n", "pdf", "x", ""},
		"no name":        {"---\ndescription: x\n---\n", "pdf-forms", "x", ""},
		"indirect":       {"---\nname: pdf\ndescription:\n  x y\n---\n", "pdf", "x y", ""},
		"cut":            {"---\nname: " + long + "\ndescription: " + long + "\n---\n", strings.TrimRight(long[:63], " ") + "…", long[:1023] + "…", ""},
		"hostile":        {"---\nname: a\x1b[2J\ndescription: b\u202Ec\n---\n", "a␛[2J", "b<U+202E>c", ""},
		"none":           {"# PDF\n", "", "", ":1: no front matter: the first line must be ---"},
		"empty":          {"", "", "", ":1: no front matter: the first line must be ---"},
		"open":           {"---\nname: pdf\n", "", "", ":1: the front matter does not end: a line --- is missing"},
		"no description": {"---\nname: pdf\n---\n", "", "", ":1: the front matter has no description"},
		"open quote":     {"---\nname: pdf\n# why\ndescription: \"x\n---\n", "", "", `:4: description: the closing " is missing, or an escape is unknown`},
		"list":           {"---\nname: pdf\ndescription:\n  - x\n---\n", "", "", ":3: description: it must be a text"},
		"not UTF-8":      {"---\nname: \xff\n---\n", "", "", ":1: it is not UTF-8 text"},
		"bad escape":     {"---\ndescription: \"\\q\"\n---\n", "", "", `:2: description: the closing " is missing, or an escape is unknown`},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse(file, []byte(c.text))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if c.err != "" {
				if got != file+c.err {
					t.Errorf("%q, want %q", got, file+c.err)
				}
				return
			}
			if got != "" || s.Name != c.skill || s.Description != c.description || s.File != file {
				t.Errorf("%+v, %s", s, got)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("---\nname: a\ndescription: >\n  b\n---\n")
	f.Add("---\nname: \"a\\x\ndescription: 'b\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("/a/b/SKILL.md", []byte(text))
		if err == nil && (s.Name == "" || s.Description == "" || strings.ContainsAny(s.Name+s.Description, "\x1b\n")) {
			t.Errorf("%q", s)
		}
	})
}
