package tui

import (
	"image/color"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// ink is the role of a text; the theme gives it a colour.
type ink uint8

const (
	inkText   ink = iota // the terminal's own foreground
	inkDim               // second in importance: gutters, hints, old output
	inkFaint             // rules and line numbers
	inkAccent            // the person's own words, links, headings
	inkGood              // done, allowed
	inkBad               // failed, refused
	inkWarn              // asks for a decision
	inkCode              // code inside text
	inkAdded             // lines a change added
	inkGone              // lines a change removed
	inks
)

// attribute is a set of text attributes, which are also used without colour.
type attribute uint8

const (
	bold attribute = 1 << iota
	italic
	underline
	struck
	reverse
	attributes = 1 << iota
)

type style struct {
	ink  ink
	attr attribute
}

// The plain styles by name.
var (
	text   = style{}
	strong = style{attr: bold}
	dim    = style{ink: inkDim}
	faint  = style{ink: inkFaint}
	accent = style{ink: inkAccent}
	good   = style{ink: inkGood}
	bad    = style{ink: inkBad}
	warn   = style{ink: inkWarn}
	code   = style{ink: inkCode}
	added  = style{ink: inkAdded}
	gone   = style{ink: inkGone}
)

// with is the style with more attributes.
func (s style) with(a attribute) style {
	s.attr |= a
	return s
}

const reset = ansi.ResetStyle

// theme holds the escape sequence that switches each style on; "" for plain text.
type theme struct {
	dark     bool
	switches [inks][attributes]string
}

// palette lists each ink's colour on a light and on a dark background. The renderer
// reduces them to what the terminal can show, and drops them under NO_COLOR. The
// contrast against #fff and #111 is at least 4.5 for all but inkFaint.
var palette = [inks][2]string{
	inkDim:    {"#666a73", "#8b909a"},
	inkFaint:  {"#b4b8bf", "#4d525b"},
	inkAccent: {"#2457b3", "#8ab4f8"},
	inkGood:   {"#1a7f4b", "#7fc99a"},
	inkBad:    {"#b42d34", "#f0858a"},
	inkWarn:   {"#8f5b00", "#e6b566"},
	inkCode:   {"#7a3e9d", "#c9a8e8"},
	inkAdded:  {"#1a7f4b", "#8fd0a5"},
	inkGone:   {"#b42d34", "#e8969a"},
}

func newTheme(dark bool) *theme {
	t := &theme{dark: dark}
	pick := lipgloss.LightDark(dark)
	for i := range inks {
		var c color.Color
		if i != inkText {
			c = pick(lipgloss.Color(palette[i][0]), lipgloss.Color(palette[i][1]))
		}
		for a := range attribute(attributes) {
			t.switches[i][a] = sequence(c, a)
		}
	}
	return t
}

func sequence(c color.Color, a attribute) string {
	var s ansi.Style
	if a&bold != 0 {
		s = s.Bold()
	}
	if a&italic != 0 {
		s = s.Italic(true)
	}
	if a&underline != 0 {
		s = s.Underline(true)
	}
	if a&struck != 0 {
		s = s.Strikethrough(true)
	}
	if a&reverse != 0 {
		s = s.Reverse(true)
	}
	if c != nil {
		s = s.ForegroundColor(c)
	}
	if len(s) == 0 {
		return ""
	}
	return s.String()
}

func (t *theme) on(s style) string { return t.switches[s.ink][s.attr] }

// paint styles text that show has made harmless.
func (t *theme) paint(s style, shown string) string {
	on := t.on(s)
	if on == "" || shown == "" {
		return shown
	}
	return on + shown + reset
}
