package terminal

import (
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// enter is written when the terminal is taken: the modes that are always set. Terminals pass over what
// they do not know.
var enter = ansi.SetModeAltScreenSaveCursor + ansi.ResetModeTextCursorEnable + ansi.SetModeBracketedPaste +
	ansi.SetModifyOtherKeys2 + ansi.PushKittyKeyboard(ansi.KittyDisambiguateEscapeCodes)

// questions are asked once: an answer that arrives after the end is typed into the shell.
var questions = ansi.RequestKittyKeyboard + ansi.RequestBackgroundColor + ansi.RequestModeSynchronizedOutput + ansi.RequestModeUnicodeCore

// change returns what turns the modes of one view into those of another.
func change(from, to tea.View) string {
	var b strings.Builder
	if to.Cursor == nil && from.Cursor != nil {
		b.WriteString(ansi.ResetModeTextCursorEnable)
	}
	if to.ReportFocus != from.ReportFocus {
		b.WriteString(map[bool]string{true: ansi.SetModeFocusEvent, false: ansi.ResetModeFocusEvent}[to.ReportFocus])
	}
	if to.MouseMode != from.MouseMode {
		b.WriteString(mouse[from.MouseMode].off + mouse[to.MouseMode].on)
	}
	if to.WindowTitle != from.WindowTitle {
		// Terminals without a stack of titles pass over these, and a shell sets its title again.
		if from.WindowTitle == "" {
			b.WriteString(pushTitle)
		}
		b.WriteString(ansi.SetWindowTitle(strings.Map(printed, to.WindowTitle)))
		if to.WindowTitle == "" {
			b.WriteString(popTitle)
		}
	}
	if was, is := progress(from), progress(to); was != is {
		b.WriteString(is)
	}
	return b.String()
}

// Keep the title on the terminal's stack, and take it from there (xterm's window operations).
const (
	pushTitle = "\x1b[22;2t"
	popTitle  = "\x1b[23;2t"
)

// printed drops controls, which would end the title's sequence.
func printed(r rune) rune {
	if unicode.IsControl(r) {
		return -1
	}
	return r
}

// leave gives the terminal back as it was.
func leave(set tea.View) string {
	return change(set, tea.View{Cursor: set.Cursor}) + ansi.ResetModeUnicodeCore + ansi.ResetModifyOtherKeys + ansi.PopKittyKeyboard(1) +
		ansi.ResetModeBracketedPaste + ansi.ResetModeAltScreenSaveCursor + ansi.SetModeTextCursorEnable
}

var mouse = map[tea.MouseMode]struct{ on, off string }{
	tea.MouseModeCellMotion: {ansi.SetModeMouseButtonEvent + ansi.SetModeMouseExtSgr, ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseExtSgr},
	tea.MouseModeAllMotion:  {ansi.SetModeMouseAnyEvent + ansi.SetModeMouseExtSgr, ansi.ResetModeMouseAnyEvent + ansi.ResetModeMouseExtSgr},
}

func progress(v tea.View) string {
	bar := v.ProgressBar
	if bar == nil {
		return ansi.ResetProgressBar
	}
	switch bar.State {
	case tea.ProgressBarDefault:
		return ansi.SetProgressBar(bar.Value)
	case tea.ProgressBarError:
		return ansi.SetErrorProgressBar(bar.Value)
	case tea.ProgressBarIndeterminate:
		return ansi.SetIndeterminateProgressBar
	case tea.ProgressBarWarning:
		return ansi.SetWarningProgressBar(bar.Value)
	}
	return ansi.ResetProgressBar
}
