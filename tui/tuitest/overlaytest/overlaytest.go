// Package overlaytest plays a person in front of an overlay: presses keys, writes, looks. Start with Person.Do.
package overlaytest

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/internal/golden"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

// Person does at once what an overlay wants done.
type Person struct {
	T testing.TB
	// At is the overlay in front; nil: none.
	At part.Overlay
	// Notes are the lines of the transcript, Err is that of the last turn.
	Notes string
	Err   error
	// Slow: what runs beside the screen does not come back by itself; it is kept in Later.
	Slow  bool
	Later []func() part.Intent
}

// Do does what an overlay wants done. Hints and the end of the screen are passed over.
func (p *Person) Do(intent part.Intent) {
	switch w := intent.(type) {
	case part.Show:
		if p.At = w.Overlay; w.Overlay != nil {
			p.Do(w.Overlay.Load())
		}
	case part.Beside:
		next := w(p.T.Context())
		if p.Slow {
			p.Later = append(p.Later, next)
			return
		}
		p.Do(next())
	case part.Turn:
		var then func() part.Intent
		if then, p.Err = w.Work(p.T.Context()); then != nil {
			p.Do(then())
		}
	case part.Note:
		p.Notes += string(w) + "\n"
	case part.All:
		for _, one := range w {
			p.Do(one)
		}
	}
}

var codes = map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "end": tea.KeyEnd, "backspace": tea.KeyBackspace}

// Press presses keys: "enter", "ctrl+x".
func (p *Person) Press(names ...string) {
	p.T.Helper()
	for _, name := range names {
		letter, ctrl := strings.CutPrefix(name, "ctrl+")
		k := tea.Key{Code: codes[name]}
		if ctrl {
			k = tea.Key{Code: rune(letter[0]), Mod: tea.ModCtrl}
		}
		if k.Code == 0 {
			p.T.Fatalf("no key %q", name)
		}
		intent, _ := p.At.Key(keys.Key(k))
		p.Do(intent)
	}
}

// Write types a text.
func (p *Person) Write(text string) {
	for _, r := range text {
		intent, _ := p.At.Key(keys.Key{Code: r, Text: string(r)})
		p.Do(intent)
	}
}

// Screen is what is drawn, without styles. It fails if that does not fit.
func (p *Person) Screen(w, h int) string {
	p.T.Helper()
	lines, x, y := p.At.View(paint.New(true), w, h)
	if len(lines) != h || x >= w || y >= h {
		p.T.Errorf("%d lines of %d, cursor at %d, %d", len(lines), h, x, y)
	}
	for i, l := range lines {
		if ansi.StringWidth(l) > w {
			p.T.Errorf("line %d is wider than %d: %q", i, w, l)
		}
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// Has fails if a text is not on the screen.
func (p *Person) Has(texts ...string) {
	p.T.Helper()
	for _, text := range texts {
		if s := p.Screen(100, 30); !strings.Contains(s, text) {
			p.T.Errorf("no %q in\n%s", text, s)
		}
	}
}

// Golden compares the screen with testdata/NAME-WxH.txt at three sizes.
func (p *Person) Golden(name string) {
	p.T.Helper()
	for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 15}} {
		golden.Check(p.T, fmt.Sprintf("%s-%dx%d.txt", name, size[0], size[1]), p.Screen(size[0], size[1]))
	}
}
