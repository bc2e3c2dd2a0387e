package tui

import (
	"reflect"
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	// framesPerSecond is how often the renderer looks for changes while something
	// happens: half of a frame is the mean delay of an echo. Without a change it
	// writes nothing.
	framesPerSecond = 120
	// lull is how long nothing must have happened for the renderer to rest, and
	// restEvery how often it looks while it rests: what a slow terminal had not yet
	// taken is then written all the same.
	lull      = 250 * time.Millisecond
	restEvery = time.Second
)

// pulse lets the renderer rest while nothing happens: 120 looks a second for
// changes that cannot be there cost about one percent of a processor.
//
// Bubble Tea (v2.0.10) has no way to say so. Its ticker is slowed down from
// outside, which leaves alone how and when it draws; where the field is no more,
// the renderer does not rest. This file goes once Bubble Tea rests by itself.
type pulse struct {
	// program is nil where there is no renderer.
	program *tea.Program
	ticker  *time.Ticker
	quick   bool
	until   time.Time // quick until then
}

// calmMsg asks whether it was calm for long enough.
type calmMsg struct{}

// stirred keeps the renderer quick for a while: something has happened.
func (m *app) stirred() tea.Cmd {
	p := &m.pulse
	if p.ticker == nil && p.program != nil {
		p.ticker = tickerOf(p.program)
	}
	if p.ticker == nil {
		return nil
	}
	p.until = m.now().Add(lull)
	if p.quick {
		return nil
	}
	p.quick = true
	p.ticker.Reset(time.Second / framesPerSecond)
	return m.calmAfter(lull)
}

func (m *app) calmAfter(d time.Duration) tea.Cmd {
	return m.after(d, func(time.Time) tea.Msg { return calmMsg{} })
}

// calm lets the renderer rest if nothing has happened for long enough.
func (m *app) calm() tea.Cmd {
	p := &m.pulse
	if rest := p.until.Sub(m.now()); rest > 0 {
		return m.calmAfter(rest)
	}
	p.quick = false
	p.ticker.Reset(restEvery)
	return nil
}

// tickerOf finds the ticker of a running program's renderer, or nil. It is called
// on the program's own goroutine, which alone sets the field.
func tickerOf(p *tea.Program) *time.Ticker {
	f := reflect.ValueOf(p).Elem().FieldByName("ticker")
	if !f.IsValid() || f.Type() != reflect.TypeFor[*time.Ticker]() {
		return nil
	}
	return (*time.Ticker)(f.UnsafePointer())
}
