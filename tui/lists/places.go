package lists

import (
	"strings"

	"codeagent/tui/part"
	"codeagent/tui/picker"
)

// OfPlaces lists where a session can work, and lets the person write a folder. chosen gets the Id of a place, or
// that folder. why is the reason to choose.
func OfPlaces(s part.Setting, why string, places []picker.Row, chosen func(string)) *picker.Picker {
	p := picker.New(s.Keys, "Where should codeagent work?")
	p.Enter, p.Problem = "works there", why
	works := func(place string) part.Intent {
		chosen(place)
		return part.Quit{}
	}
	p.Choose = func(r picker.Row) part.Intent { return works(r.Id) }
	write := &picker.Action{Label: "folder", Saves: "works there", Writes: func(picker.Row) string { return "~/" }, Run: func(_ picker.Row, folder string) part.Intent {
		if rest, ok := strings.CutPrefix(folder, "~/"); ok {
			folder = s.Home + "/" + rest
		}
		return works(folder)
	}}
	other := picker.Row{Text: "Another folder …"}
	other.Chosen = func() part.Intent { p.Ask(write, other); return nil }
	p.Fill(append(places, other))
	return p
}
