package prompts

import (
	"strconv"
	"strings"
	"unicode"
)

// Own is a prompt of the user's or the project's with a name, which a face offers as a command. In
// Text $ARGUMENTS stands for all that follows the name, $1 to $9 for a word of it.
type Own struct{ Name, About, Text string }

// ParseOwn parts a file into its description and its text. The description is that of
// the lines between --- at the beginning, else the first line.
func ParseOwn(name, text string) Own {
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")
	c := Own{Name: name}
	if rest, ok := strings.CutPrefix(text, "---\n"); ok {
		if head, body, ok := strings.Cut(rest, "\n---\n"); ok {
			text = body
			for line := range strings.Lines(head) {
				if value, ok := strings.CutPrefix(line, "description:"); ok {
					c.About = strings.Trim(strings.TrimSpace(value), `"'`)
				}
			}
		}
	}
	c.Text = strings.TrimSpace(text)
	if c.About == "" {
		line, _, _ := strings.Cut(c.Text, "\n")
		c.About = strings.TrimSpace(strings.TrimLeft(line, "# "))
	}
	return c
}

// Prompt puts the arguments in; where the text has no place for them they follow it.
func (c Own) Prompt(argument string) Prompt {
	return Prompt{c.expand(argument), strings.TrimSuffix(c.About+": "+argument, ": ")}
}

func (c Own) expand(argument string) string {
	var out strings.Builder
	words, placed := arguments(argument), false
	for rest := c.Text; rest != ""; {
		before, after, found := strings.Cut(rest, "$")
		out.WriteString(before)
		if !found {
			break
		}
		rest = after
		tail, all := strings.CutPrefix(after, "ARGUMENTS")
		switch {
		case all:
			out.WriteString(argument)
			rest, placed = tail, true
		case after != "" && after[0] >= '1' && after[0] <= '9':
			if n, _ := strconv.Atoi(after[:1]); n <= len(words) {
				out.WriteString(words[n-1])
			}
			rest, placed = after[1:], true
		default:
			out.WriteByte('$')
		}
	}
	if text := out.String(); placed || argument == "" {
		return text
	} else {
		return strings.TrimRight(text, "\n") + "\n\n" + argument
	}
}

// arguments are the words of a text; quotes hold one together.
func arguments(s string) []string {
	var out []string
	word, quote, open := "", rune(0), false
	for _, r := range s {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, open = r, true
		case quote == 0 && unicode.IsSpace(r):
			if word != "" || open {
				out = append(out, word)
			}
			word, open = "", false
		default:
			word += string(r)
		}
	}
	if word != "" || open {
		out = append(out, word)
	}
	return out
}
