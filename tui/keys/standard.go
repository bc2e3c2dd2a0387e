package keys

// The scopes, in the words of /help.
const (
	everywhere  Scope = "Everywhere"
	inComposer  Scope = "Writing a message"
	inQuestion  Scope = "Answering a question"
	inNote      Scope = "Writing a note"
	inRule      Scope = "Saving a rule"
	inForm      Scope = "Answering a server"
	inOverlay   Scope = "Reading a panel"
	inSlashMenu Scope = "Choosing a command"
	inPicker    Scope = "Choosing from a list"
	inBlock     Scope = "With a chosen block"
	inReading   Scope = "Reading the transcript"
)

// short are the scopes in the names of the settings.
var short = map[Scope]string{
	inComposer: "message-", inQuestion: "question-", inNote: "note-", inRule: "rule-", inForm: "form-",
	inOverlay: "page-", inSlashMenu: "menu-", inPicker: "list-",
	inBlock: "block-", inReading: "transcript-",
}

// standard is the table of all keys, from which dispatch, hints, /help and docs/keys.md
// are made. Hints name the first key of an action.
func standard() []Binding {
	return []Binding{
		{everywhere, []string{"ctrl+c"}, Interrupt, "clear the text; without text interrupt the turn; twice within 2 s quit"},
		{everywhere, []string{"esc"}, Back, "close the panel, else return from the question to typing, else let the chosen block be, else interrupt the turn; with nothing to close, twice: edit an earlier message and send it again"},
		{everywhere, []string{"ctrl+y"}, "arm", "answer the question now; without one insert the text that was cut last"},
		{everywhere, []string{"ctrl+o"}, "toggle", "show all of the chosen block, else of the last output in view, or fold it, as a click on it does; with a question, show all of it"},
		{everywhere, []string{"ctrl+up"}, "block above", "choose the block above: a message, an answer, a call"},
		{everywhere, []string{"ctrl+down"}, "block below", "choose the block below"},
		{everywhere, []string{"ctrl+t"}, "transcript", "read the whole transcript, with all outputs open"},
		{everywhere, []string{"ctrl+f"}, "find", "find a text in the transcript"},
		{everywhere, []string{"shift+tab"}, "mode", "change the approval policy: to a stricter one at once, to a wider one after a question"},
		{everywhere, []string{"pgup"}, PageUp, "scroll up"},
		{everywhere, []string{"pgdown"}, PageDown, "scroll down"},
		{everywhere, []string{"shift+up", "ctrl+shift+up"}, "line up", "scroll one line up"},
		{everywhere, []string{"shift+down", "ctrl+shift+down"}, "line down", "scroll one line down"},
		{everywhere, []string{"ctrl+home"}, Top, "scroll to the beginning (Home too, while the message is empty)"},
		{everywhere, []string{"ctrl+end"}, End, "scroll to the end and follow it (End too, while the message is empty)"},
		{everywhere, []string{"ctrl+l"}, "redraw", "redraw the screen"},
		{everywhere, []string{"ctrl+z"}, "suspend", "suspend codeagent; fg brings it back"},

		{inComposer, []string{"enter"}, Send, "send the message; while the model works it is delivered after the current tool call"},
		{inComposer, []string{"tab"}, "queue", "while the model works: send the message after the turn"},
		{inComposer, []string{"shift+enter", "ctrl+j", "alt+enter"}, Newline, "start a new line"},
		{inComposer, []string{"up", "ctrl+p"}, Up, "one row up; in the first row edit a message that waits, else the earlier message"},
		{inComposer, []string{"down", "ctrl+n"}, Down, "one row down; in the last row the later message"},
		{inComposer, []string{"left", "ctrl+b"}, Left, "one character left"},
		{inComposer, []string{"right"}, Right, "one character right"},
		{inComposer, []string{"ctrl+left", "alt+left", "alt+b"}, WordLeft, "one word left"},
		{inComposer, []string{"ctrl+right", "alt+right", "alt+f"}, WordRight, "one word right"},
		{inComposer, []string{"home", "ctrl+a"}, LineStart, "to the start of the line"},
		{inComposer, []string{"end", "ctrl+e"}, LineEnd, "to the end of the line"},
		{inComposer, []string{"backspace", "ctrl+h", "shift+backspace"}, Backspace, "delete the character before the cursor"},
		{inComposer, []string{"delete"}, Delete, "delete the character under the cursor"},
		{inComposer, []string{"ctrl+d"}, "leave", "the same; without text quit, and while something runs only by a second press"},
		{inComposer, []string{"ctrl+w", "alt+backspace", "ctrl+backspace"}, CutWord, "delete the word before the cursor"},
		{inComposer, []string{"alt+d", "ctrl+delete"}, CutNext, "delete the word after the cursor"},
		{inComposer, []string{"ctrl+u"}, CutLeft, "delete to the start of the line"},
		{inComposer, []string{"ctrl+k"}, CutRight, "delete to the end of the line"},
		{inComposer, []string{"ctrl+_", "ctrl+-", "ctrl+shift+-"}, Undo, "undo the last change of the text"},
		{inComposer, []string{"alt+_", "alt+-", "alt+shift+-", "ctrl+shift+z"}, Redo, "redo what was undone"},
		{inComposer, []string{"alt+y"}, YankOlder, "insert the text that was cut last; again: what was cut before it"},
		{inComposer, []string{"ctrl+r"}, "earlier", "search the messages that were sent from this folder, in earlier sessions too"},
		{inComposer, []string{"ctrl+g"}, "editor", "edit the message in $VISUAL or $EDITOR"},
		{inComposer, []string{"ctrl+v"}, "clipboard", "paste the clipboard: an image, which a terminal does not paste, else its text"},

		{inQuestion, []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "n", "s", "c", "u"}, "option", "give the answer beside the key; a yes works only after everything it allows was visible; after a pause the answer waits a quarter of a second, and becomes text if more is typed"},
		{inQuestion, []string{"tab"}, "note", "add a note for the model to the answer"},

		{inNote, []string{"enter"}, Send, "send the answer, or save the note and go back to the options"},

		{inRule, []string{"enter"}, Send, "save the rule and answer yes; the text can be edited like a message"},
		{inRule, []string{"tab"}, "scope", "let it hold everywhere, or in this project"},
		{inRule, []string{"shift+tab"}, "expiry", "let it expire after a day, a week, a month, three months, or never"},
		{inRule, []string{"esc"}, Back, "go back to the question; nothing is saved"},

		{inForm, []string{"enter"}, Send, "to the next field; after the last one send the answers"},
		{inForm, []string{"up", "shift+tab"}, Up, "to the field or choice above"},
		{inForm, []string{"down", "tab"}, Down, "to the field or choice below; Space chooses"},

		{inSlashMenu, []string{"up", "ctrl+p"}, Up, "select the command above"},
		{inSlashMenu, []string{"down", "ctrl+n"}, Down, "select the command below"},
		{inSlashMenu, []string{"tab"}, "queue", "complete the command"},
		{inSlashMenu, []string{"enter"}, Send, "run the command"},

		{inPicker, []string{"enter"}, Send, "use the selected one; answer yes to a question"},
		{inPicker, []string{"up", "ctrl+p"}, Up, "select the one above"},
		{inPicker, []string{"down", "ctrl+n"}, Down, "select the one below"},
		{inPicker, []string{"home"}, Top, "select the first one"},
		{inPicker, []string{"end"}, End, "select the last one"},
		{inPicker, []string{"tab"}, "all", "sessions: this folder or all; permissions: what was asked"},
		{inPicker, []string{"ctrl+r"}, "rename", "sessions: rename the selected one; servers: restart it"},
		{inPicker, []string{"ctrl+x"}, "remove", "delete the selected session, end the command, revoke the permission"},

		{inBlock, []string{"enter", "space"}, "open", "show all of it, or fold it"},
		{inBlock, []string{"c"}, "copy", "copy it as it was written; other keys go on typing"},

		{inReading, []string{"ctrl+f", "/"}, "find", "find a text; Enter goes to it"},
		{inReading, []string{"n"}, "next", "to the next place with the text"},
		{inReading, []string{"shift+n"}, "previous", "to the place before"},
		{inReading, []string{"c"}, "copy", "copy the chosen block, or the one in which the text was found"},
		{inReading, []string{"ctrl+t"}, "close", "close it"},

		{inOverlay, []string{"q", "enter"}, "close", "close the panel; in a preview Enter does what the top line says"},
		{inOverlay, []string{"up", "k"}, "line up", "one line up"},
		{inOverlay, []string{"down", "j"}, "line down", "one line down"},
		{inOverlay, []string{"home", "g"}, Top, "to the beginning"},
		{inOverlay, []string{"end", "shift+g"}, End, "to the end"},
		{inOverlay, []string{"space"}, PageDown, "one page down"},
	}
}
