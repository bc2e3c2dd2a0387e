package tui

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"codeagent/tui/attention"
	"codeagent/tui/keys"
	"codeagent/tui/lists"
	"codeagent/tui/paint"
	"codeagent/tui/palette"
	"codeagent/tui/part"
	"codeagent/tui/picker"
)

// Auto is the theme that follows the terminal: its background, and how many colours it has.
const Auto = "auto"

// Look chooses the colours, and how the person is called back. The zero value follows the
// terminal, and calls nobody.
type Look struct {
	// Theme is Auto, a name of Own, or a built-in palette's.
	Theme string
	// Own are the person's palettes.
	Own map[string]palette.Palette
	// Attention says how the person is called back.
	Attention attention.Settings
	// Chosen keeps a theme that the person chose for the next session of this run; nil: none follows.
	Chosen func(theme string)
	// few: the terminal has 16 colours; none: it shows none.
	few, none bool
}

// Check reports a theme that is not known.
func (l Look) Check() error {
	if l.Theme != "" && !slices.Contains(l.names(), l.Theme) {
		return fmt.Errorf("theme %q is not one of %s", l.Theme, strings.Join(l.names(), ", "))
	}
	return nil
}

// names are the themes to choose from.
func (l Look) names() []string {
	names := []string{Auto, palette.Light, palette.Dark, palette.ANSI}
	for _, name := range slices.Sorted(maps.Keys(l.Own)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// on is the theme on a dark or a light background.
func (l Look) on(dark bool) *paint.Theme {
	if own, ok := l.Own[l.Theme]; ok {
		return paint.New(dark, own)
	}
	name := l.Theme
	if (name == Auto || name == "") && l.few {
		name = palette.ANSI
	}
	if p, ok := palette.Named(name); ok {
		return paint.New(dark, p)
	}
	return paint.New(dark)
}

// themes is /theme: it uses the named theme, or lists the themes.
func (m *app) themes(name string) part.Intent {
	look := m.offers.Look
	switch {
	case look.none:
		return part.Say("no colours here (NO_COLOR or the terminal)")
	case name != "":
		return m.useTheme(name, nil)
	}
	p := lists.OfValues(m.setting(), "Themes", "tui.theme", m.offers.Extras.Setting, func(name string, keep lists.Keep) part.Intent {
		return m.useTheme(name, keep)
	})
	var rows []picker.Row
	for _, n := range look.names() {
		rows = append(rows, picker.Row{Id: n, Text: n, Mark: n == look.Theme || n == Auto && look.Theme == ""})
	}
	p.Fill(rows)
	return part.Show{Overlay: p}
}

func (m *app) useTheme(name string, keep lists.Keep) part.Intent {
	look := m.offers.Look
	look.Theme = name
	if err := look.Check(); err != nil {
		return part.Say(err.Error())
	}
	m.offers.Look = look
	if look.Chosen != nil {
		look.Chosen(name)
	}
	m.theme = look.on(m.theme.Dark)
	if keep != nil {
		return keep.Kept()
	}
	return part.Say("theme " + name + ", until codeagent ends; " + m.keys.Name(keys.InPicker, keys.Keep) + " in the list of /theme keeps it")
}
