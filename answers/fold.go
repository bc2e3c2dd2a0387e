package answers

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Two messages ask the same if they have the same content words in the same order. Whatever may change what is asked is
// content: negations, numbers, the order, names with their case and signs. What may go is a closed class: "the" and "an"
// ("a" may be a name), and words of politeness at the beginning and the end, with "can you" and the like before or after
// them. Without a "please" that may ask whether it is possible.

var (
	polite    = set("please kindly thanks")
	articles  = set("the an")
	modals    = set("can could will would")
	questions = set("what which who whom whose when where why how")
)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}

// word is one word of a message, and the punctuation mark after it, or 0.
type word struct {
	text string
	mark rune
}

func (w word) in(class map[string]bool) bool { return class[strings.ToLower(w.text)] }

// words folds text: Unicode's compatibility forms, space, apostrophes, the case at the beginning of a sentence, and
// punctuation at the end of words.
func words(text string) (out []word) {
	begins := true
	for w := range strings.FieldsSeq(text) {
		if w == "?" && len(out) > 0 {
			out[len(out)-1].mark = '?'
			continue
		}
		form := norm.NFKC
		if strings.ContainsFunc(w, func(r rune) bool { return unicode.In(r, unicode.No, unicode.Nl) }) {
			form = norm.NFC // "2²" is not 22
		}
		one := word{text: strings.ReplaceAll(form.String(w), "’", "'")}
		one.trim()
		if begins {
			one.text = uncapital(one.text)
		}
		begins = strings.ContainsRune(".?!", one.mark)
		out = append(out, one)
	}
	return out
}

// trim takes the mark after w away.
func (w *word) trim() {
	last, n := utf8.DecodeLastRuneInString(w.text)
	before, _ := utf8.DecodeLastRuneInString(w.text[:len(w.text)-n])
	// ".." and "src/." are names.
	if strings.ContainsRune(".,;:!?", last) && (unicode.IsLetter(before) || unicode.IsDigit(before) || strings.ContainsRune("\"'`)]", before)) {
		w.text, w.mark = w.text[:len(w.text)-n], last
	}
}

// uncapital returns w in small letters if its first letter alone is a capital.
func uncapital(w string) string {
	first, n := utf8.DecodeRuneInString(w)
	if unicode.IsUpper(first) && !strings.ContainsFunc(w[n:], func(r rune) bool { return !unicode.IsLower(r) && r != '\'' }) {
		return string(unicode.ToLower(first)) + w[n:]
	}
	return w
}

// fold returns text as it is compared for being the same.
func fold(text string) string { return join(words(text), false) }

// content returns the content words of text.
func content(text string) string {
	all := words(text)
	request := false
	for n := len(all); n > 0 && all[n-1].in(polite); n = len(all) {
		request = true
		if all = all[:n-1]; n > 1 {
			all[n-2].mark = 0 // the comma before "please"
		}
	}
	for len(all) > 0 && all[0].in(polite) {
		request, all = true, all[1:]
	}
	if len(all) > 2 && all[0].in(modals) && all[1].in(set("you")) && (request || all[2].in(polite)) {
		for request, all = true, all[2:]; len(all) > 0 && all[0].in(polite); all = all[1:] {
		}
	}
	var kept []word
	for _, w := range all {
		if !w.in(articles) || w.mark != 0 {
			kept = append(kept, w)
		}
	}
	return join(kept, request)
}

// join writes words one a line. A question mark is content, unless the message begins with a word that asks, or the mark
// ends a request.
func join(all []word, request bool) string {
	var b strings.Builder
	for i, w := range all {
		b.WriteString(w.text + "\n")
		if w.mark == '?' && (i < len(all)-1 || !request && !all[0].in(questions)) {
			b.WriteString("?\n")
		}
	}
	return b.String()
}
