package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/keys"
	"codeagent/tui/question"
)

// What only app and its panels do.
const (
	actSuspend   keys.Action = "suspend"
	actLeave     keys.Action = "leave"
	actAbove     keys.Action = "block above"
	actBelow     keys.Action = "block below"
	actRedraw    keys.Action = "redraw"
	actToggle    keys.Action = "toggle"
	actArm       keys.Action = "arm"
	actLineUp    keys.Action = "line up"
	actLineDown  keys.Action = "line down"
	actQueue     keys.Action = "queue"
	actClipboard keys.Action = "clipboard"
	actOption    keys.Action = "option"
	actNote      keys.Action = "note"
	actClose     keys.Action = "close"
	actRename    keys.Action = "rename"
	actRemove    keys.Action = "remove"
	actAll       keys.Action = "all"
	actMode      keys.Action = "mode"
	actScope     keys.Action = "scope"
	actExpiry    keys.Action = "expiry"
)

// scope says where a key holds, in the words of /help.
type scope string

// Where a key holds.
const (
	everywhere  scope = "Everywhere"
	inComposer  scope = "Writing a message"
	inQuestion  scope = "Answering a question"
	inNote      scope = "Writing a note"
	inRule      scope = "Saving a rule"
	inOverlay   scope = "Reading a panel"
	inSlashMenu scope = "Choosing a command"
	inPicker    scope = "Choosing from a list"
)

// binding is one line of the table of keys. Hints name the first of its keys.
type binding struct {
	where scope
	keys  []string
	do    keys.Action
	help  string
}

// bindings is the table of all keys, from which dispatch, hints, /help and
// docs/keys.md are made. In a scope the first binding of a key counts.
func bindings() []binding {
	return []binding{
		{everywhere, []string{"ctrl+c"}, keys.Interrupt, "clear the text; without text interrupt the turn; twice within 2 s quit"},
		{everywhere, []string{"esc"}, keys.Back, "close the panel, else return from the question to typing, else let the chosen output be, else interrupt the turn; with nothing to close, twice: edit an earlier message and send it again"},
		{everywhere, []string{"ctrl+y"}, actArm, "answer the question now"},
		{everywhere, []string{"ctrl+o"}, actToggle, "show all of the chosen output, else of the last one in view, or fold it, as a click on it does; with a question, show all of it"},
		{everywhere, []string{"ctrl+up"}, actAbove, "choose the output above"},
		{everywhere, []string{"ctrl+down"}, actBelow, "choose the output below"},
		{everywhere, []string{"shift+tab"}, actMode, "change the approval policy: to a stricter one at once, to a wider one after a question"},
		{everywhere, []string{"pgup"}, keys.PageUp, "scroll up"},
		{everywhere, []string{"pgdown"}, keys.PageDown, "scroll down"},
		{everywhere, []string{"shift+up", "ctrl+shift+up"}, actLineUp, "scroll one line up"},
		{everywhere, []string{"shift+down", "ctrl+shift+down"}, actLineDown, "scroll one line down"},
		{everywhere, []string{"ctrl+home"}, keys.Top, "scroll to the beginning (Home too, while the message is empty)"},
		{everywhere, []string{"ctrl+end"}, keys.End, "scroll to the end and follow it (End too, while the message is empty)"},
		{everywhere, []string{"ctrl+l"}, actRedraw, "redraw the screen"},
		{everywhere, []string{"ctrl+z"}, actSuspend, "suspend codeagent; fg brings it back"},

		{inComposer, []string{"enter"}, keys.Send, "send the message; while the model works it is delivered after the current tool call"},
		{inComposer, []string{"tab"}, actQueue, "while the model works: send the message after the turn"},
		{inComposer, []string{"shift+enter", "ctrl+j", "alt+enter"}, keys.Newline, "start a new line"},
		{inComposer, []string{"up", "ctrl+p"}, keys.Up, "one row up; in the first row edit a message that waits, else the earlier message"},
		{inComposer, []string{"down", "ctrl+n"}, keys.Down, "one row down; in the last row the later message"},
		{inComposer, []string{"left", "ctrl+b"}, keys.Left, "one character left"},
		{inComposer, []string{"right"}, keys.Right, "one character right"},
		{inComposer, []string{"ctrl+left", "alt+left", "alt+b"}, keys.WordLeft, "one word left"},
		{inComposer, []string{"ctrl+right", "alt+right", "alt+f"}, keys.WordRight, "one word right"},
		{inComposer, []string{"home", "ctrl+a"}, keys.LineStart, "to the start of the line"},
		{inComposer, []string{"end", "ctrl+e"}, keys.LineEnd, "to the end of the line"},
		{inComposer, []string{"backspace", "ctrl+h", "shift+backspace"}, keys.Backspace, "delete the character before the cursor"},
		{inComposer, []string{"delete"}, keys.Delete, "delete the character under the cursor"},
		{inComposer, []string{"ctrl+d"}, actLeave, "the same; without text quit, and while something runs only by a second press"},
		{inComposer, []string{"ctrl+w", "alt+backspace", "ctrl+backspace"}, keys.CutWord, "delete the word before the cursor"},
		{inComposer, []string{"alt+d", "ctrl+delete"}, keys.CutNext, "delete the word after the cursor"},
		{inComposer, []string{"ctrl+u"}, keys.CutLeft, "delete to the start of the line"},
		{inComposer, []string{"ctrl+k"}, keys.CutRight, "delete to the end of the line"},
		{inComposer, []string{"ctrl+_", "ctrl+-", "ctrl+shift+-"}, keys.Undo, "undo the last change of the text"},
		{inComposer, []string{"ctrl+v"}, actClipboard, "paste the clipboard: an image, which a terminal does not paste, else its text"},

		{inQuestion, []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "n", "s"}, actOption, "give the answer beside the key; a yes works only after everything it allows was visible"},
		{inQuestion, []string{"tab"}, actNote, "add a note for the model to the answer"},

		{inNote, []string{"enter"}, keys.Send, "send the answer, or save the note and go back to the options"},

		{inRule, []string{"enter"}, keys.Send, "save the rule and answer yes; the text can be edited like a message"},
		{inRule, []string{"tab"}, actScope, "let it hold everywhere, or in this project"},
		{inRule, []string{"shift+tab"}, actExpiry, "let it expire after a day, a week, a month, three months, or never"},
		{inRule, []string{"esc"}, keys.Back, "go back to the question; nothing is saved"},

		{inSlashMenu, []string{"up", "ctrl+p"}, keys.Up, "select the command above"},
		{inSlashMenu, []string{"down", "ctrl+n"}, keys.Down, "select the command below"},
		{inSlashMenu, []string{"tab"}, actQueue, "complete the command"},
		{inSlashMenu, []string{"enter"}, keys.Send, "run the command"},

		{inPicker, []string{"enter"}, keys.Send, "use the selected one; answer yes to a question"},
		{inPicker, []string{"up", "ctrl+p"}, keys.Up, "select the one above"},
		{inPicker, []string{"down", "ctrl+n"}, keys.Down, "select the one below"},
		{inPicker, []string{"home"}, keys.Top, "select the first one"},
		{inPicker, []string{"end"}, keys.End, "select the last one"},
		{inPicker, []string{"tab"}, actAll, "sessions: this folder or all; permissions: what was asked"},
		{inPicker, []string{"ctrl+r"}, actRename, "sessions: rename the selected one"},
		{inPicker, []string{"ctrl+x"}, actRemove, "delete the selected session, end the command, revoke the permission"},

		{inOverlay, []string{"q", "enter"}, actClose, "close the panel; in a preview Enter does what the top line says"},
		{inOverlay, []string{"up", "k"}, actLineUp, "one line up"},
		{inOverlay, []string{"down", "j"}, actLineDown, "one line down"},
		{inOverlay, []string{"home", "g"}, keys.Top, "to the beginning"},
		{inOverlay, []string{"end", "shift+g"}, keys.End, "to the end"},
		{inOverlay, []string{"space"}, keys.PageDown, "one page down"},
	}
}

