package tui

import (
	"reflect"
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	// framesPerSecond is how often the renderer checks for changes while something
	// happens: an echo is delayed by half a frame on average. Without a change it
	// writes nothing.
	framesPerSecond = 120
	// lull is how long nothing must have happened before the renderer rests.
	// restEvery is how often it checks while it rests, so that output is still written
	// to a terminal that was too slow to take it before.
	lull      = 250 * time.Millisecond
	restEvery = time.Second
)

// pulse lets the renderer rest while nothing happens: 120 useless checks a second
// cost about one percent of a processor.
//
// Bubble Tea (v2.0.10) has no setting for this. Its ticker is slowed down from
// outside, which does not change how it draws; if the field is missing, the renderer
// does not rest. Remove this file once Bubble Tea rests by itself.
type pulse struct {
	// program is nil where there is no renderer.
	program *tea.Program
	ticker  *time.Ticker
	quick   bool
	until   time.Time // quick until then
}

// calmMsg asks whether nothing has happened for long enough.
type calmMsg struct{}

// stirred keeps the renderer quick for a while after something has happened.
func (p *pulse) stirred(now time.Time, after timer) tea.Cmd {
	if p.ticker == nil && p.program != nil {
		p.ticker = tickerOf(p.program)
	}
	if p.ticker == nil {
		return nil
	}
	p.until = now.Add(lull)
	if p.quick {
		return nil
	}
	p.quick = true
	p.ticker.Reset(time.Second / framesPerSecond)
	return after(lull, itWasCalm)
}

func itWasCalm(time.Time) tea.Msg { return calmMsg{} }

// calm lets the renderer rest if nothing has happened for long enough.
func (p *pulse) calm(now time.Time, after timer) tea.Cmd {
	if rest := p.until.Sub(now); rest > 0 {
		return after(rest, itWasCalm)
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
