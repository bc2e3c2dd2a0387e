package paint

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Count abbreviates a number of tokens or bytes.
func Count(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 10_000:
		return strings.Replace(fmt.Sprintf("%.1fk", float64(n)/1000), ".0k", "k", 1)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return strings.Replace(fmt.Sprintf("%.1fM", float64(n)/1e6), ".0M", "M", 1)
}

// Minutes writes a time as minutes and seconds, whose width rarely changes.
func Minutes(d time.Duration) string {
	seconds := int(d.Seconds())
	return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
}

// Spinner is the mark of running work; frame -1 does not move.
func Spinner(frame int) string {
	if frame < 0 {
		return "●"
	}
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	return string(frames[frame%len(frames)])
}

// Tilde shortens a path below the home folder.
func Tilde(path, home string) string {
	if home == "" || home == "/" {
		return path
	}
	if path == home {
		return "~"
	}
	if rest, ok := strings.CutPrefix(path, home+"/"); ok {
		return "~/" + rest
	}
	return path
}

// Step is how a step of a plan is drawn, one that is done or that is worked on now.
func Step(done, now bool) (mark Span, style Style) {
	switch {
	case done:
		return Good.Span("☑ "), Dim
	case now:
		return Accent.Span("▸ "), Strong
	}
	return Dim.Span("☐ "), Text
}

// Tildes shortens the paths below the home folder in words of codeagent's.
func Tildes(text, home string) string {
	if home == "" || home == "/" {
		return text
	}
	out := ""
	for {
		at := strings.Index(text, home)
		if at < 0 {
			return out + text
		}
		out += text[:at]
		text = text[at+len(home):]
		last, _ := utf8.DecodeLastRuneInString(out)
		if (out == "" || strings.ContainsRune(" \n\t(“", last)) && (text == "" || strings.ContainsAny(text[:1], "/ \n:,;)")) {
			out += "~"
		} else {
			out += home
		}
	}
}
