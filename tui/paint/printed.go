package paint

import (
	"strconv"
	"strings"
)

// Printed splits a command's output into lines like OutputLines, with the colours that
// the command asked for, as far as they are styles of ours: a colour becomes the ink
// that is nearest to it, whose contrast is known, so nothing can be hidden. base is the
// style of text without a colour. All other sequences are shown, not obeyed.
func Printed(s string, base Style) [][]Span {
	var out [][]Span
	var line []Span
	var text strings.Builder // of the span that is not in line yet
	style, of, filled := base, base, 0
	span := func() {
		if text.Len() > 0 {
			line = append(line, of.Span(text.String()))
			text.Reset()
		}
	}
	put := func(s string) {
		if s == "" {
			return
		}
		if of != style {
			span()
			of = style
		}
		text.WriteString(s)
	}
	end := func() {
		span()
		out = append(out, line)
		if line != nil {
			filled = len(out)
		}
		line = nil
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	for s != "" {
		i := strings.IndexAny(s, "\x1b\r\n")
		if i < 0 {
			i = len(s)
		}
		put(s[:i])
		s = s[i:]
		if s == "" {
			break
		}
		n := styleSequence(s)
		switch {
		case n > 0:
			if s[n-1] == 'm' && s[1] == '[' {
				style = style.asked(s[2:n-1], base)
			}
			s = s[n:]
		case s[0] == 0x1b:
			put(s[:1])
			s = s[1:]
		default:
			end()
			s = s[1:]
		}
	}
	end()
	return out[:filled] // without the empty lines at the end
}

// mostParameters bounds what is read of one sequence.
const mostParameters = 16

// asked is the style after the parameters of an SGR sequence.
func (s Style) asked(parameters string, base Style) Style {
	fields := strings.FieldsFunc(parameters, func(r rune) bool { return r == ';' || r == ':' })
	if len(fields) == 0 {
		return base
	}
	fields = fields[:min(len(fields), mostParameters)]
	for i := 0; i < len(fields); i++ {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			continue
		}
		switch {
		case n == 0:
			s = base
		case n == 1:
			s.Attr |= Bold
		case n == 3:
			s.Attr |= Italic
		case n == 9:
			s.Attr |= Struck
		case n == 22:
			s.Attr &^= Bold
		case n == 23:
			s.Attr &^= Italic
		case n == 29:
			s.Attr &^= Struck
		case n >= 30 && n <= 37:
			s.ink = basic(n-30, base)
		case n >= 90 && n <= 97:
			s.ink = basic(n-90, base)
		case n == 39:
			s.ink = base.ink
		case n == 38 || n == 48 || n == 58:
			k, took := extended(fields[i+1:], base)
			if i += took; n == 38 {
				s.ink = k
			}
		}
	}
	return s
}

// basic is the ink for one of the eight colours.
func basic(n int, base Style) ink {
	switch n {
	case 1:
		return inkBad
	case 2:
		return inkGood
	case 3:
		return inkWarn
	case 4, 6:
		return inkAccent
	case 5:
		return inkCode
	case 7:
		return inkText
	}
	return base.ink
}

// extended is the ink for "5;n" or "2;r;g;b", and how many fields that took.
func extended(fields []string, base Style) (k ink, took int) {
	number := func(i int) int {
		if i >= len(fields) {
			return 0
		}
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			return 0
		}
		return n & 0xff
	}
	switch {
	case len(fields) > 0 && fields[0] == "2":
		return hue(number(1), number(2), number(3), base), min(4, len(fields))
	case len(fields) > 0 && fields[0] == "5":
		n := number(1)
		took = min(2, len(fields))
		switch {
		case n < 16:
			return basic(n%8, base), took
		case n < 232:
			n -= 16
			return hue(n/36*51, n/6%6*51, n%6*51, base), took
		}
		return base.ink, took
	}
	return base.ink, 0
}

// hue is the ink that is nearest to a colour: one of six, or none for grey.
func hue(r, g, b int, base Style) ink {
	high, low := max(r, g, b), min(r, g, b)
	span := high - low
	if span*4 <= high { // nearly grey
		return base.ink
	}
	switch {
	case high == r && g >= b: // red to yellow
		if (g-b)*2 > span {
			return inkWarn
		}
		return inkBad
	case high == r: // magenta to red
		if (b-g)*2 > span {
			return inkCode
		}
		return inkBad
	case high == g:
		if r > b && (r-b)*4 > span*3 {
			return inkWarn
		}
		if b > r && (b-r)*4 > span*3 {
			return inkAccent
		}
		return inkGood
	}
	if r > g && (r-g)*2 > span {
		return inkCode
	}
	return inkAccent
}
