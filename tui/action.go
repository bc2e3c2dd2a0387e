package tui

import tea "charm.land/bubbletea/v2"

// action is what a key does.
type action string

// The actions that several parts of the screen know.
const (
	actNone      action = ""
	actInterrupt action = "interrupt"
	actBack      action = "back"
	actSend      action = "send"
	actPageUp    action = "page up"
	actPageDown  action = "page down"
	actTop       action = "top"
	actEnd       action = "end"

	actNewline   action = "newline"
	actLeft      action = "left"
	actRight     action = "right"
	actUp        action = "up"
	actDown      action = "down"
	actWordLeft  action = "word left"
	actWordRight action = "word right"
	actHome      action = "line start"
	actLineEnd   action = "line end"
	actBackspace action = "backspace"
	actDelete    action = "delete"
	actCutWord   action = "cut word"
	actCutNext   action = "cut next word"
	actCutLeft   action = "cut to start"
	actCutRight  action = "cut to end"
	actUndo      action = "undo"
)

// typed is the text that a key enters; "" for a command.
func typed(k tea.Key) string {
	if k.Mod&(tea.ModCtrl|tea.ModAlt|tea.ModMeta|tea.ModSuper|tea.ModHyper) != 0 {
		return ""
	}
	return k.Text
}
