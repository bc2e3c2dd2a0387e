package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/terminal"
)

// drawn is the app on a terminal: what it draws is shown there.
type drawn struct {
	*app
	on *terminal.Terminal
}

// redrawMsg asks for the whole screen, which another program may have written to.
type redrawMsg struct{}

// continuedMsg follows a stop that left the terminal as it was (SIGSTOP): it is taken again whole.
type continuedMsg struct{}

// Update takes one message.
func (d drawn) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	defer d.giveBack()
	switch msg := msg.(type) {
	case tea.ModeReportMsg:
		d.on.Answered(msg)
		return d, nil
	case continuedMsg:
		return d, d.away(func() {})
	case redrawMsg:
		d.on.Redraw()
	}
	_, cmd := d.app.Update(msg)
	return d, cmd
}

// View shows the screen.
func (d drawn) View() tea.View {
	defer d.giveBack()
	v := d.app.View()
	if d.width > 0 && d.height > 0 {
		d.on.Show(terminal.Frame{View: v, Width: d.width, Height: d.height})
	}
	return v
}

// giveBack releases the terminal when the app panics, before Bubble Tea prints why.
func (d drawn) giveBack() {
	if said := recover(); said != nil {
		d.on.Release()
		panic(said)
	}
}

// written writes the sequences of tea.Raw to the terminal; Bubble Tea itself would write them a second
// later.
func written(on *terminal.Terminal) func(tea.Model, tea.Msg) tea.Msg {
	return func(_ tea.Model, msg tea.Msg) tea.Msg {
		if raw, ok := msg.(tea.RawMsg); ok {
			on.Write(fmt.Sprint(raw.Msg))
			return nil
		}
		return msg
	}
}
