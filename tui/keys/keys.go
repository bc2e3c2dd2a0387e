// Package keys is the table of keys: which key means which action, and the person's changes
// to it. It performs no IO; of Bubble Tea it knows only the type of a key press. Start with
// Table; standard.go is the table itself.
package keys

import tea "charm.land/bubbletea/v2"

// Key is a key press.
type Key = tea.Key

// Action is what a key does.
type Action string

// The actions. The texts are their names in the settings, behind that of the scope.
const (
	None      Action = ""
	Interrupt Action = "interrupt"
	Back      Action = "back"
	Send      Action = "send"
	PageUp    Action = "page up"
	PageDown  Action = "page down"
	Top       Action = "top"
	End       Action = "end"

	Newline   Action = "newline"
	Left      Action = "left"
	Right     Action = "right"
	Up        Action = "up"
	Down      Action = "down"
	WordLeft  Action = "word left"
	WordRight Action = "word right"
	LineStart Action = "line start"
	LineEnd   Action = "line end"
	Backspace Action = "backspace"
	Delete    Action = "delete"
	CutWord   Action = "cut word"
	CutNext   Action = "cut next word"
	CutLeft   Action = "cut to start"
	CutRight  Action = "cut to end"
	Undo      Action = "undo"
	Redo      Action = "redo"
	Yank      Action = "yank"
	Suspend   Action = "suspend"
	Leave     Action = "leave"
	Above     Action = "block above"
	Below     Action = "block below"
	Redraw    Action = "redraw"
	SendBack  Action = "background"
	Help      Action = "help"
	Toggle    Action = "toggle"
	Arm       Action = "arm"
	LineUp    Action = "line up"
	LineDown  Action = "line down"
	Queue     Action = "queue"
	Clipboard Action = "clipboard"
	Earlier   Action = "earlier"
	Editor    Action = "editor"
	Option    Action = "option"
	Note      Action = "note"
	Close     Action = "close"
	Rename    Action = "rename"
	Remove    Action = "remove"
	Keep      Action = "keep"
	All       Action = "all"
	Mode      Action = "mode"
	RuleScope Action = "scope"
	Read      Action = "transcript"
	Find      Action = "find"
	Next      Action = "next"
	Previous  Action = "previous"
	Other     Action = "other"
	Open      Action = "open"
	Copy      Action = "copy"
	Again     Action = "again"
)

// Typed is the text that a key enters; "" for a command.
func Typed(k tea.Key) string {
	if k.Mod&(tea.ModCtrl|tea.ModAlt|tea.ModMeta|tea.ModSuper|tea.ModHyper) != 0 {
		return ""
	}
	return k.Text
}
