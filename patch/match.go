package patch

import (
	"codeagent/internal/short"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// level is how alike two lines must be.
type level int

const (
	exact level = iota
	trailing
	spaces
	typography
	levels
)

var levelWords = [levels]string{"exactly", "ignoring white space at line ends", "ignoring white space", "ignoring white space, typographic characters and how letters are composed"}

// maxWork bounds the line comparisons of one section: a search for a thousand hunks in
// a million equal lines must end too. So many comparisons take well below a second.
const maxWork = 20_000_000

var errTooMuch = errors.New("there are too many equal lines to search; use fewer and longer hunks")

// form is the lines of a file as a level sees them.
type form struct {
	lines []string
	index map[string][]int
}

// matcher finds runs of lines in one file.
type matcher struct {
	lines []string
	forms [levels]*form
	work  int
}

func (m *matcher) form(lv level) *form {
	if m.forms[lv] == nil {
		f := &form{lines: make([]string, len(m.lines)), index: make(map[string][]int, len(m.lines))}
		for i, l := range m.lines {
			f.lines[i] = normal(lv, l)
			f.index[f.lines[i]] = append(f.index[f.lines[i]], i)
		}
		m.forms[lv] = f
	}
	return m.forms[lv]
}

func normal(lv level, s string) string {
	switch lv {
	case trailing:
		return strings.TrimRight(s, " \t\r")
	case typography:
		s = strings.Map(plain, norm.NFC.String(s))
		fallthrough
	case spaces:
		return strings.Join(strings.Fields(s), " ")
	}
	return s
}

// plain turns the typographic characters that models and editors put in place
// of ASCII back, and drops characters without a shape.
func plain(r rune) rune {
	switch {
	case r < 0x80:
		return r
	case r >= 0x2010 && r <= 0x2015, r == 0x2212:
		return '-'
	case r >= 0x2018 && r <= 0x201b:
		return '\''
	case r >= 0x201c && r <= 0x201f:
		return '"'
	case unicode.Is(unicode.Zs, r):
		return ' '
	case unicode.Is(unicode.Cf, r):
		return -1
	}
	return r
}

// find lists, in order, the lines where the run old matches at level lv. It starts from
// the line of old that is rarest in the file.
func (m *matcher) find(old []string, lv level) ([]int, error) {
	f := m.form(lv)
	want := make([]string, len(old))
	rare, least := 0, -1
	for i, l := range old {
		want[i] = normal(lv, l)
		if n := len(f.index[want[i]]); least < 0 || n < least {
			rare, least = i, n
		}
	}
	var out []int
	for _, at := range f.index[want[rare]] {
		start := at - rare
		if start < 0 || start+len(want) > len(f.lines) {
			continue
		}
		if m.work += len(want); m.work > maxWork {
			return nil, errTooMuch
		}
		if slices.Equal(f.lines[start:start+len(want)], want) {
			out = append(out, start)
		}
	}
	return out, nil
}

// anchors lists, in order, the lines of the last "@@" text below all the others.
func (m *matcher) anchors(texts []string) ([]int, error) {
	var at []int
	for i, text := range texts {
		all := m.anchor(text)
		if m.work += len(all) + len(at); m.work > maxWork {
			return nil, errTooMuch
		}
		if i == 0 {
			at = all
			continue
		}
		var next []int
		for _, a := range at {
			j, _ := slices.BinarySearch(all, a+1)
			if j < len(all) && (len(next) == 0 || next[len(next)-1] != all[j]) {
				next = append(next, all[j])
			}
		}
		at = next
	}
	return at, nil
}

// anchor lists the lines equal to text; without any, the lines that begin with it;
// without any, the lines that contain it.
func (m *matcher) anchor(text string) []int {
	for lv := exact; lv < levels; lv++ {
		if at := m.form(lv).index[normal(lv, text)]; len(at) > 0 {
			return at
		}
	}
	text = normal(typography, text)
	for _, alike := range []func(s, part string) bool{strings.HasPrefix, strings.Contains} {
		var at []int
		if m.work += len(m.lines); m.work > maxWork {
			return nil // the caller counts too, and says so
		}
		for i, l := range m.form(typography).lines {
			if alike(l, text) {
				at = append(at, i)
			}
		}
		if len(at) > 0 {
			return at
		}
	}
	return nil
}

// nearest says in words where the run old stops being what the file holds: the
// place where most of its first lines stand.
func (m *matcher) nearest(old []string) string {
	first := slices.IndexFunc(old, func(l string) bool { return strings.TrimSpace(l) != "" })
	if first < 0 {
		return "these empty lines are not in the file"
	}
	f := m.form(typography)
	best, bestAt := 0, -1
	for _, at := range f.index[normal(typography, old[first])] {
		n := 0
		for first+n < len(old) && at+n < len(f.lines) && f.lines[at+n] == normal(typography, old[first+n]) {
			n++
		}
		if m.work += n; m.work > maxWork {
			break
		}
		if n > best {
			best, bestAt = n, at
		}
	}
	if bestAt < 0 {
		if at := m.alike(old[first]); at >= 0 {
			return fmt.Sprintf("the line %s is not in the file; line %d is nearly the same: %s", quote(old[first]), at+1, differ(m.lines[at], old[first]))
		}
		return fmt.Sprintf("the line %s is not in the file", quote(old[first]))
	}
	if first+best >= len(old) {
		return fmt.Sprintf("only the empty lines above line %d differ", bestAt+1)
	}
	if bestAt+best >= len(f.lines) {
		return fmt.Sprintf("it fits from line %d on, but the file ends where the patch has %s", bestAt+1, quote(old[first+best]))
	}
	return fmt.Sprintf("it fits from line %d on, but line %d is %s where the patch has %s: %s",
		bestAt+1, bestAt+best+1, quote(m.lines[bestAt+best]), quote(old[first+best]), differ(m.lines[bestAt+best], old[first+best]))
}

// alike returns the line of the file that has the longest beginning and end in common with want, at
// least three quarters of it; -1 without one.
func (m *matcher) alike(want string) int {
	want = normal(typography, want)
	best, at := len(want)*3/4, -1
	for i, l := range m.form(typography).lines {
		if m.work += min(len(l), len(want)); m.work > maxWork {
			break
		}
		if begin, end := common(l, want); begin+end > best && len(l) <= 2*len(want) {
			best, at = begin+end, i
		}
	}
	return at
}

// common returns how many bytes two texts have in common at their beginnings and, of the rest, at
// their ends.
func common(a, b string) (begin, end int) {
	for begin < min(len(a), len(b)) && a[begin] == b[begin] {
		begin++
	}
	for begin > 0 && begin < len(a) && !utf8.RuneStart(a[begin]) {
		begin--
	}
	a, b = a[begin:], b[begin:]
	for end < min(len(a), len(b)) && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return begin, end
}

// differ names the first characters in which a line of the file and one of the patch differ, as a
// reader may not see the difference.
func differ(file, wrote string) string {
	file, wrote = normal(typography, file), normal(typography, wrote)
	begin, _ := common(file, wrote)
	name := func(rest string) string {
		r, size := utf8.DecodeRuneInString(rest)
		if size == 0 {
			return "nothing"
		}
		return fmt.Sprintf("%q (%U)", r, r)
	}
	return fmt.Sprintf("after %s there is %s in the file and %s in the patch", short.Count(utf8.RuneCountInString(file[:begin]), "character"), name(file[begin:]), name(wrote[begin:]))
}
