// Package short makes texts, counts, sizes and times short enough for a line.
// It is pure: standard library only, no input or output.
// Start reading at Cut; Cut and Middle count characters, the others bytes.
package short

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Head returns the longest beginning of s that has at most n bytes and ends with a
// whole character.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Tail returns the longest end of s that has at most n bytes and begins with a whole
// character.
func Tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	from := len(s) - max(n, 0)
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[from:]
}

// Bound returns s in at most n bytes; "…" replaces the end if it is cut.
func Bound(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Head(s, n-len("…")) + "…"
}

// Cut returns s in at most n characters of valid UTF-8; "…" replaces the end if it is cut.
func Cut(s string, n int) string {
	// A character has at most four bytes, so the rest need not be decoded.
	letters := []rune(s[:min(len(s), (n+1)*utf8.UTFMax)])
	if len(letters) > n {
		return string(letters[:n-1]) + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Middle returns s in at most n characters of valid UTF-8; "…" replaces the middle if it is
// cut. Of a path it keeps the first folder and the last name.
func Middle(s string, n int) string {
	letters := []rune(s)
	if len(letters) > n {
		tail := (n - 1) / 2
		return string(letters[:n-1-tail]) + "…" + string(letters[len(letters)-tail:])
	}
	return string(letters)
}

// Quote returns at most n bytes of s as a Go string on one line, with every control character
// escaped. "…" follows the closing quote if the end is cut.
func Quote(s string, n int) string {
	if len(s) > n {
		return strconv.Quote(Head(s, n)) + "…"
	}
	return strconv.Quote(s)
}

// Count returns "1 file", "2 files".
func Count[N int | int64](n N, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "ch"):
		noun += "es"
	case strings.HasSuffix(noun, "y"):
		noun = strings.TrimSuffix(noun, "y") + "ies"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// List joins names with commas: at most n of them, the rest is counted.
func List(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}

// Size formats a number of bytes: "12 bytes", "1.5 KiB", "64 MiB".
func Size(n int64) string {
	if n < 1<<10 {
		return Count(n, "byte")
	}
	size, unit := float64(n)/(1<<10), "KiB"
	for _, next := range []string{"MiB", "GiB"} {
		if size < 1<<10 {
			break
		}
		size, unit = size/(1<<10), next
	}
	return strings.TrimSuffix(strconv.FormatFloat(size, 'f', 1, 64), ".0") + " " + unit
}

// Duration formats a time: "14 ms", "1.2 s", "12 s", "3m 05s".
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
}

// ShellWord writes s as one word of a POSIX shell.
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+@%:,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Undialed puts the cause first in what Go says of a failed connection: "connection refused: 127.0.0.1:80".
// Other texts stay as they are.
func Undialed(said string) string {
	rest, ok := strings.CutPrefix(said, "dial tcp")
	where := strings.TrimLeft(rest, ": ")
	i := strings.LastIndex(where, ": ")
	if !ok || i < 0 {
		return said
	}
	cause, where := where[i+2:], strings.TrimSuffix(where[:i], ": connect")
	where, _, _ = strings.Cut(strings.TrimPrefix(where, "lookup "), " on ")
	return cause + ": " + where
}
