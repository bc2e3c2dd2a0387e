package keys

// The scopes, in the words of /help.
const (
	Everywhere  Scope = "Everywhere"
	InComposer  Scope = "Writing a message"
	InQuestion  Scope = "Answering a question"
	InNote      Scope = "Writing a note"
	InRule      Scope = "Saving a rule"
	InForm      Scope = "Answering a server"
	InOverlay   Scope = "Reading a panel"
	InSlashMenu Scope = "Choosing a command"
	InPicker    Scope = "Choosing from a list"
	InBlock     Scope = "With a chosen block"
	InReading   Scope = "Reading the transcript"
)

// short are the scopes in the names of the settings.
var short = map[Scope]string{
	InComposer: "message-", InQuestion: "question-", InNote: "note-", InRule: "rule-", InForm: "form-",
	InOverlay: "page-", InSlashMenu: "menu-", InPicker: "list-",
	InBlock: "block-", InReading: "transcript-",
}

// standard is the table of all keys, from which dispatch, hints, /help and docs/keys.md
// are made. Hints name the first key of an action.
func standard() []Binding {
	return []Binding{
		{Everywhere, []string{"ctrl+c"}, Interrupt, "clear the text; without text interrupt the turn; twice within 2 s quit"},
		{Everywhere, []string{"esc"}, Back, "close the panel, else return from the question to typing, else let the chosen block be, else interrupt the turn; with nothing to close, twice: go back to before one of your messages"},
		{Everywhere, []string{"ctrl+y"}, Arm, "answer the question now; without one insert the text that was cut last"},
		{Everywhere, []string{"ctrl+o"}, Toggle, "show all of the chosen block, else of the last output in view, or fold it, as a click on it does; with a question, show all of it"},
		{Everywhere, []string{"ctrl+up"}, Above, "choose the block above: a message, an answer, a call"},
		{Everywhere, []string{"ctrl+down"}, Below, "choose the block below"},
		{Everywhere, []string{"ctrl+t"}, Read, "read the whole transcript, with all outputs open"},
		{Everywhere, []string{"ctrl+f"}, Find, "find a text in the transcript"},
		{Everywhere, []string{"shift+tab"}, Mode, "step through the modes: ask, accept edits, plan; a mode wider than your settings is asked about first"},
		{Everywhere, []string{"pgup"}, PageUp, "scroll up"},
		{Everywhere, []string{"pgdown"}, PageDown, "scroll down"},
		{Everywhere, []string{"shift+up", "ctrl+shift+up"}, LineUp, "scroll one line up"},
		{Everywhere, []string{"shift+down", "ctrl+shift+down"}, LineDown, "scroll one line down"},
		{Everywhere, []string{"ctrl+home"}, Top, "scroll to the beginning (Home too, while the message is empty)"},
		{Everywhere, []string{"ctrl+end"}, End, "scroll to the end and follow it (End too, while the message is empty)"},
		{Everywhere, []string{"ctrl+b"}, SendBack, "send the command that runs to the background: it becomes a job, and the model goes on"},
		{Everywhere, []string{"ctrl+l"}, Redraw, "redraw the screen"},
		{Everywhere, []string{"ctrl+z"}, Suspend, "suspend codeagent; fg brings it back"},

		{InComposer, []string{"enter"}, Send, "send the message; while the model works it is delivered after the current tool call"},
		{InComposer, []string{"tab"}, Queue, "while the model works: send the message after the turn"},
		{InComposer, []string{"shift+enter", "ctrl+j", "alt+enter"}, Newline, "start a new line"},
		{InComposer, []string{"up", "ctrl+p"}, Up, "one row up; in the first row edit a message that waits, else the earlier message"},
		{InComposer, []string{"down", "ctrl+n"}, Down, "one row down; in the last row the later message"},
		{InComposer, []string{"?"}, Help, "in an empty message: show this help"},
		{InComposer, []string{"r"}, Again, "in an empty message, after the answer of an earlier session: ask the model; it waits a quarter of a second, and becomes text if more is typed"},
		{InComposer, []string{"left"}, Left, "one character left"},
		{InComposer, []string{"right"}, Right, "one character right"},
		{InComposer, []string{"ctrl+left", "alt+left", "alt+b"}, WordLeft, "one word left"},
		{InComposer, []string{"ctrl+right", "alt+right", "alt+f"}, WordRight, "one word right"},
		{InComposer, []string{"home", "ctrl+a"}, LineStart, "to the start of the line"},
		{InComposer, []string{"end", "ctrl+e"}, LineEnd, "to the end of the line"},
		{InComposer, []string{"backspace", "ctrl+h", "shift+backspace"}, Backspace, "delete the character before the cursor"},
		{InComposer, []string{"delete"}, Delete, "delete the character under the cursor"},
		{InComposer, []string{"ctrl+d"}, Leave, "the same; without text quit, and while something runs only by a second press"},
		{InComposer, []string{"ctrl+w", "alt+backspace", "ctrl+backspace"}, CutWord, "delete the word before the cursor"},
		{InComposer, []string{"alt+d", "ctrl+delete"}, CutNext, "delete the word after the cursor"},
		{InComposer, []string{"ctrl+u"}, CutLeft, "delete to the start of the line"},
		{InComposer, []string{"ctrl+k"}, CutRight, "delete to the end of the line"},
		{InComposer, []string{"ctrl+_", "ctrl+-", "ctrl+shift+-"}, Undo, "undo the last change of the text"},
		{InComposer, []string{"alt+_", "alt+-", "alt+shift+-", "ctrl+shift+z"}, Redo, "redo what was undone"},
		{InComposer, []string{"ctrl+r"}, Earlier, "search the messages that were sent from this folder, in earlier sessions too"},
		{InComposer, []string{"ctrl+g"}, Editor, "edit the message in $VISUAL or $EDITOR"},
		{InComposer, []string{"ctrl+v"}, Clipboard, "paste the clipboard: an image, which a terminal does not paste, else its text"},

		{InQuestion, []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "n", "s", "c", "u", "t"}, Option, "give the answer beside the key, or try it first; a yes works only after everything it allows was visible; after a pause the answer waits a quarter of a second, and becomes text if more is typed"},
		{InQuestion, []string{"tab"}, Note, "add a note for the model to the answer"},

		{InNote, []string{"enter"}, Send, "send the answer, or save the note and go back to the options"},

		{InRule, []string{"enter"}, Send, "save the rule and answer yes; the text can be edited like a message"},
		{InRule, []string{"ctrl+o"}, Toggle, "show the TOML that is saved, to edit it, or the sentence alone"},
		{InRule, []string{"tab"}, RuleScope, "let it hold everywhere, or in this project"},
		{InRule, []string{"esc"}, Back, "go back to the question; nothing is saved"},

		{InForm, []string{"enter"}, Send, "to the next field; after the last one send the answers"},
		{InForm, []string{"up", "shift+tab"}, Up, "to the field or choice above"},
		{InForm, []string{"down", "tab"}, Down, "to the field or choice below; Space chooses"},

		{InSlashMenu, []string{"up", "ctrl+p"}, Up, "select the command above"},
		{InSlashMenu, []string{"down", "ctrl+n"}, Down, "select the command below"},
		{InSlashMenu, []string{"tab"}, Queue, "complete the command"},
		{InSlashMenu, []string{"enter"}, Send, "run the command"},

		{InPicker, []string{"enter"}, Send, "use the selected one; answer yes to a question"},
		{InPicker, []string{"up", "ctrl+p"}, Up, "select the one above"},
		{InPicker, []string{"down", "ctrl+n"}, Down, "select the one below"},
		{InPicker, []string{"home"}, Top, "select the first one"},
		{InPicker, []string{"end"}, End, "select the last one"},
		{InPicker, []string{"tab"}, All, "sessions: this folder or all; permissions: what was asked; models: another provider"},
		{InPicker, []string{"ctrl+r"}, Rename, "sessions: rename the selected one; servers: restart it; providers: enter another key"},
		{InPicker, []string{"ctrl+s"}, Keep, "themes, models, efforts, settings: use the selected one, and keep it in the settings"},
		{InPicker, []string{"ctrl+x"}, Remove, "delete the selected session, end the command, revoke the permission, forget the kept key"},

		{InBlock, []string{"enter", "space"}, Open, "show all of it, or fold it; of a call of helpers, read what they do"},
		{InBlock, []string{"c"}, Copy, "copy it as it was written; other keys go on typing"},

		{InReading, []string{"ctrl+f", "/"}, Find, "find a text; Enter goes to it"},
		{InReading, []string{"n"}, Next, "to the next place with the text"},
		{InReading, []string{"shift+n"}, Previous, "to the place before"},
		{InReading, []string{"c"}, Copy, "copy the chosen block, or the one in which the text was found"},
		{InReading, []string{"tab"}, Other, "with helpers: the next one"},
		{InReading, []string{"ctrl+t"}, Close, "close it"},

		{InOverlay, []string{"q", "enter"}, Close, "close the panel; in a preview Enter does what the top line says"},
		{InOverlay, []string{"up", "k"}, LineUp, "one line up"},
		{InOverlay, []string{"down", "j"}, LineDown, "one line down"},
		{InOverlay, []string{"home", "g"}, Top, "to the beginning"},
		{InOverlay, []string{"end", "shift+g"}, End, "to the end"},
		{InOverlay, []string{"space"}, PageDown, "one page down"},
	}
}
