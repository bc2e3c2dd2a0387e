package paint

// The palettes, by their names in the settings. ANSI uses the terminal's own colours.
const (
	Light = "light"
	Dark  = "dark"
	ANSI  = "ansi"
)

// palettes give roles colours: "#rrggbb", or "0" to "15" for one of the terminal's own. A role without one has the
// terminal's own foreground and background. The contrast of every ink but faint is at least 4.5 against #fff or #111,
// and against the backgrounds that it is drawn on.
var palettes = map[string]map[string]string{
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
