package rules

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"codeagent/sandbox"

	"github.com/pelletier/go-toml/v2"
)

// String describes the rule in one line: "allow git status|diff".
func (r *Rule) String() string {
	of := r.shown()
	if r.Exact {
		of = append(of, "(and no more)")
	}
	if r.Access != "" {
		of = append(of, string(r.Access))
	}
	of = append(of, r.Paths...)
	of = append(of, sandbox.HostsOf(r.Hosts)...)
	if r.Tool != "" {
		of = append(of, "the tool "+r.Tool)
	}
	out := string(r.Decision) + " " + strings.Join(of, " ")
	if r.Backend != "" {
		out = "run " + strings.Join(of, " ") + " in the backend " + plainOrQuoted(r.Backend)
	}
	if r.Project != "" {
		out += " in " + r.Project
	}
	if r.Reason != "" {
		out += ": " + r.Reason
	}
	return out
}

// shown returns the words of a command, alternatives as "status|diff".
func (r *Rule) shown() (out []string) {
	for _, alternatives := range r.Words {
		words := slices.Clone(alternatives)
		for i, word := range words {
			if strings.ContainsAny(word, " \t\n|\"") {
				words[i] = strconv.Quote(word) // quoted, since a person could take it for several words
			}
		}
		out = append(out, strings.Join(words, "|"))
	}
	return out
}

// Sentence says in plain words what the rules decide, where and until when: one line for all
// neighbours with the same project and end. show may shorten a path. Nothing is cut, and a
// name that could be taken for words of the sentence is quoted.
func Sentence(list []*Rule, show func(path string) string) string {
	var out []string
	last := ""
	for _, r := range list {
		tail := ", in every project"
		if r.Project != "" {
			tail = ", in the project " + plainOrQuoted(show(r.Project))
		}
		switch until := r.Until(); {
		case r.Expires.IsZero():
			tail += ", until you remove the rule."
		case len(until) == len(time.DateOnly):
			tail += ", until the end of " + until + "."
		default:
			tail += ", until " + until + "."
		}
		if n := len(out) - 1; n >= 0 && tail == last {
			out[n] = strings.TrimSuffix(out[n], tail) + ", and " + r.says(show) + tail
		} else {
			out = append(out, "From now on "+r.says(show)+tail)
		}
		last = tail
	}
	return strings.Join(out, "\n")
}

// says is what the rule decides about.
func (r *Rule) says(show func(path string) string) string {
	var names []string
	for _, p := range r.Paths {
		names = append(names, plainOrQuoted(show(p)))
	}
	names = append(names, sandbox.HostsOf(r.Hosts)...)
	does := map[Access]string{Read: "commands and edits may read ", Write: "commands and edits may read and write ", Fetch: "fetches may connect to ", "": "commands and fetches may connect to "}
	if len(names) > 0 {
		return does[r.Access] + strings.Join(names, ", ")
	}
	what, may := "the command "+strconv.Quote(strings.Join(r.shown(), " ")), "run in the sandbox"
	if r.Tool != "" {
		what, may = "the tool "+plainOrQuoted(r.Tool), "be called"
		if server, all := strings.CutSuffix(r.Tool, anyTool); all {
			what = "every tool of the server " + plainOrQuoted(server)
		}
	} else if r.Exact {
		what += ", with no further words,"
	} else {
		what += ", whatever words follow,"
	}
	if r.Backend != "" {
		return what + " runs in the backend " + plainOrQuoted(r.Backend)
	}
	out := map[Decision]string{Allow: what + " may " + may + " without a question", Ask: what + " may " + may + " only after a question", Forbid: what + " may not " + may}[r.Decision]
	if r.Described != "" {
		out += " while the server describes it as " + plainOrQuoted(r.Described)
	}
	if r.Reason != "" {
		out += ", for the reason " + strconv.Quote(r.Reason)
	}
	return out
}

// plainOrQuoted quotes a name unless it is plain: letters, digits and what paths often contain.
func plainOrQuoted(name string) string {
	if name == "" || strings.ContainsFunc(name, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("/._-~+@", c)
	}) {
		return strconv.Quote(name)
	}
	return name
}

// TOML returns a rule as an entry that can be appended to a file.
func (r *Rule) TOML() []byte {
	kind, entry := "command", struct {
		Words     []any    `toml:"words,omitempty"`
		Paths     []string `toml:"paths,omitempty"`
		Access    Access   `toml:"access,omitempty"`
		Hosts     []string `toml:"hosts,omitempty"`
		Tool      string   `toml:"tool,omitempty"`
		Described string   `toml:"described,omitempty"`
		Decision  Decision `toml:"decision,omitempty"`
		Exact     bool     `toml:"exact,omitempty"`
		Reason    string   `toml:"reason,omitempty"`
		Project   string   `toml:"project,omitempty"`
		Backend   string   `toml:"backend,omitempty"`
	}{Backend: r.Backend, Paths: r.Paths, Access: r.Access, Exact: r.Exact, Reason: r.Reason, Project: r.Project, Tool: r.Tool, Described: r.Described}
	for _, alternatives := range r.Words {
		if len(alternatives) == 1 {
			entry.Words = append(entry.Words, alternatives[0])
		} else {
			entry.Words = append(entry.Words, alternatives)
		}
	}
	entry.Hosts = sandbox.HostsOf(r.Hosts)
	switch {
	case len(r.Paths) > 0:
		kind = "path"
	case len(r.Hosts) > 0:
		kind = "host"
	case r.Tool != "":
		kind, entry.Decision = "tool", r.Decision
	default:
		entry.Decision = r.Decision // rules for paths and hosts only allow
	}
	text, err := toml.Marshal(entry)
	if err != nil {
		return nil // texts, lists and a flag can always be written
	}
	out := append([]byte("\n[["+kind+"]]\n"), text...)
	if !r.Expires.IsZero() {
		out = fmt.Appendf(out, "expires = %s\n", r.Until())
	}
	return out
}

// Until formats the end of a rule: a date if the rule applies to the end of that local day, else a
// time.
func (r *Rule) Until() string {
	if end := r.Expires.In(time.Local); end.Equal(time.Date(end.Year(), end.Month(), end.Day(), 0, 0, 0, 0, time.Local)) {
		return end.AddDate(0, 0, -1).Format(time.DateOnly)
	}
	return r.Expires.UTC().Format(time.RFC3339)
}

// Without returns the text of a file without the rule r, which was read from it. It removes the
// lines from the rule's header to the next header, but keeps the comments directly above that
// header.
func Without(text []byte, r *Rule) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	end := len(lines)
	for _, keys := range positions(text) {
		if at := keys[""].Line; at > r.Line {
			end = min(end, at-1)
		}
	}
	for i := end - 1; i >= r.Line; i-- {
		line := bytes.TrimSpace(lines[i])
		if len(line) > 0 && line[0] != '#' {
			break
		}
		if len(line) > 0 {
			end = i
		}
	}
	return bytes.Join(append(append([][]byte(nil), lines[:r.Line-1]...), lines[end:]...), nil)
}
