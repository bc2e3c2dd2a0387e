package seatbelt

import (
	"strings"
)

// fold turns a path or name into a pattern that matches every spelling that a macOS volume may
// treat as the same name. Whatever the path contains, the pattern has only ASCII letters, digits,
// "/", ".", "_", "-" and wildcards.
//
// By default APFS and HFS+ ignore case by Unicode's rules: the Kelvin sign equals k, the long s
// equals s. They also ignore how a letter and its accent are composed. So fold replaces a letter by
// both its cases (k and s also by a run of non-ASCII characters), a non-ASCII run together with the
// letter before it by any text, and any other character by any character. The pattern protects
// slightly more than the name, never less. HFS+ also ignores some invisible characters inside a
// name, which fold does not cover.
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

// foldGlob turns a glob of DenyGlobs into a pattern for whole paths; the caller puts "^" in front.
// A class such as [a-z] becomes any character.
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
			b.WriteString("[^/]+") // one character, of one or more bytes
		case '[':
			// path.Match has checked it: the class ends at the first unescaped "]" after its first
			// character.
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
