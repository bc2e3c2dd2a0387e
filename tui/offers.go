package tui

import (
	"context"

	"codeagent/tui/keys"
	"codeagent/tui/message"
	"codeagent/tui/trying"
)

// What the screen offers beside the conversation is handed in. Each of these
// interfaces is a group of commands; a nil one is not offered. Their methods are
// called off the screen's goroutine, one at a time for each group, with a context
// that ends with the screen. Their errors are shown unchanged.

// Writing is what belongs to the editor of the message; what is nil is not offered.
type Writing struct {
	// Keys is the table of keys; nil means the standard one.
	Keys *keys.Table
	// Vim edits messages with the keys of vi.
	Vim bool
	// Edit lets the person edit a text in another program, which has the terminal
	// meanwhile, and returns the new one.
	Edit    func(text string) (string, error)
	History History
	// Run runs a command in the sandbox, like a turn, and shows it to the model.
	Run func(ctx context.Context, command string) error
	// Drafts runs one on a draft; nil: not offered.
	Drafts trying.Drafts
	// Files lists the files of the workspace, the likeliest first; cut: there are more.
	Files func(ctx context.Context) (names []string, cut bool, err error)
}

// History are the messages that were sent from this folder, in earlier runs too.
type History interface {
	// Load returns them, the oldest first. It is called once.
	Load(ctx context.Context) ([]message.Message, error)
	// Add keeps one more.
	Add(ctx context.Context, said message.Message) error
}
