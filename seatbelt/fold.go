package seatbelt

import (
	"strings"
)

// fold turns a path or name into a pattern that matches every spelling of it
// that a macOS volume may take for the same name. It is made of ASCII letters,
// digits, "/", ".", "_", "-" and wildcards alone, whatever the path contains.
//
// APFS and HFS+ by default ignore case, by Unicode's rules: the Kelvin sign is a
// k, the long s an s. They also ignore how a letter and its accent are composed.
// So a letter becomes both its cases (k and s also a run of anything outside
// ASCII), a run outside ASCII together with the letter before it becomes any
// text, and another character becomes any character. It protects a little more
// than was named, never less. HFS+ also ignores some invisible characters
// inside a name, which this does not cover.
func fold(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); {
		run := i
		if isLetter(name[run]) {
			run++
		}
		if run < len(name) && name[run] >= 0x80 {
			for run < len(name) && name[run] >= 0x80 {
				run++
			}
			b.WriteString("[^/]+")
			i = run
			continue
		}
		b.WriteString(foldByte(name[i]))
		i++
	}
	return b.String()
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func foldByte(c byte) string {
	switch {
	case isLetter(c):
		lower, upper := string(c|0x20), string(c&^0x20)
		if lower == "k" || lower == "s" {
			return "([" + lower + upper + "]|[^ -~]+)"
		}
		return "[" + lower + upper + "]"
	case c >= '0' && c <= '9' || c == '/' || c == '_' || c == '-':
		return string(c)
	case c == '.':
		return "[.]"
	}
	return "[^/]"
}

// foldGlob turns a glob of DenyGlobs into a pattern for whole paths, to be anchored
// by "^" in front. A class such as [a-z] becomes any character.
func foldGlob(glob string) string {
	if strings.HasPrefix(glob, "**/") {
		glob = "/" + glob
	} else if !strings.HasPrefix(glob, "/") {
		glob = "/**/" + glob
	} else if real, err := exact(glob); err == nil {
		glob = real
	}
	var b strings.Builder
	for component := range strings.SplitSeq(strings.Trim(glob, "/"), "/") {
		if component == "**" {
			b.WriteString("(/[^/]+)*")
		} else {
			b.WriteString("/" + foldComponent(component))
		}
	}
	return b.String()
}

func foldComponent(c string) string {
	var b strings.Builder
	for i := 0; i < len(c); i++ {
		switch c[i] {
		case '*':
			b.WriteString("[^/]*")
		case '?':
			b.WriteString("[^/]+") // one character, of one byte or more
		case '[':
			// path.Match has checked it: the class ends at the first "]" after its
			// first character that is not escaped.
			for i++; i < len(c) && c[i] != ']'; i++ {
				if c[i] == '\\' {
					i++
				}
			}
			b.WriteString("[^/]+")
		case '\\':
			if i++; i < len(c) {
				b.WriteString(foldByte(c[i]))
			}
		default:
			start := i
			for i < len(c) && !strings.ContainsRune(`*?[\`, rune(c[i])) {
				i++
			}
			b.WriteString(fold(c[start:i]))
			i--
		}
	}
	return b.String()
}
