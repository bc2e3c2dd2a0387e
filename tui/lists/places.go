package lists

import (
	"cmp"
	"slices"
	"strings"

	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/picker"
)

// Place is where or with what a session can work.
type Place struct {
	// Name is the answer: a folder, or a word of the caller's. Text is shown for it; "": the folder.
	Name, Text, About string
	// Write: the person writes the folder.
	Write bool
}

// OfPlaces lists where or with what a session can work; chosen gets the answer. why is the reason to
// choose, does what choosing does.
func OfPlaces(s part.Setting, title, why, does string, places []Place, chosen func(string)) *picker.Picker {
	p := picker.New(s.Keys, title)
	p.Enter, p.Problem = does, why
	other := &picker.Action{Label: "folder", Saves: "works there", Writes: func(picker.Row) string { return "~/" }, Run: func(_ picker.Row, folder string) part.Intent {
		if rest, ok := strings.CutPrefix(folder, "~/"); ok {
			folder = s.Home + "/" + rest
		}
		chosen(folder)
		return part.Quit{}
	}}
	rows := make([]picker.Row, len(places))
	for i, place := range places {
		rows[i] = picker.Row{Id: place.Name, Text: cmp.Or(place.Text, paint.Tilde(place.Name, s.Home)), About: place.About}
	}
	p.Choose = func(r picker.Row) part.Intent {
		if i := slices.IndexFunc(places, func(at Place) bool { return at.Name == r.Id }); places[i].Write {
			p.Ask(other, r)
			return nil
		}
		chosen(r.Id)
		return part.Quit{}
	}
	p.Fill(rows)
	return p
}
