package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/composer"
	"codeagent/tui/message"
)

func TestEditing(t *testing.T) {
	for _, c := range []struct {
		name, text string
		keys       []string
		want       string // | is the cursor
	}{
		{"insert in the middle", "ac", []string{"left", "b"}, "ab|c"},
		{"word left and cut", "one two three", []string{"alt+left", "ctrl+w"}, "one |three"},
		{"cut to start", "one two", []string{"ctrl+left", "ctrl+u"}, "|two"},
		{"cut to end", "one two", []string{"alt+b", "ctrl+k"}, "one |"},
		{"cut next word", "one two", []string{"ctrl+a", "alt+d"}, "| two"},
		{"word right", "one two", []string{"ctrl+a", "alt+f"}, "one| two"},
		{"newline by ctrl+j", "ab", []string{"ctrl+j", "c"}, "ab\nc|"},
		{"newline by shift+enter", "ab", []string{"shift+enter", "c"}, "ab\nc|"},
		{"home is the line's", "ab\ncd", []string{"home"}, "ab\n|cd"},
		{"end is the line's", "ab\ncd", []string{"up", "end"}, "ab|\ncd"},
		{"up keeps the column", "abcd\nx\nabcd", []string{"up", "up"}, "abcd|\nx\nabcd"},
		{"backspace joins lines", "ab\ncd", []string{"home", "backspace"}, "ab|cd"},
		{"delete", "abc", []string{"ctrl+a", "delete"}, "|bc"},
		{"a family is one character", "x👩‍👩‍👧", []string{"backspace"}, "x|"},
		{"an accent goes with its letter", "ae\u0301", []string{"left"}, "a|e\u0301"},
		{"undo typing is one step", "abc", []string{"ctrl+_"}, "|"},
		{"undo a cut", "one two", []string{"ctrl+w", "ctrl+_"}, "one two|"},
		{"left at the start", "a", []string{"left", "left", "left"}, "|a"},
		{"right at the end", "a", []string{"right", "right"}, "a|"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, 60, 20)
			for i, part := range strings.Split(c.text, "\n") {
				if i > 0 {
					r.press("ctrl+j")
				}
				r.typeText(part)
			}
			r.press(c.keys...)
			got := r.app.composer.Text[:r.app.composer.Cursor] + "|" + r.app.composer.Text[r.app.composer.Cursor:]
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			r.screen()
		})
	}
}

func TestPasteIsKeptWhole(t *testing.T) {
	big := strings.Repeat("0123456789abcde\n", 1<<16) // 1 MiB in 65,536 lines
	for _, c := range []struct{ name, in, want, shown string }{
		{"small", "a\r\nb\rc", "a\nb\nc", "a"},
		{"ten newlines", strings.Repeat("x\n", 10), strings.Repeat("x\n", 10), "[pasted 10 lines]"},
		{"long line", strings.Repeat("y", 2001), strings.Repeat("y", 2001), "[pasted 2001 characters]"},
		{"a megabyte", big, big, "[pasted 65536 lines]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, 60, 20)
			r.typeText("see ")
			r.send(tea.PasteMsg{Content: c.in})
			r.typeText(" end")
			r.has(c.shown)
			r.press("enter")
			if want := "see " + c.want + " end"; len(r.turns) != 1 || r.turns[0] != want {
				t.Errorf("sent %d messages; the text was changed", len(r.turns))
			}
		})
	}
}

func TestChipIsOneCharacter(t *testing.T) {
	r := newRig(t, 60, 20)
	r.send(tea.PasteMsg{Content: strings.Repeat("x\n", 50)})
	r.press("left", "right", "backspace")
	if !r.app.composer.Empty() {
		t.Errorf("left %q", r.app.composer.Text)
	}
	r.press("ctrl+_")
	if got := r.app.composer.Value(); got != strings.Repeat("x\n", 50) {
		t.Errorf("undo brought back %d bytes", len(got))
	}
}

// A pasted private-use character must not stand for another paste.
func TestChipCannotBeForged(t *testing.T) {
	r := newRig(t, 60, 20)
	r.send(tea.PasteMsg{Content: strings.Repeat("secret\n", 50)})
	r.send(tea.PasteMsg{Content: "\U000f0000"})
	if n := strings.Count(r.app.composer.Value(), "secret"); n != 50 {
		t.Errorf("the paste counts %d times, want 50", n)
	}
}

