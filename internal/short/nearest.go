package short

import "fmt"

// Nearest returns the candidate most similar to s, or "" if none is similar.
func Nearest(s string, candidates []string) string {
	best, least := "", 1+max(1, len(s)/3)
	for _, c := range candidates {
		if d := distance(s, c); c != "" && d < least {
			best, least = c, d
		}
	}
	return best
}

// Meant offers the candidate most similar to s at the end of a message, or is "".
func Meant(s string, candidates []string) string {
	if near := Nearest(s, candidates); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// distance counts the insertions, deletions, replacements and swaps of neighbours that change
// a into b. A long text is different from all others.
func distance(a, b string) int {
	if len(a) > 100 {
		return 100
	}
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
