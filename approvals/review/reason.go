// Package review judges a request for more permissions without a model: what the model's reason
// lacks (reason.go), and facts about the permissions that it asks for (facts.go). It only computes:
// it reads nothing and decides nothing. Start at Subject.Fault and Evidence.Facts.
package review

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"codeagent/internal/short"
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
	// fewestWords and fewestLetters are the minimum that a reason must add to the words of the
	// request.
	fewestWords   = 2
	fewestLetters = 10
	// dense is the weight of a letter in scripts without spaces between words.
	dense = 3
	// maxText limits the bytes read of a command or reason.
	maxText = 8 << 10
)

// Fault says what reason lacks, as the end of a sentence. It is "" if the reason is sufficient.
func (s Subject) Fault(reason string) string {
	said := wordsOf(reason)
	if len(said) == 0 {
		return "is empty"
	}
	about := vocabulary{}
	about.add(s.Command)
	for _, name := range s.Opens {
		about.add(name)
	}
	named, own, letters := false, 0, 0
	for _, w := range said {
		if about.has(w) {
			named = true
			continue
		}
		own++
		letters += weight(w)
	}
	switch {
	case !named:
		return "names nothing of what is asked for: no program, file or host"
	case own < fewestWords || letters < fewestLetters:
		return "only repeats the request"
	}
	return ""
}

// Same reports whether two reasons have the same words.
func Same(a, b string) bool {
	return strings.Join(wordsOf(a), " ") == strings.Join(wordsOf(b), " ")
}

// Related reports whether two requests have a path, a host or a program in common.
func (s Subject) Related(t Subject) bool {
	for _, a := range s.Opens {
		for _, b := range t.Opens {
			if a == b {
				return true
			}
		}
	}
	a, b := wordsOf(s.Command), wordsOf(t.Command)
	return len(a) > 0 && len(b) > 0 && a[0] == b[0]
}

// wordsOf returns the distinct words of text in lower case. A word has two or more letters or
// digits of one script. Text without spaces between words is split into pairs of letters.
func wordsOf(text string) (out []string) {
	if len(text) > maxText {
		text = text[:maxText]
		text = text[:strings.LastIndexFunc(text, func(r rune) bool { return scriptOf(r) == noScript })+1]
	}
	seen := map[string]bool{}
	var word []rune
	now := noScript
	end := func() {
		if w := string(word); len(word) > 1 && !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
		word = word[:0]
	}
	for _, r := range strings.ToLower(text) {
		is := scriptOf(r)
		if unicode.Is(unicode.M, r) && now != noScript {
			is = now
		}
		if is != now {
			end()
		}
		if now = is; now == noScript {
			continue
		}
		word = append(word, r)
		if now == unspaced && len(word) == 2 {
			end()
			word = append(word, r) // the next pair overlaps by one letter
		}
	}
	end()
	return out
}

// script is a kind of letters.
type script int

const (
	noScript script = iota // no letter
	latin                  // letters of names of programs and files, and digits
	unspaced               // letters of languages without spaces between words
	other
)

func scriptOf(r rune) script {
	switch {
	case r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsDigit(r):
		return noScript
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan):
		return unspaced
	case unicode.IsDigit(r) || unicode.Is(unicode.Latin, r):
		return latin
	}
	return other
}

// weight returns the number of letters that a word counts for.
func weight(w string) int {
	first, _ := utf8.DecodeRuneInString(w)
	if scriptOf(first) == unspaced {
		return dense // each pair adds one letter
	}
	return utf8.RuneCountInString(w)
}

// vocabulary holds words by their first letters.
type vocabulary map[string][]string

// beginning is the minimum length, in bytes, of the prefix that forms of one word share.
const beginning = 4

func (v vocabulary) add(text string) {
	for _, w := range wordsOf(text) {
		k := short.Head(w, beginning)
		v[k] = append(v[k], w)
	}
}

// has reports whether v contains w or another form of it.
func (v vocabulary) has(w string) bool {
	return slices.ContainsFunc(v[short.Head(w, beginning)], func(o string) bool { return alike(o, w) })
}

func alike(a, b string) bool {
	if a == b {
		return true
	}
	n := 0
	ra, rb := []rune(a), []rune(b)
	for n < min(len(ra), len(rb)) && ra[n] == rb[n] {
		n++
	}
	return n >= beginning && 3*n >= 2*min(len(ra), len(rb))
}
