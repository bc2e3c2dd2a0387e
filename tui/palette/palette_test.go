package palette

import (
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
)

// luminance is the relative luminance of WCAG 2.
func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	part := func(v uint32) float64 {
		x := float64(v) / 0xffff
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*part(r) + 0.7152*part(g) + 0.0722*part(b)
}

func contrast(a, b string) float64 {
	x, y := luminance(lipgloss.Color(a)), luminance(lipgloss.Color(b))
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// TestContrast holds what a person must read to 4.5, as WCAG 2 asks for text, and the words of diffs on
// their backgrounds too.
func TestContrast(t *testing.T) {
	for _, name := range []string{Light, Dark} {
		p := builtIn[name]
		under := map[string]string{Light: "#ffffff", Dark: "#111111"}[name]
		own := map[string]string{Light: "#111111", Dark: "#eeeeee"}[name] // the terminal's own foreground
		for _, role := range roles[:slices.Index(roles, "said")] {
			least := 4.5
			if role == "faint" {
				least = 1.5 // rules and line numbers, which nobody has to read
			}
			for _, under := range []string{under, p["added-lines"], p["gone-lines"]} {
				if c := contrast(p[role], under); c < least {
					t.Errorf("%s: %s on %s has a contrast of %.2f", name, role, under, c)
				}
			}
		}
		for _, pair := range [][2]string{{"added", "added-words"}, {"gone", "gone-words"}, {"accent", "said"}} {
			if c := contrast(p[pair[0]], p[pair[1]]); c < 4.5 {
				t.Errorf("%s: %s on %s has a contrast of %.2f", name, pair[0], pair[1], c)
			}
		}
		if c := contrast(own, p["said"]); c < 4.5 {
			t.Errorf("%s: the terminal's own colour on said has a contrast of %.2f", name, c)
		}
	}
}

func TestPaletteErrors(t *testing.T) {
	for want, p := range map[string]Palette{
		"":                      {base: "light", "accent": "#00aaff", "warn": "3", "said": "#eeeeee"},
		`"accnt" has no colour`: {"accnt": "#00aaff"},
		`accent = "blue"`:       {"accent": "blue"},
		`accent = "#12345"`:     {"accent": "#12345"},
		`accent = "16"`:         {"accent": "16"},
		`base = "solarized"`:    {base: "solarized"},
	} {
		err := p.Check()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", p, err, want)
		}
	}
	for name, p := range builtIn {
		if err := p.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestColour: a palette's own colours come first, then those of its base, then the terminal's.
func TestColour(t *testing.T) {
	mine := Palette{base: Dark, "accent": "1"}
	if mine.Colour("accent") != "1" || mine.Colour("warn") != builtIn[Dark]["warn"] || (Palette{}).Colour("accent") != "" {
		t.Errorf("accent %q, warn %q", mine.Colour("accent"), mine.Colour("warn"))
	}
}
