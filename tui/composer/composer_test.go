package composer

import (
	"strings"
	"testing"
	"unicode/utf8"

	"codeagent/tui/keys"
	"codeagent/tui/message"
	"codeagent/tui/paint"
	"codeagent/tui/tuitest"
)

// checkComposer holds whatever is done: the cursor stands between characters,
// rows cover the text, and the cursor has a place on them.
func checkComposer(t *testing.T, c *Composer, w int) {
	t.Helper()
	if c.Cursor < 0 || c.Cursor > len(c.Text) || c.Cursor < len(c.Text) && !utf8.RuneStart(c.Text[c.Cursor]) && utf8.ValidString(c.Text) {
		t.Fatalf("the cursor is at %d in %q", c.Cursor, c.Text)
	}
	at := 0
	rows := c.Rows(w)
	for _, r := range rows {
		if r.start != at {
			t.Fatalf("rows %v leave a gap at %d in %q", rows, at, c.Text)
		}
		at = r.end
		if !r.wrapped {
			at++
		}
	}
	if at != len(c.Text)+1 {
		t.Fatalf("rows %v do not end at %d", rows, len(c.Text))
	}
	if _, x, y := c.View(paint.New(true), w, 5); x < 0 || x > max(w, 4)+40 || y < 0 || y >= 5 {
		t.Fatalf("the cursor is at %d, %d", x, y)
	}
}

func FuzzComposer(f *testing.F) {
	f.Add("hello world\nsecond", "llllwb\x01", 10)
	for _, s := range tuitest.Nasty() {
		f.Add(s, "lrudwWbxkKuU", 12)
	}
	f.Fuzz(checkEdits)
}

func checkEdits(t *testing.T, text, presses string, w int) {
	w = 5 + (w%40+40)%40
	editor := New()
	c := &editor
	c.Paste(text)
	checkComposer(t, c, w)
	acts := []keys.Action{keys.Left, keys.Right, keys.Up, keys.Down, keys.WordLeft, keys.WordRight, keys.Backspace, keys.Delete, keys.CutWord, keys.CutNext, keys.CutLeft, keys.CutRight, keys.Undo, keys.Newline, keys.LineStart, keys.LineEnd, keys.Yank, keys.Redo}
	for _, k := range []byte(presses) {
		c.Edit(acts[int(k)%len(acts)], w)
		checkComposer(t, c, w)
	}
}

func TestEditsOnNastyText(t *testing.T) {
	for i, s := range tuitest.Nasty() {
		checkEdits(t, s, "\x00\x00\x04\x06\x02\x05\x07\x0c\x08\x02\x02\x03\x0d\x0e\x0f\x09\x0a\x0b\x0c\x0c", i)
	}
}

// TestRestoredTextIsFolded: a text that an editor left is one cell where it is big, beside a
// paste too: each key lays all rows out again.
func TestRestoredTextIsFolded(t *testing.T) {
	paste, big := strings.Repeat("line\n", 20), strings.Repeat("word ", 100_000)
	c := New()
	c.Restore(message.Message{Text: big + paste + big, Pastes: []string{paste}})
	if len(c.Text) > 100 || c.Value() != big+paste+big {
		t.Errorf("%d bytes are laid out for %d", len(c.Text), len(c.Value()))
	}
}
