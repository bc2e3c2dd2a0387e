package picker

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/tui/keys"
	"codeagent/tui/paint"
)

// fruits is a list of three rows that notes what was chosen and done.
func fruits() (p *Picker, done *[]string) {
	done = new([]string)
	note := func(what string) func(Row, string) tea.Cmd {
		return func(r Row, text string) tea.Cmd {
			*done = append(*done, what+" "+r.Id+" "+text)
			return nil
		}
	}
	p = New("Fruits")
	p.Choose = func(r Row) tea.Cmd { return note("choose")(r, "") }
	p.Deeds = []Deed{
		{Do: "eat", Key: "E", Help: "eats", Asks: "Eat %s?", Fits: func(r Row) bool { return !r.Over }, Run: note("eat")},
		{Do: "name", Key: "N", Help: "names", Writes: func(r Row) string { return r.Text }, Run: note("name")},
		{Do: "all", Key: "A", Help: "all", All: true, Run: note("all")},
	}
	p.Fill([]Row{{Id: "1", Text: "apple"}, {Id: "2", Text: "plum", Mark: true}, {Id: "3", Text: "pear tree", More: "old", Over: true}}, "")
	return p, done
}

func press(p *Picker, do keys.Action) bool {
	_, handled := p.Press(tea.Key{}, do, do)
	return handled
}

func typed(p *Picker, text string) {
	for _, r := range text {
		p.Press(tea.Key{Code: r, Text: string(r)}, keys.None, keys.None)
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

// TestMovement stays within the list.
func TestMovement(t *testing.T) {
	p, _ := fruits()
	for _, step := range []struct {
		do   keys.Action
		want int
	}{{keys.Down, 2}, {keys.Down, 2}, {keys.Top, 0}, {keys.Up, 0}, {keys.End, 2}} {
		if press(p, step.do); p.At != step.want {
			t.Fatalf("after %s row %d is selected, want %d", step.do, p.At, step.want)
		}
	}
}

// TestSelectionStays: new rows keep the selected one, wherever it is then.
func TestSelectionStays(t *testing.T) {
	p, done := fruits()
	p.Fill([]Row{{Id: "0", Text: "fig", Mark: true}, {Id: "2", Text: "plum"}}, "")
	press(p, keys.Send)
	wantDone(t, done, "choose 2 ")
}

// TestDeeds: a deed may ask first, take a text, or do without a row.
func TestDeeds(t *testing.T) {
	p, done := fruits()
	press(p, "eat")
	press(p, keys.Back) // no
	wantDone(t, done)
	press(p, "eat")
	typed(p, "y")
	wantDone(t, done, "eat 2 ")
	press(p, "name")
	typed(p, "s")
	press(p, keys.Send)
	wantDone(t, done, "eat 2 ", "name 2 plums")
	press(p, keys.End)
	press(p, "eat") // does not fit the last row
	typed(p, "y")   // so this filters
	wantDone(t, done, "eat 2 ", "name 2 plums")
	press(p, "all")
	if got := (*done)[len(*done)-1]; !strings.HasPrefix(got, "all") {
		t.Errorf("the deed without a row was not done: %q", got)
	}
}

// TestBack is for somebody else, and so is a key without a meaning.
func TestBack(t *testing.T) {
	p, _ := fruits()
	for _, key := range []keys.Action{keys.Back, keys.None} {
		if press(p, key) {
			t.Errorf("the list took the key %v, which is not its own", key)
		}
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
