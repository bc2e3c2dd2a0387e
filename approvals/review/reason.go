// Package review judges a request for more permissions without a model: what the model's reason lacks.
// It only computes: it reads nothing and decides nothing. Start at Subject.Fault.
package review

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Subject is what a reason must be about.
type Subject struct {
	// Command is the text of a command, the address of a page, or the names of edited files.
	Command string
	// Opens are the paths, hosts and sockets that a yes would open.
	Opens []string
}

// A reason must add something to the request. Three general rules find reasons that do not, in any
// language, because names of programs, files and hosts are written alike in all languages.
const (
	// fewestBytes is the least that a reason must add to the words of the request: ten letters of
	// Latin, four of scripts in which a letter says more.
	fewestBytes = 10
	// maxText limits the bytes read of a command or reason.
	maxText = 8 << 10
)

// Fault says what reason lacks, as the end of a sentence. It is "" if the reason is sufficient.
func (s Subject) Fault(reason string) string {
	said := " " + strings.Join(wordsOf(reason), " ")
	if said == " " {
		return "is empty"
	}
	about := wordsOf(strings.Join(append([]string{s.Command}, s.Opens...), " "))
	slices.SortFunc(about, func(a, b string) int { return len(b) - len(a) })
	own := said
	for _, w := range slices.Compact(about) {
		if len(w) > 2 { // at the start of a word: "installing" only repeats "install"
			own = strings.ReplaceAll(own, " "+w, " ")
		}
	}
	switch {
	case own == said:
		return "names nothing of what is asked for: no program, file or host"
	case len(strings.ReplaceAll(own, " ", "")) < fewestBytes:
		return "only repeats the request"
	}
	return ""
}

// Same reports whether two reasons have the same words.
func Same(a, b string) bool { return slices.Equal(wordsOf(a), wordsOf(b)) }

// Related reports whether two requests have a path, a host or a program in common.
func (s Subject) Related(t Subject) bool {
	if slices.ContainsFunc(s.Opens, func(name string) bool { return slices.Contains(t.Opens, name) }) {
		return true
	}
	a, b := wordsOf(s.Command), wordsOf(t.Command)
	return len(a) > 0 && len(b) > 0 && a[0] == b[0]
}

// wordsOf returns the words of text, each once, in lower case.
func wordsOf(text string) (out []string) {
	words := strings.FieldsFunc(strings.ToLower(text[:min(len(text), maxText)]), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.M, r) || r == utf8.RuneError
	})
	if len(text) > maxText && len(words) > 0 {
		words = words[:len(words)-1] // it may be cut
	}
	for _, w := range words {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}
