package composer

import (
	"strings"
	"testing"

	"codeagent/tui/keys"
)

// at makes an editor of a text in which | is the cursor.
func at(text string) *Composer {
	c := New()
	before, after, _ := strings.Cut(text, "|")
	c.Typed(before + after)
	c.move(len(before))
	return &c
}

func (c *Composer) shown() string { return c.Text[:c.Cursor] + "|" + c.Text[c.Cursor:] }

// TestVim: what commands make of a text. Typed while in insert mode, < is Esc.
func TestVim(t *testing.T) {
	for _, c := range []struct{ text, keys, want string }{
		{"one two| three", "", "one tw|o three"},
		{"|one two three", "w", "one |two three"},
		{"|one two three", "2w", "one two |three"},
		{"|one-two three", "w", "one|-two three"},
		{"|one two", "e", "on|e two"},
		{"on|e two", "e", "one tw|o"},
		{"one two thre|e", "b", "one two |three"},
		{"one two thre|e", "2b", "one |two three"},
		{"  one| two", "0", "|  one two"},
		{"  one tw|o", "^", "  |one two"},
		{"|one two", "$", "one tw|o"},
		{"|a\nb\nc", "G", "a\nb\n|c"},
		{"a\nb\nc|", "gg", "|a\nb\nc"},
		{"|one two three", "dw", "|two three"},
		{"|one two three", "d2w", "|three"},
		{"|one two three", "2dw", "|three"},
		{"one |two three", "de", "one | three"},
		{"one |two three", "d$", "one| "},
		{"one |two three", "D", "one| "},
		{"one |two three", "db", "|two three"},
		{"|one two", "cwsix<", "si|x two"},
		{"one |two", "Csix<", "one si|x"},
		{"one t|wo three", "diw", "one | three"},
		{"one t|wo three", "daw", "one |three"},
		{"one t|wo three", "ciwsix<", "one si|x three"},
		{"a\n|b\nc", "dd", "a\n|c"},
		{"a\nb\n|c", "dd", "a\n|b"},
		{"|a\nb\nc\nd", "2dd", "|c\nd"},
		{"|a\nb\nc\nd", "dj", "|c\nd"},
		{"a\nb\nc|", "dk", "|a"},
		{"a|", "dd", "|"},
		{"|a\nb", "ddp", "b\n|a"},
		{"|a\nb", "yyp", "a\n|a\nb"},
		{"|a\nb", "yyP", "|a\na\nb"},
		{"a\n|b", "ccx<", "a\n|x"},
		{"|one two", "yw$p", "one twoone| "},
		{"|abc", "x", "|bc"},
		{"|abc", "2x", "|c"},
		{"ab|c", "x", "a|b"},
		{"|abc", "xp", "b|ac"},
		{"|abc", "xu", "|abc"},
		{"|one two", "cwsix<u", "|one two"},
		{"one |two", "Csix<u", "one |two"},
		{"one |two", "ccsix<u", "one |two"},
		{"|one two", "dwisix<u", "|two"},
		{"|abc", "ix<", "|xabc"},
		{"|abc", "ax<", "a|xbc"},
		{"|abc", "Ax<", "abc|x"},
		{"  ab|c", "Ix<", "  |xabc"},
		{"|abc", "ox<", "abc\n|x"},
		{"|abc", "Ox<", "|x\nabc"},
		{"|abc", "dq", "|abc"},
		{"|abc", "3<x", "|bc"},
		{"|", "xpcw", "|"},
	} {
		e := at(c.text)
		e.UseVim()
		e.Escape()
		if c.text != "|" && strings.HasPrefix(c.text, "|") && e.Cursor != 0 {
			t.Fatalf("%q: Esc moved to %q", c.text, e.shown())
		}
		if i := strings.IndexByte(c.text, '|'); c.keys != "" && i < len(c.text)-1 {
			e.Cursor = i // Esc went back by one
		}
		for _, k := range c.keys {
			switch {
			case k == '<':
				e.Escape()
			case e.Normal():
				e.Command(string(k), 40)
			default:
				e.Typed(string(k))
			}
		}
		if got := e.shown(); got != c.want {
			t.Errorf("%q after %q is %q, want %q", c.text, c.keys, got, c.want)
		}
	}
}

// FuzzVim: no command leaves the cursor outside of the text or between parts of a character.
func FuzzVim(f *testing.F) {
	f.Add("one two\nthree", "dwjpP2ddu")
	f.Add("a\u0301\n👩‍👩‍👧 x", "x$b3fxdiwgg")
	f.Fuzz(func(t *testing.T, text, commands string) {
		if len(text) > 500 || len(commands) > 100 {
			t.Skip("more is slow and shows nothing")
		}
		c := at(strings.ReplaceAll(strings.ToValidUTF8(text, ""), "|", ""))
		c.UseVim()
		c.Escape()
		for _, k := range strings.ToValidUTF8(commands, "") {
			if k == '<' || len(c.Text) > 1<<16 {
				c.Escape()
				c.Set("x")
				continue
			}
			c.Command(string(k), 20)
			checkComposer(t, c, 20)
		}
	})
}

// TestCut: cuts in a row are one text.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		text string
		acts []keys.Action
		want string
	}{
		{"one two|", []keys.Action{keys.CutWord, keys.Yank, keys.Yank}, "one twotwo|"},
		{"one two|", []keys.Action{keys.CutWord, keys.CutWord, keys.Yank}, "one two|"},
		{"|one two", []keys.Action{keys.CutNext, keys.CutNext, keys.Yank}, "one two|"},
		{"one two|", []keys.Action{keys.CutWord, keys.Left, keys.CutWord, keys.LineEnd, keys.Yank}, " one|"},
		{"a|\nb", []keys.Action{keys.CutRight}, "a|b"},
		{"a|\nb", []keys.Action{keys.CutRight, keys.Yank}, "a\n|b"},
		{"a|", []keys.Action{keys.Yank}, "a|"},
		{"one two|", []keys.Action{keys.CutWord, keys.Undo, keys.Redo}, "one |"},
		{"one two|", []keys.Action{keys.CutWord, keys.Undo, keys.Undo, keys.Redo, keys.Redo, keys.Redo}, "one |"},
		{"one two|", []keys.Action{keys.CutWord, keys.Undo, keys.Backspace, keys.Redo}, "one tw|"},
	} {
		e := at(c.text)
		for _, do := range c.acts {
			if !e.Edit(do, 40) {
				t.Fatalf("%s is no edit", do)
			}
		}
		if got := e.shown(); got != c.want {
			t.Errorf("%q after %v is %q, want %q", c.text, c.acts, got, c.want)
		}
	}
	e := at("|")
	e.Paste(strings.Repeat("line\n", 30))
	e.Edit(keys.CutLeft, 40)
	e.Take()
	e.Edit(keys.Yank, 40)
	if got := e.Value(); got != strings.Repeat("line\n", 30) {
		t.Errorf("a paste that was cut comes back as %q", got)
	}
}
