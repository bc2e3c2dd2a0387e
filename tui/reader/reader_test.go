package reader

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/transcript"
)

// TestKeys: what each key of the page does, and what is then in view.
func TestKeys(t *testing.T) {
	now := func() time.Time { return time.Unix(0, 0) }
	tr := transcript.New(now)
	for i := range 20 {
		tr.Show(fmt.Sprintf("message %d", i))
	}
	tr.Apply(event.ToolStarted{CallID: "c", Kind: word.KindCommand, Command: "make", Title: "make"})
	tr.Apply(event.ToolFinished{CallID: "c", Kind: word.KindCommand, Outcome: word.OK, Output: "built", Spill: "/out"})
	canvas := func() transcript.Canvas { return transcript.Canvas{Theme: paint.New(true), Width: 40, Now: now()} }
	press := map[string]tea.Key{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "ctrl+o": {Code: 'o', Mod: tea.ModCtrl},
		"shift+n": {Code: 'n', ShiftedCode: 'N', Text: "N", Mod: tea.ModShift},
	}
	for _, c := range []struct {
		keys string
		want part.Intent
		view string
	}{
		{"esc", part.Show{}, "message 19"},
		{"q", part.Show{}, "message 19"},
		{"k", part.Act(keys.LineUp), "message 19"},
		{"/", nil, "find: "},
		{"/ e 1 2 enter", nil, "found: e12"},
		{"/ 4 enter", nil, "message 4"},
		{"/ 4 enter n", nil, "message 14"},
		{"/ 4 enter n shift+n", nil, "message 4 "},
		{"/ x y enter", nil, "not found: xy"},
		{"/ x esc", nil, "message 19"},
		{"/ x esc esc", part.Show{}, "message 19"},
		{"/ 1 4 enter c", part.Copy("message 14"), "message 14"},
		{"/ m a k e enter ctrl+o", "shows make", "built"},
		{"/ 4 enter ctrl+o", part.Say("all output of the commands in view is shown here"), "message 4"},
	} {
		r := New(&tr, keys.Standard(), canvas, func(context.Context, string, []byte, int64) (int, int64, error) { return 0, 0, nil })
		view := func() string {
			lines, _, _ := r.View(paint.New(true), 40, 12)
			return ansi.Strip(strings.Join(lines, "\n"))
		}
		view()
		var got part.Intent
		for name := range strings.FieldsSeq(c.keys) {
			k, named := press[name]
			if !named {
				k = tea.Key{Code: []rune(name)[0], Text: name}
			}
			got, _ = r.Key(k)
			view()
		}
		if w, ok := got.(part.Show); ok {
			if pager, ok := w.Overlay.(*Pager); ok {
				got = "shows " + pager.title
			}
		}
		if got != c.want {
			t.Errorf("%s: %#v, want %#v", c.keys, got, c.want)
		}
		if text := view(); !strings.Contains(text, c.view) {
			t.Errorf("%s: no %q in\n%s", c.keys, c.view, text)
		}
	}
}
