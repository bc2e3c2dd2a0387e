package page

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

func view(p *Page, h int) string {
	lines, _, _ := p.View(paint.New(true), 40, h)
	return ansi.Strip(strings.Join(lines, "\n"))
}

// TestKeys: a page closes, does what Enter stands for, and leaves other keys to the screen.
func TestKeys(t *testing.T) {
	under := &Page{Title: "under"}
	p := &Page{Title: "Undo", Keys: keys.Standard(), Draw: func(*paint.Theme, int) []string { return nil }, Under: under}
	for _, c := range []struct {
		key  tea.Key
		want part.Intent
	}{
		{tea.Key{Code: tea.KeyEscape}, part.Show{Overlay: under}},
		{tea.Key{Code: 'q', Text: "q"}, part.Show{Overlay: under}},
		{tea.Key{Code: tea.KeyEnter}, part.Show{Overlay: under}},
		{tea.Key{Code: 'j', Text: "j"}, part.Act(keys.LineDown)},
		{tea.Key{Code: 'x', Text: "x"}, nil},
	} {
		if got, _ := p.Key(c.key); got != c.want {
			t.Errorf("%s: %#v, want %#v", c.key, got, c.want)
		}
	}
	p.Accept, p.Enter = func() part.Intent { return part.Say("undone") }, "undoes it"
	if got, _ := p.Key(tea.Key{Code: tea.KeyEnter}); got != part.Say("undone") || !strings.Contains(view(p, 4), "Enter undoes it") {
		t.Errorf("Enter: %#v\n%s", got, view(p, 4))
	}
	// A command that is written on the page does not confirm it.
	for _, write := range []func(){func() { p.Key(tea.Key{Code: 'r', Text: "r"}) }, func() { p.Paste("/redo") }} {
		write()
		if got := view(p, 4); !strings.Contains(got, "no text is taken here") {
			t.Errorf("after a text:\n%s", got)
		}
		if got, _ := p.Key(tea.Key{Code: tea.KeyEnter}); got != nil {
			t.Errorf("the Enter of a text: %#v", got)
		}
		if got, _ := p.Key(tea.Key{Code: tea.KeyEnter}); got != part.Say("undone") {
			t.Errorf("the Enter after it: %#v", got)
		}
	}
}

// TestReading: a text is shown once it was read, with its error; a page that grows stays at its end
// until the person scrolls.
func TestReading(t *testing.T) {
	said, err := "first", error(nil)
	p := Output(keys.Standard(), "npm run dev", func(context.Context) (string, error) { return said, err })
	p.Tails = true
	load := func() string { p.Load().(part.Beside)(t.Context())(); return view(p, 6) }
	if got := view(p, 6); !strings.Contains(got, "…") || p.Ready() {
		t.Errorf("before it was read:\n%s", got)
	}
	for i := range 9 {
		said += fmt.Sprintf("\nline %d", i)
	}
	if got := load(); !strings.Contains(got, "line 8") || strings.Contains(got, "first") {
		t.Errorf("not at its end:\n%s", got)
	}
	p.Scroll(-paint.Everything)
	if said, err = said+"\nlast", errors.New("it is gone"); !strings.Contains(load(), "first") {
		t.Errorf("moved away:\n%s", view(p, 6))
	}
	if p.Scroll(paint.Everything); !strings.Contains(view(p, 6), "it is gone") {
		t.Errorf("without the error:\n%s", view(p, 6))
	}
	empty := Text(keys.Standard(), "Diff", func(context.Context) (string, error) { return "\n", nil }, Words)
	if empty.Load().(part.Beside)(t.Context())(); !strings.Contains(view(empty, 6), "(nothing)") {
		t.Errorf("an empty text:\n%s", view(empty, 6))
	}
}
