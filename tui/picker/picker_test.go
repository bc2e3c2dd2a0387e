package picker

import (
	"context"
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// fruits is a list of three rows that notes what was chosen and done.
func fruits() (p *Picker, done *[]string) {
	done = new([]string)
	note := func(what string) func(Row, string) part.Intent {
		return func(r Row, text string) part.Intent {
			*done = append(*done, what+" "+r.Id+" "+text)
			return nil
		}
	}
	p = New(keys.Standard(), "Fruits")
	p.Choose = func(r Row) part.Intent { return note("choose")(r, "") }
	p.Deeds = []Action{
		{Do: keys.Remove, Help: "eats", Asks: "Eat %s?", Fits: func(r Row) bool { return !r.Over }, Run: note("eat")},
		{Do: keys.Rename, Help: "names", Writes: func(r Row) string { return r.Text }, Run: note("name")},
		{Do: keys.All, Help: "all", All: true, Run: note("all")},
	}
	p.Fill([]Row{{Id: "1", Text: "apple"}, {Id: "2", Text: "plum", Mark: true}, {Id: "3", Text: "pear tree", More: "old", Over: true}})
	return p, done
}

// pressed are keys of the standard table.
var pressed = map[keys.Action]tea.Key{
	keys.Send: {Code: tea.KeyEnter}, keys.Back: {Code: tea.KeyEscape}, keys.Up: {Code: tea.KeyUp}, keys.Down: {Code: tea.KeyDown}, keys.Top: {Code: tea.KeyHome}, keys.End: {Code: tea.KeyEnd},
	keys.Remove: {Code: 'x', Mod: tea.ModCtrl}, keys.Rename: {Code: 'r', Mod: tea.ModCtrl}, keys.All: {Code: tea.KeyTab}, keys.None: {Code: tea.KeyF9},
}

func press(p *Picker, do keys.Action) (part.Intent, bool) { return p.Key(pressed[do]) }

func typed(p *Picker, text string) {
	for _, r := range text {
		p.Key(tea.Key{Code: r, Text: string(r)})
	}
}

func wantDone(t *testing.T, done *[]string, want ...string) {
	t.Helper()
	if got := strings.Join(*done, ", "); got != strings.Join(want, ", ") {
		t.Errorf("done: %q, want %q", got, strings.Join(want, ", "))
	}
}

// TestMarkedFirst: the row in use is selected when the list arrives.
func TestMarkedFirst(t *testing.T) {
	p, done := fruits()
	press(p, keys.Send)
	wantDone(t, done, "choose 2 ")
}

// TestFilter: every word must match, in any part of a row.
func TestFilter(t *testing.T) {
	p, done := fruits()
	typed(p, "old PEAR")
	press(p, keys.Send)
	wantDone(t, done, "choose 3 ")
	typed(p, "x")
	if press(p, keys.Send); len(*done) != 1 {
		t.Errorf("a row was chosen of none: %q", *done)
	}
}

// TestMovement goes around the ends by a row, and stops there by more.
func TestMovement(t *testing.T) {
	p, _ := fruits()
	for _, step := range []struct {
		do   keys.Action
		want int
	}{{keys.Down, 2}, {keys.Down, 0}, {keys.Up, 2}, {keys.Top, 0}, {keys.Up, 2}, {keys.End, 2}, {keys.PageDown, 2}} {
		if press(p, step.do); p.At != step.want {
			t.Fatalf("after %s row %d is selected, want %d", step.do, p.At, step.want)
		}
	}
}

// TestSelectionStays: new rows keep the selected one, wherever it is then.
func TestSelectionStays(t *testing.T) {
	p, done := fruits()
	p.Fill([]Row{{Id: "0", Text: "fig", Mark: true}, {Id: "2", Text: "plum"}})
	press(p, keys.Send)
	wantDone(t, done, "choose 2 ")
}

// TestDeeds: a deed may ask first, take a text, or do without a row.
func TestDeeds(t *testing.T) {
	p, done := fruits()
	press(p, keys.Remove)
	press(p, keys.Back) // no
	wantDone(t, done)
	press(p, keys.Remove)
	typed(p, "y")
	wantDone(t, done, "eat 2 ")
	press(p, keys.Rename)
	typed(p, "s")
	press(p, keys.Send)
	wantDone(t, done, "eat 2 ", "name 2 plums")
	press(p, keys.End)
	press(p, keys.Remove) // does not fit the last row
	typed(p, "y")         // so this filters
	wantDone(t, done, "eat 2 ", "name 2 plums")
	press(p, keys.All)
	if got := (*done)[len(*done)-1]; !strings.HasPrefix(got, "all") {
		t.Errorf("the deed without a row was not done: %q", got)
	}
}

// TestBack closes the list, and a key without a meaning is for somebody else.
func TestBack(t *testing.T) {
	p, _ := fruits()
	if got, _ := press(p, keys.Back); got != (part.Show{}) {
		t.Errorf("Esc: %#v", got)
	}
	if _, handled := press(p, keys.None); handled {
		t.Error("the list took a key that is not its own")
	}
}

// TestLoad: only what was asked for last fills the list, and an error stays with the rows until
// something is done.
func TestLoad(t *testing.T) {
	p := New(keys.Standard(), "Fruits")
	text := "old"
	p.List = func(context.Context) ([]Row, error) {
		return []Row{{Id: text, Text: text}}, errors.New("one shop is closed")
	}
	late := p.Load().(part.Beside)(t.Context())
	text = "new"
	p.Load().(part.Beside)(t.Context())()
	if late(); p.rows[0].Id != "new" || p.Problem != "one shop is closed" {
		t.Errorf("the list has %v: %s", p.rows, p.Problem)
	}
	p.List = func(context.Context) ([]Row, error) { return nil, nil }
	p.Deeds = []Action{{Do: keys.Remove, Change: func(_ context.Context, r Row, _ string) (string, error) { return "ate " + r.Id, nil }}}
	eating, _ := press(p, keys.Remove)
	did := eating.(part.Beside)(t.Context())().(part.All)
	did[1].(part.Beside)(t.Context())()
	if did[0] != part.Note("ate new") || len(p.rows) > 0 || p.Problem != "" {
		t.Errorf("after a deed: %v, %v, %q", did[0], p.rows, p.Problem)
	}
}

// TestView draws exactly the rows it is given, the selected one among them.
func TestView(t *testing.T) {
	p, _ := fruits()
	for h := 1; h < 12; h++ {
		lines, _, y := p.View(paint.New(true), 60, h)
		if len(lines) != h || y >= h {
			t.Errorf("height %d: %d lines, the cursor in line %d", h, len(lines), y)
		}
		if text := ansi.Strip(strings.Join(lines, "\n")); h > 1 && !strings.Contains(text, "› plum") {
			t.Errorf("height %d: the selected row is not shown:\n%s", h, text)
		}
	}
}

// TestHeight: a list is as high as its rows, and keeps its height while a filter shows fewer.
func TestHeight(t *testing.T) {
	p, theme := New(keys.Standard(), "Things"), paint.New(true)
	p.None, p.Enter = "nothing", "takes it"
	p.Fill([]Row{{Id: "a", Text: "a", More: "about a"}, {Id: "b", Text: "b"}, {Id: "c", Text: "c"}})
	full := p.Height(theme, 40)
	if full != 2+3+2 {
		t.Errorf("%d rows for a title, a filter, three things, what is about one, and a key", full)
	}
	for _, text := range []string{"b", "bz"} {
		p.Paste(text)
		if got := p.Height(theme, 40); got != full {
			t.Errorf("%d rows with a filter, %d without", got, full)
		}
	}
	none := New(keys.Standard(), "Things")
	none.None = "nothing"
	none.Fill(nil)
	h := none.Height(theme, 40)
	if lines, _, _ := none.View(theme, 40, h); h != 3 || !strings.Contains(strings.Join(lines, "\n"), "type to filter") {
		t.Errorf("%d rows without a thing: %q", h, lines)
	}
}

// TestNumbered: a digit chooses one of a few fixed rows, and other text does nothing.
func TestNumbered(t *testing.T) {
	p, done := fruits()
	p.Numbered = true
	typed(p, "p")
	p.Paste("plum")
	lines, _, _ := p.View(paint.New(true), 40, 9)
	if text := ansi.Strip(strings.Join(lines, "\n")); !strings.Contains(text, "2 plum") || strings.Contains(text, "filter") {
		t.Errorf("drawn:\n%s", text)
	}
	wantDone(t, done)
	typed(p, "9")
	wantDone(t, done)
	typed(p, "2")
	wantDone(t, done, "choose 2 ")
}
