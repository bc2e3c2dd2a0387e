// Package palette holds the colours of the screen by role: the built-in ones, and the check of a
// person's own. It draws nothing and performs no IO. Start at Palette.
package palette

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Palette gives roles colours: "#rrggbb", or "0" to "15" for one of the terminal's own. "base" names
// the built-in palette that gives the other roles theirs; without it they keep the terminal's own
// foreground and background.
type Palette map[string]string

// The built-in palettes. The contrast of every ink but faint is at least 4.5 against #fff or #111,
// and against the backgrounds that it is drawn on. ANSI uses the terminal's own colours.
const (
	Light = "light"
	Dark  = "dark"
	ANSI  = "ansi"
)

const base = "base"

// roles have a colour: inks, then backgrounds.
var roles = []string{"dim", "faint", "accent", "good", "bad", "warn", "code", "added", "gone", "said", "added-words", "gone-words", "added-lines", "gone-lines"}

var builtIn = map[string]Palette{
	Light: {
		"dim": "#666a73", "faint": "#b4b8bf", "accent": "#2457b3", "good": "#1a7f4b", "bad": "#b42d34", "warn": "#8f5b00",
		"code": "#7a3e9d", "added": "#166e41", "gone": "#b42d34", "said": "#eceef2", "added-words": "#d9f2e1", "gone-words": "#fbe3e4", "added-lines": "#f1faf4", "gone-lines": "#fdf4f4",
	},
	Dark: {
		"dim": "#8b909a", "faint": "#4d525b", "accent": "#8ab4f8", "good": "#7fc99a", "bad": "#f0858a", "warn": "#e6b566",
		"code": "#c9a8e8", "added": "#8fd0a5", "gone": "#e8969a", "said": "#24272d", "added-words": "#153d25", "gone-words": "#4a1c20", "added-lines": "#10241a", "gone-lines": "#2a1517",
	},
	ANSI: {
		"dim": "8", "faint": "8", "accent": "6", "good": "2", "bad": "1", "warn": "3", "code": "5", "added": "2", "gone": "1",
	},
}

// Named is the built-in palette of a name.
func Named(name string) (Palette, bool) {
	p, ok := builtIn[name]
	return p, ok
}

// For is the built-in palette for a dark or a light background.
func For(dark bool) Palette {
	if dark {
		return builtIn[Dark]
	}
	return builtIn[Light]
}

// Colour is the colour of a role; "": the terminal's own.
func (p Palette) Colour(role string) string { return cmp.Or(p[role], builtIn[p[base]][role]) }

// Check names the first key or colour, in order, that means nothing.
func (p Palette) Check() error {
	for _, key := range slices.Sorted(maps.Keys(p)) {
		value := p[key]
		switch {
		case key == base:
			if _, ok := builtIn[value]; !ok {
				return fmt.Errorf("base = %q is not one of %s", value, strings.Join(slices.Sorted(maps.Keys(builtIn)), ", "))
			}
		case !slices.Contains(roles, key):
			return fmt.Errorf("%q has no colour; these have one: %s", key, strings.Join(roles, ", "))
		case !isColour(value):
			return fmt.Errorf("%s = %q is not a colour: write \"#rrggbb\", or \"0\" to \"15\"", key, value)
		}
	}
	return nil
}

func isColour(s string) bool {
	if hex, ok := strings.CutPrefix(s, "#"); ok {
		_, err := strconv.ParseUint(hex, 16, 32)
		return err == nil && len(hex) == 6
	}
	n, err := strconv.ParseUint(s, 10, 8)
	return err == nil && n < 16
}