func TestHistory(t *testing.T) {
	r := newRig(t, 60, 20)
	for _, s := range []string{"first", "second"} {
		r.typeText(s)
		r.press("enter")
		r.send(turnDoneMsg{})
	}
	r.typeText("draft")
	r.press("up")
	if got := r.app.composer.Value(); got != "second" {
		t.Fatalf("up recalls %q", got)
	}
	r.press("up", "up")
	if got := r.app.composer.Value(); got != "first" {
		t.Fatalf("up recalls %q", got)
	}
	r.press("down", "down")
	if got := r.app.composer.Value(); got != "draft" {
		t.Errorf("the draft is lost: %q", got)
	}
}

func TestComposerScrollsInside(t *testing.T) {
	r := newRig(t, 40, 15)
	for i := range 30 {
		if i > 0 {
			r.press("ctrl+j")
		}
		r.typeText("row")
	}
	r.typeText("LAST")
	r.has("LAST")
	if v := r.app.View(); v.Cursor == nil || v.Cursor.Y >= 15 {
		t.Errorf("the cursor is off the screen: %+v", v.Cursor)
	}
	for range 40 {
		r.press("up")
	}
	r.lacks("LAST")
}

// A recalled message has its paste as one cell again, and what was typed as text.
func TestRecallKeepsWhatWasTyped(t *testing.T) {
	paste := strings.Repeat("pasted\n", 30)
	for what, bring := range map[string]func(r *rig, sent message.Message){
		"the history":                 func(r *rig, _ message.Message) { r.press("up") },
		"undo after Ctrl+C":           func(r *rig, _ message.Message) { r.press("up"); r.press("ctrl+c"); r.press("up") },
		"going back to it":            func(r *rig, sent message.Message) { r.app.composer.Restore(message.Message{Text: sent.Text}) },
		"going back in a new session": func(r *rig, sent message.Message) { r.app.composer = composer.New(); r.app.composer.Restore(sent) },
		"going back where none is new": func(r *rig, sent message.Message) {
			r.app.composer = composer.New()
			r.app.composer.Restore(message.Message{Text: sent.Text})
		},
	} {
		r := newRig(t, 60, 24)
		r.typeText("look at ")
		r.send(tea.PasteMsg{Content: "this:\n" + paste})
		r.typeText("and mend it")
		r.press("enter")
		sent := r.sent[0]
		r.send(turnDoneMsg{})
		bring(r, sent)
		if got := r.app.composer.Value(); got != sent.Text {
			t.Errorf("%s: %d bytes came back, %d were sent", what, len(got), len(sent.Text))
		}
		if s := r.app.composer.Text; !strings.HasPrefix(s, "look at") || !strings.HasSuffix(s, "and mend it") || strings.Count(s, "\n") > 2 {
			t.Errorf("%s: the editor holds %q", what, s)
		}
	}
}

// Up takes the newest message that waits out of the queue, once; earlier ones follow,
// then the history.
func TestUpTakesAWaitingMessageBack(t *testing.T) {
	r := newRig(t, 80, 24)
	say := func(text, key string) { r.typeText(text); r.press(key) }
	say("started", "enter")
	say("steering", "enter")
	say("queued", "tab")
	r.has("next  steering", "after the turn  queued")
	r.press("up")
	if got := r.app.composer.Value(); got != "queued" {
		t.Errorf("the editor holds %q", got)
	}
	r.lacks("after the turn")
	r.typeText("!")
	r.press("tab")
	r.has("after the turn  queued!")
	r.press("up", "up")
	if got := r.app.composer.Value(); got != "steering\n\nqueued!" {
		t.Errorf("the editor holds %q", got)
	}
	r.lacks("next  steering")
	if _, ok := r.app.box.steered(); ok {
		t.Error("a message that was taken back is still delivered")
	}
	r.press("ctrl+c", "up", "up", "up", "up")
	if got := r.app.composer.Value(); got != "started" {
		t.Errorf("behind the cleared text the history has %q", got)
	}
}
