// Package foreign translates the permission files of other tools into rules.toml. The result is
// never wider than the original: a rule without an exact translation becomes stricter or is left
// out with a note, and a lost ask or forbid rule takes along every permission that it might affect.
// The package performs no IO. Start at Claude in claude.go or Codex in codex.go.
package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"codeagent/approvals/rules"
	"codeagent/internal/short"
	"codeagent/sandbox"

	"github.com/pelletier/go-toml/v2"
)

// Result is the translation of a file.
type Result struct {
	// TOML is the text of the rules, and Rules is their number.
	TOML  []byte
	Rules int
	// Notes say what was left out, changed, or must be set elsewhere, one note per entry of the file.
	Notes []string
}

// entry is one rule of the file, in the terms of rules.toml.
type entry struct {
	line int
	// from is the original text of the rule.
	from string

	words           []any
	decision        rules.Decision
	reason          string
	exact           bool
	match, notMatch []string

	paths  []string
	access rules.Access
	hosts  []string
}

// importer collects the entries of one file.
type importer struct {
	name, home string
	entries    []entry
	notes      []note
	// lost are ask and forbid rules that could not be translated.
	lost []loss
}

type note struct {
	line int
	text string
}

// loss is what a lost rule affects: all commands, all fetches, a path or a host.
type loss struct {
	line              int
	from              string
	commands, fetches bool
	path, host        string
}

func (r *importer) note(line int, from, format string, args ...any) {
	r.notes = append(r.notes, note{line, fmt.Sprintf("%s:%d: %s: %s", r.name, line, short.Cut(from, 120), fmt.Sprintf(format, args...))})
}

// names reports whether the host of an entry, or one below a wildcard, is the host of l.
func (l loss) names(entry string) bool {
	h, err := sandbox.ParsePattern(entry)
	return strings.HasPrefix(entry, l.host+":") || err == nil && h.Covers(sandbox.HostPort{Host: l.host})
}

// badHost is the error for a host that no rule can name.
func badHost(host string) error {
	_, err := sandbox.ParsePattern(strings.ToLower(host))
	return err
}

// concerned returns the loss that affects a permission, or nil.
func (r *importer) concerned(e entry) *loss {
	if e.decision == rules.Ask || e.decision == rules.Forbid {
		return nil
	}
	for i, l := range r.lost {
		near := func(p string) bool {
			p, lost := r.absolute(p), r.absolute(l.path)
			return sandbox.Covers(p, lost) || sandbox.Covers(lost, p)
		}
		switch {
		case l.commands && len(e.words) > 0, l.fetches && len(e.hosts) > 0,
			l.path != "" && slices.ContainsFunc(e.paths, near),
			l.host != "" && slices.ContainsFunc(e.hosts, l.names):
			return &r.lost[i]
		}
	}
	return nil
}

// order is the order of the kinds of entries. Those for paths and hosts come last.
var order = []rules.Decision{rules.Forbid, rules.Ask, rules.Allow, ""}

// result returns the entries that are valid rules and are not affected by a loss.
func (r *importer) result() Result {
	var out Result
	sort.SliceStable(r.entries, func(i, j int) bool {
		return slices.Index(order, r.entries[i].decision) < slices.Index(order, r.entries[j].decision)
	})
	written := map[string]bool{}
	for _, e := range r.entries {
		if l := r.concerned(e); l != nil {
			r.note(e.line, e.from, "left out: %s in line %d could not be carried over, and may concern it", short.Cut(l.from, 80), l.line)
			continue
		}
		text, err := r.text(e)
		if err != nil && len(e.match)+len(e.notMatch) > 0 {
			if plain, again := r.text(bare(e)); again == nil {
				r.note(e.line, e.from, "its examples are left out: %v", err)
				text, err = plain, nil
			}
		}
		switch {
		case err != nil:
			r.note(e.line, e.from, "left out: %v", err)
		case !written[string(text)]:
			written[string(text)] = true
			out.TOML = append(out.TOML, text...)
			out.Rules++
		}
	}
	sort.SliceStable(r.notes, func(i, j int) bool { return r.notes[i].line < r.notes[j].line })
	for _, n := range r.notes {
		out.Notes = append(out.Notes, n.text)
	}
	return out
}

// text returns one entry as text, or why rules.toml cannot express it.
func (r *importer) text(e entry) ([]byte, error) {
	for _, p := range e.paths {
		if full := r.absolute(p); full == "/" || full == path.Clean(r.home) {
			return nil, fmt.Errorf("%s is not opened as a whole", p)
		}
	}
	var b bytes.Buffer
	var err error
	put := func(kind string, v any) {
		fmt.Fprintf(&b, "\n[[%s]]\n", kind)
		err = toml.NewEncoder(&b).Encode(v)
	}
	switch {
	case len(e.words) > 0:
		put("command", struct {
			Words    []any          `toml:"words"`
			Decision rules.Decision `toml:"decision"`
			Reason   string         `toml:"reason,omitempty"`
			Exact    bool           `toml:"exact,omitempty"`
			Match    []string       `toml:"match,omitempty"`
			NotMatch []string       `toml:"not_match,omitempty"`
		}{e.words, e.decision, e.reason, e.exact, e.match, e.notMatch})
	case len(e.paths) > 0:
		put("path", struct {
			Paths  []string     `toml:"paths"`
			Access rules.Access `toml:"access"`
		}{e.paths, e.access})
	default:
		put("host", struct {
			Hosts  []string     `toml:"hosts"`
			Access rules.Access `toml:"access,omitempty"`
		}{e.hosts, e.access})
	}
	if err != nil {
		return nil, err
	}
	_, err = rules.Parse(r.name, b.Bytes(), r.home)
	if fault := new(rules.Error); errors.As(err, &fault) {
		return nil, errors.New(fault.Problem)
	}
	return b.Bytes(), err
}

// absolute replaces "~" by the home folder.
func (r *importer) absolute(p string) string {
	if rest, ok := strings.CutPrefix(p, "~"); ok && (rest == "" || rest[0] == '/') {
		p = r.home + rest
	}
	return path.Clean(p)
}

// leading returns the first words of text that a shell leaves unchanged. open: more text follows
// without a space, so the last word may be incomplete.
func leading(text string, open bool) (words []any) {
	fields := strings.Fields(text)
	for i, word := range fields {
		if open && i == len(fields)-1 && !strings.HasSuffix(text, " ") || strings.Trim(word, plain) != "" {
			break
		}
		words = append(words, word)
	}
	return words
}

const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/:@%+,"

// list turns strings into words without alternatives.
func list(texts []string) (out []any) {
	for _, t := range texts {
		out = append(out, t)
	}
	return out
}

// bare returns an entry without its examples.
func bare(e entry) entry {
	e.match, e.notMatch = nil, nil
	return e
}

// inWords joins words with spaces.
func inWords(words []any) string { return strings.TrimSuffix(fmt.Sprintln(words...), "\n") }
