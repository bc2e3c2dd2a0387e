package mention

import "strings"

// The ratings are fzf's: a point for each letter, more at the beginning of a word, a folder
// or a part of a camelCase name and in a row, less for gaps.
const (
	scoreMatch     = 16
	gapStart       = -3
	gapFurther     = -1
	atWord         = scoreMatch / 2
	atFolder       = atWord + 1
	atCamel        = atWord + gapFurther
	inRow          = -(gapStart + gapFurther)
	firstIsTwice   = 2
	inName         = 4 // for a match that lies in the last part of the path
	consecutiveMin = inRow
)

// matches reports whether a byte of a path matches one of the query.
func matches(p, q byte, exact bool) bool { return p == q || !exact && lower(p) == lower(q) }

// bonus is what the place of a letter is worth.
func bonus(p string, i int) int {
	if i == 0 {
		return atFolder
	}
	before, b := p[i-1], p[i]
	switch {
	case before == '/':
		return atFolder
	case !letter(before) && letter(b):
		return atWord
	case before >= 'a' && before <= 'z' && b >= 'A' && b <= 'Z', !digit(before) && digit(b):
		return atCamel
	case !letter(b):
		return atWord
	}
	return 0
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

func letter(b byte) bool {
	b = lower(b)
	return b >= 'a' && b <= 'z' || digit(b) || b >= 0x80
}

// span finds the last place where the query fits, from the end of the path, and makes it as
// short as it can be. It is fzf's first algorithm, from the end.
func span(p, query string, exact bool) (start, end int, ok bool) {
	q := len(query) - 1
	for start = len(p); q >= 0; {
		if start--; start < 0 {
			return 0, 0, false
		}
		if matches(p[start], query[q], exact) {
			q--
		}
	}
	for end, q = start, 0; q < len(query); end++ {
		if matches(p[end], query[q], exact) {
			q++
		}
	}
	return start, end, true
}

// places are the bytes of the path that the query matches.
func places(p, query string, exact bool) (at []int) {
	start, end, _ := span(p, query, exact)
	for i := start; i < end; i++ {
		if matches(p[i], query[len(at)], exact) {
			at = append(at, i)
		}
	}
	return at
}

// rate rates the place of the query in the path; false: there is none.
func rate(p, query string, exact bool) (score int, ok bool) {
	start, end, ok := span(p, query, exact)
	if !ok {
		return 0, false
	}
	if start >= strings.LastIndexByte(p[:len(p)-1], '/') {
		score = inName
	}
	q, row, rowBonus, gap := 0, 0, 0, false
	for i := start; i < end; i++ {
		if !matches(p[i], query[q], exact) {
			if gap {
				score += gapFurther
			} else {
				score += gapStart
			}
			gap, row, rowBonus = true, 0, 0
			continue
		}
		b := bonus(p, i)
		if row == 0 {
			rowBonus = b
		} else {
			if b >= atWord && b > rowBonus {
				rowBonus = b
			}
			b = max(b, consecutiveMin, rowBonus)
		}
		if q == 0 {
			b *= firstIsTwice
		}
		score += scoreMatch + b
		gap, row, q = false, row+1, q+1
	}
	return score, true
}
