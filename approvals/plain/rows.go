package plain

import (
	"fmt"
	"strings"

	"codeagent/internal/visible"
	"codeagent/sandbox"
)

// columns is where a quoted row is wrapped: a row that the reader's window wraps has no mark.
const columns = 72

// reasonRows bounds the rows of a model's reason.
const reasonRows = 3

// row returns a text of codeagent's with names that others chose as one line.
func row(s string) string { return visible.Line(visible.Fact(s)) }

func rows(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, row(s))
	}
	return out
}

// Quoted returns a text of somebody else's in rows of at most columns, each to be shown after a
// mark. Characters that a terminal obeys are named. most bounds the rows; 0: no bound.
func Quoted(text string, most int) []string {
	var out []string
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		for _, row := range wrapped(visible.Line(strings.TrimRight(line, "\r\n"))) {
			if most > 0 && len(out) == most {
				out[most-1] += "…"
				return out
			}
			out = append(out, row)
		}
	}
	return out
}

func wrapped(line string) []string {
	var out []string
	from, used := 0, 0
	for at, r := range line {
		n := 1
		if r >= 0x300 { // it may be two columns wide
			n = 2
		}
		if used+n > columns {
			out = append(out, line[from:at])
			from, used = at, 0
		}
		used += n
	}
	return append(out, line[from:])
}

// denialsShown bounds the denials shown of one command: a program can cause any number.
const denialsShown = 12

// Denials returns what the sandbox denied, and which denials mattered, one per line:
// "write /etc/hosts, by /usr/bin/touch". Names in them are not escaped.
func Denials(denials []sandbox.Denial) []string {
	var out []string
	more := 0
	for _, d := range denials {
		switch {
		case d.Moot:
			continue
		case len(out) == denialsShown:
			more++
			continue
		}
		line := d.Line(func(name string) string { return name })
		if d.Evidence == sandbox.EvidenceOutput {
			line += " (likely, by the command's output)"
		}
		out = append(out, line)
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return out
}
