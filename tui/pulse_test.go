package tui

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
)

// clockFinder ends with its first message, once it has looked for the ticker.
type clockFinder struct {
	program *tea.Program
	found   bool
}

func (c *clockFinder) Init() tea.Cmd { return func() tea.Msg { return calmMsg{} } }
func (c *clockFinder) Update(tea.Msg) (tea.Model, tea.Cmd) {
	c.found = tickerOf(c.program) != nil
	return c, tea.Quit
}
func (c *clockFinder) View() tea.View { return tea.NewView("") }

func TestRendererHasATicker(t *testing.T) {
	c := &clockFinder{}
	var in, out bytes.Buffer
	c.program = tea.NewProgram(c, tea.WithInput(&in), tea.WithOutput(&out), tea.WithoutSignalHandler(), tea.WithEnvironment(nil))
	if tickerOf(c.program) != nil {
		t.Error("a program that does not run has a ticker")
	}
	if _, err := c.program.Run(); err != nil {
		t.Fatal(err)
	}
	if !c.found {
		t.Error("Bubble Tea keeps its ticker elsewhere now: an idle screen wakes up 120 times a second")
	}
}

// TestIdleScreenRests counts the looks of a renderer whose screen is left alone,
// and measures how soon one follows a key.
func TestIdleScreenRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newApp(newMailbox(), time.Now)
		looks := make(chan time.Time, 1<<12)
		msgs := make(chan tea.Msg, 16)
		m.after = func(d time.Duration, f func(time.Time) tea.Msg) tea.Cmd {
			time.AfterFunc(d, func() { msgs <- f(time.Time{}) })
			return nil
		}
		m.pulse.ticker = time.NewTicker(time.Second / framesPerSecond)
		over := make(chan struct{})
		go func() {
			for {
				select {
				case at := <-m.pulse.ticker.C:
					looks <- at
				case <-over:
					return
				}
			}
		}()
		run := func(d time.Duration) (n int) {
			for end := time.After(d); ; {
				select {
				case msg := <-msgs:
					m.Update(msg)
				case <-looks:
					n++
				case <-end:
					return n
				}
			}
		}
		key := tea.KeyPressMsg{Code: 'x', Text: "x"}
		m.Update(key)
		run(10 * lull)
		if n := run(time.Minute); n > 61 {
			t.Errorf("%d looks in an idle minute", n)
		}
		was := m.seq
		m.View()
		m.Update(calmMsg{})
		m.View()
		if m.seq > was+1 {
			t.Error("the rest draws the screen")
		}
		pressed := time.Now()
		m.Update(key)
		if at := <-looks; at.Sub(pressed) > 10*time.Millisecond {
			t.Errorf("a key is drawn after %v", at.Sub(pressed))
		}
		for range 50 { // typing keeps it awake
			if n := run(100 * time.Millisecond); n < 10 {
				t.Fatalf("%d looks in the tenth of a second after a key", n)
			}
			m.Update(key)
		}
		close(over)
		run(10 * lull)
	})
}
