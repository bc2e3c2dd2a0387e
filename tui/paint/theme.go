// Package paint turns styled text into lines of a terminal: styles, wrapping, widths.
// It performs no IO; every text that it draws is made harmless by Cell, because it may
// come from a model or a command. Start with Cell, then Wrapper and Theme.
package paint

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/tui/palette"
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
	Bold attribute = 1 << iota
	Italic
	Struck
	attributes = 1 << iota
)

// tint is a background that sets cells apart. Without colour it is not seen: what it
// says is then said by an attribute or a mark too.
type tint uint8

const (
	plainTint     tint = iota
	TintSaid           // a message of the person's
	TintAdded          // added words within a line
	TintGone           // removed words within a line
	TintAddedLine      // lines that a change adds
	TintGoneLine       // lines that a change removes
	tints
)

// Style is how a text looks: its role, attributes such as bold, and its background.
type Style struct {
	ink  ink
	Attr attribute
	Tint tint
}

// The plain styles by name.
var (
	Text   = Style{}
	Strong = Style{Attr: Bold}
	Dim    = Style{ink: inkDim}
	Faint  = Style{ink: inkFaint}
	Accent = Style{ink: inkAccent}
	Good   = Style{ink: inkGood}
	Bad    = Style{ink: inkBad}
	Warn   = Style{ink: inkWarn}
	Code   = Style{ink: inkCode}
	Added  = Style{ink: inkAdded}
	Gone   = Style{ink: inkGone}
)

// With is the style with more attributes.
func (s Style) With(a attribute) Style {
	s.Attr |= a
	return s
}

// On is the style on a background.
func (s Style) On(t tint) Style {
	s.Tint = t
	return s
}

// Reset ends every style.
const Reset = ansi.ResetStyle

// Theme holds the escape sequence that switches each style on; "" for plain text.
type Theme struct {
	Dark     bool
	switches [inks][attributes]string
	tints    [tints]string
}

// The roles of inks and tints in a palette.
var (
	inkRoles  = [inks]string{inkDim: "dim", inkFaint: "faint", inkAccent: "accent", inkGood: "good", inkBad: "bad", inkWarn: "warn", inkCode: "code", inkAdded: "added", inkGone: "gone"}
	tintRoles = [tints]string{TintSaid: "said", TintAdded: "added-words", TintGone: "gone-words", TintAddedLine: "added-lines", TintGoneLine: "gone-lines"}
)

// New is the theme for a dark or a light background, with the built-in colours or those of a
// palette.
func New(dark bool, own ...palette.Palette) *Theme {
	t := &Theme{Dark: dark}
	p := palette.For(dark)
	if len(own) > 0 {
		p = own[0]
	}
	colour := func(role string) color.Color {
		if value := p.Colour(role); value != "" {
			return lipgloss.Color(value)
		}
		return nil
	}
	for i, role := range inkRoles {
		for a := range attribute(attributes) {
			t.switches[i][a] = sequence(colour(role), a)
		}
	}
	for i, role := range tintRoles {
		if c := colour(role); c != nil {
			t.tints[i] = ansi.Style{}.BackgroundColor(c).String()
		}
	}
	return t
}

func sequence(c color.Color, a attribute) string {
	var s ansi.Style
	if a&Bold != 0 {
		s = s.Bold()
	}
	if a&Italic != 0 {
		s = s.Italic(true)
	}
	if a&Struck != 0 {
		s = s.Strikethrough(true)
	}
	if c != nil {
		s = s.ForegroundColor(c)
	}
	if len(s) == 0 {
		return ""
	}
	return s.String()
}

func (t *Theme) on(s Style) string {
	if s.Tint == plainTint {
		return t.switches[s.ink][s.Attr]
	}
	return t.switches[s.ink][s.Attr] + t.tints[s.Tint]
}

// Paint styles text that show has made harmless.
func (t *Theme) Paint(s Style, shown string) string {
	on := t.on(s)
	if on == "" || shown == "" {
		return shown
	}
	return on + shown + Reset
}

// Columns draws pairs in two columns; the left one takes the width it needs.
func (t *Theme) Columns(w int, pairs [][2]string) []string {
	left := 0
	for _, p := range pairs {
		left = max(left, Width(p[0]))
	}
	left = min(left, w/2)
	var out []string
	for _, p := range pairs {
		name := Cut(p[0], left)
		name += strings.Repeat(" ", left-Width(name)+2)
		out = append(out, t.Hang(w, Accent.Span(name), Text.Span(p[1]))...)
	}
	return out
}
