package mention

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
	maxQuery       = 64
	maxPath        = 1024
	impossible     = -1 << 30
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

// greedy finds the last place where the query fits, from the end of the path, makes it as
// short as it can be, and rates it. It is fzf's first algorithm, from the end.
func greedy(p, query string, exact bool) (score int, ok bool) {
	q, start, end := len(query)-1, 0, 0
	for i := len(p) - 1; i >= 0; i-- {
		if matches(p[i], query[q], exact) {
			if q == len(query)-1 {
				end = i + 1
			}
			if q--; q < 0 {
				start = i
				break
			}
		}
	}
	if q >= 0 {
		return 0, false
	}
	q = 0
	for i := start; i < end; i++ {
		if matches(p[i], query[q], exact) {
			if q++; q == len(query) {
				end = i + 1
			}
		}
	}
	return rateAt(p[:end], query, start, exact), true
}

// rateAt rates the letters of the query from start on, each at its first place.
func rateAt(p, query string, start int, exact bool) int {
	score, q, row, rowBonus, gap := 0, 0, 0, 0, false
	for i := start; i < len(p) && q < len(query); i++ {
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
	return score
}

// cell is the best rating of a beginning of the query that ends in a byte of the path.
type cell struct {
	score int
	// row is how many letters in a row end here, from the place from on; 0: none.
	row, first int
	back       int // where the letter before it is
}

// rate finds the best place of the query in the path: fzf's second algorithm.
func (x *Index) rate(p, query string, exact bool) (score int, at []int) {
	if len(query) > maxQuery || len(p) > maxPath {
		score, _ = greedy(p, query, exact)
		return score, nil
	}
	n, m := len(p), len(query)
	if cap(x.rows) < n*m {
		x.rows = make([]cell, n*m)
	}
	rows := x.rows[:n*m]
	for q := range m {
		// gapped is the best rating of the letters before q with a gap up to here.
		gapped, from := impossible, -1
		for i := range n {
			c := cell{score: impossible, back: -1}
			if matches(p[i], query[q], exact) {
				b := bonus(p, i)
				switch {
				case q == 0:
					c.score, c.row, c.first = scoreMatch+b*firstIsTwice, 1, b
				default:
					if gapped > impossible {
						c.score, c.row, c.first, c.back = gapped+scoreMatch+b, 1, b, from
					}
					if i > 0 && rows[(q-1)*n+i-1].score > impossible {
						was := rows[(q-1)*n+i-1]
						first := was.first
						if b >= atWord && b > first {
							first = b
						}
						if s := was.score + scoreMatch + max(b, consecutiveMin, first); s >= c.score {
							c = cell{s, was.row + 1, first, i - 1}
						}
					}
				}
			}
			rows[q*n+i] = c
			if q == 0 {
				continue
			}
			if gapped > impossible {
				gapped += gapFurther
			}
			if i > 0 {
				if s := rows[(q-1)*n+i-1].score; s > impossible && s+gapStart >= gapped {
					gapped, from = s+gapStart, i-1
				}
			}
		}
	}
	best, end := impossible, -1
	for i := range n {
		if c := rows[(m-1)*n+i]; c.score >= best && c.score > impossible {
			best, end = c.score, i
		}
	}
	if end < 0 {
		return impossible, nil
	}
	at = make([]int, m)
	for q := m - 1; q >= 0; q-- {
		at[q] = end
		end = rows[q*n+end].back
	}
	if name := lastPart(p); at[0] >= name {
		best += inName
	}
	return best, at
}

// lastPart is where the name of the file or folder begins.
func lastPart(p string) int {
	for i := len(p) - 2; i >= 0; i-- {
		if p[i] == '/' {
			return i + 1
		}
	}
	return 0
}