// keymap finds a key's action by scope.
type keymap map[scope]map[string]keys.Action

func newKeymap(bindings []binding) keymap {
	m := keymap{}
	for _, b := range bindings {
		if m[b.where] == nil {
			m[b.where] = map[string]keys.Action{}
		}
		for _, k := range b.keys {
			if _, taken := m[b.where][k]; !taken {
				m[b.where][k] = b.do
			}
		}
	}
	return m
}

// find looks k up in the scopes; the first one that has it wins.
func (m keymap) find(k tea.Key, scopes ...scope) keys.Action {
	for _, s := range scopes {
		if do, ok := m[s][k.Keystroke()]; ok {
			return do
		}
	}
	return keys.None
}

// keyFor names the first key of an action, for hints.
func keyFor(where scope, do keys.Action) string {
	for _, b := range bindings() {
		if b.where == where && b.do == do {
			return keyName(b.keys[0])
		}
	}
	return ""
}

// keyName writes a key as people do: "Ctrl+Y".
func keyName(k string) string {
	parts := strings.Split(k, "+")
	names := map[string]string{"pgup": "PgUp", "pgdown": "PgDn", "esc": "Esc"}
	for i, p := range parts {
		if n, ok := names[p]; ok {
			parts[i] = n
		} else if len(p) > 1 || len(parts) > 1 {
			parts[i] = strings.ToUpper(p[:min(1, len(p))]) + p[min(1, len(p)):]
		}
	}
	return strings.Join(parts, "+")
}

func (b binding) keyNames() string {
	var out []string
	for _, k := range b.keys {
		out = append(out, keyName(k))
	}
	return strings.Join(out, ", ")
}

func questionKeys() question.Keys {
	return question.Keys{
		Arm: keyFor(everywhere, actArm), All: keyFor(everywhere, actToggle), Note: keyFor(inQuestion, actNote),
		Page: keyFor(everywhere, keys.PageUp) + "/" + keyFor(everywhere, keys.PageDown),
		Rule: question.RuleKeys{Save: keyFor(inRule, keys.Send), Scope: keyFor(inRule, actScope), Expiry: keyFor(inRule, actExpiry), Back: keyFor(inRule, keys.Back)},
	}
}
