package paint

import "strings"

// DiffLine is the style of a line of a unified diff or of a patch.
func DiffLine(line string) Style {
	for _, l := range []struct {
		begins string
		style  Style
	}{{"diff ", Strong}, {"*** ", Strong}, {"@@", Faint}, {"+", Added}, {"-", Gone}} {
		if strings.HasPrefix(line, l.begins) {
			return l.style
		}
	}
	return Dim
}
