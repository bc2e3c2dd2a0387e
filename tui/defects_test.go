package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/golden"
	"codeagent/model"
)

// situations are screens that were wrong once, each drawn at three sizes.
var situations = map[string]func(r *rig){
	"notice-in-answer": func(r *rig) {
		r.emit(session(), event.TurnStarted{Text: "explain it"}, event.TextDelta{Text: "The parser reads "})
		r.emit(event.Notice{Level: word.LevelWarning, Text: "the sandbox has less memory now"}, event.TextDelta{Text: "one line at a time."})
		r.emit(event.MessageFinished{Text: "The parser reads one line at a time."}, event.TurnFinished{Outcome: word.TurnDone})
	},
	"output-chosen": func(r *rig) {
		r.emit(session())
		r.emit(printed("one", 9)...)
		r.emit(printed("two", 9)...)
		r.press("ctrl+up", "ctrl+up", "ctrl+o")
	},
	"editing-earlier": func(r *rig) {
		r.app.offers.Rewind = &pastMessages{said: []string{"first question", "second question"}, first: 1}
		r.emit(session())
		for _, n := range []string{"first", "second"} {
			r.emit(event.TurnStarted{Text: n + " question"}, event.MessageFinished{Text: n + " answer"}, event.TurnFinished{Outcome: word.TurnDone})
		}
		r.escTwice()
		r.press("up")
	},
	"waiting-taken-back": func(r *rig) {
		r.emit(session())
		for _, key := range []string{"enter", "enter", "tab", "tab"} {
			r.typeText("message for " + key)
			r.press(key)
		}
		r.press("up")
	},
	"recalled-paste": func(r *rig) {
		r.emit(session())
		r.typeText("look at ")
		r.app.composer.Paste(strings.Repeat("pasted\n", 30))
		r.typeText("and mend it")
		r.press("enter")
		r.send(turnDoneMsg{})
		r.press("up")
	},
	"leaving-while-it-runs": func(r *rig) {
		r.emit(session(), event.BackgroundChanged{Running: 2})
		r.typeText("go on")
		r.press("enter", "ctrl+d")
	},
	"place": func(r *rig) {
		r.app.alone = func(*app) tea.Cmd { return nil }
		r.send(then(func(m *app) tea.Cmd {
			return showPlaces(m, "Where should codeagent work?", `the workspace "/home/ada" is your home folder: shell startup files and keys could be written. Work in a project's folder.`, "works there", []Place{
				{Name: "read-only", Text: "Here, read-only", About: "commands change nothing"},
				{Name: "/home/ada/src/app", About: "an earlier session"},
				{Name: "other", Text: "Another folder …", Write: true},
			}, func(string) {})
		}))
	},
	"footer": func(r *rig) {
		s := session()
		s.Price = event.Price{Input: 1, Output: 10}
		r.app.facts.place.branch = "main"
		r.emit(s, event.UsageUpdated{Context: 30_000, Limit: 128_000, Total: model.Usage{Input: 500_000, Output: 20_000}}, event.BackgroundChanged{Running: 1})
	},
	"footer-own": func(r *rig) {
		r.app.facts.place.line = "app on main, 3 changed, tests green since 12:04, and a long rest that does not fit"
		r.emit(session())
	},
}

func TestDefectScreens(t *testing.T) {
	for name, play := range situations {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 15}} {
			r := newRig(t, size[0], size[1])
			play(r)
			golden.Check(t, fmt.Sprintf("%s-%dx%d.txt", name, size[0], size[1]), r.screen())
		}
	}
}
