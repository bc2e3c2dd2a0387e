package tui

import (
	"codeagent/tui/form"
	"codeagent/tui/keys"
	"codeagent/tui/question"
)

// What only app and its panels do. The table that says which key means it is in package
// keys.
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
	actEarlier   keys.Action = "earlier"
	actEditor    keys.Action = "editor"
	actOption    keys.Action = "option"
	actNote      keys.Action = "note"
	actClose     keys.Action = "close"
	actRename    keys.Action = "rename"
	actRemove    keys.Action = "remove"
	actAll       keys.Action = "all"
	actMode      keys.Action = "mode"
	actScope     keys.Action = "scope"
	actExpiry    keys.Action = "expiry"
	actRead      keys.Action = "transcript"
	actFind      keys.Action = "find"
	actNext      keys.Action = "next"
	actPrevious  keys.Action = "previous"
	actOpen      keys.Action = "open"
	actCopy      keys.Action = "copy"
)

// scope says where a key holds, in the words of /help.
type scope = keys.Scope

// Where a key holds.
const (
	everywhere  scope = "Everywhere"
	inComposer  scope = "Writing a message"
	inQuestion  scope = "Answering a question"
	inNote      scope = "Writing a note"
	inRule      scope = "Saving a rule"
	inForm      scope = "Answering a server"
	inOverlay   scope = "Reading a panel"
	inSlashMenu scope = "Choosing a command"
	inPicker    scope = "Choosing from a list"
	inBlock     scope = "With a chosen block"
	inReading   scope = "Reading the transcript"
)

func formKeys(t *keys.Table) form.Keys {
	return form.Keys{
		Arm: t.Name(everywhere, actArm), Next: t.Name(inForm, keys.Send), Back: t.Name(everywhere, keys.Back),
		Page: t.Name(everywhere, keys.PageDown),
	}
}

func questionKeys(t *keys.Table) question.Keys {
	return question.Keys{
		Arm: t.Name(everywhere, actArm), All: t.Name(everywhere, actToggle), Note: t.Name(inQuestion, actNote),
		Next: t.Name(everywhere, keys.PageDown),
		Rule: question.RuleKeys{Save: t.Name(inRule, keys.Send), Scope: t.Name(inRule, actScope), Expiry: t.Name(inRule, actExpiry), Back: t.Name(inRule, keys.Back)},
	}
}
