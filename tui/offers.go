package tui

import (
	"context"
	"errors"

	"codeagent/mcp/inquiry"
	"codeagent/tui/keys"
	"codeagent/tui/message"
)

// What the screen offers beside the conversation is handed in. Each of these
// interfaces is a group of commands; a nil one is not offered. Their methods are
// called off the screen's goroutine, one at a time for each group, with a context
// that ends with the screen. Their errors are shown unchanged.

// ErrNoImage: the file is not a picture, or does not exist.
var ErrNoImage = errors.New("no image")

// Images loads pictures whose paths the person pastes or drags.
type Images interface {
	// Load reads the picture at an absolute path. The error wraps ErrNoImage, or
	// says why the picture cannot be sent: it is too large, or the model takes no
	// images.
	Load(ctx context.Context, path string) (message.Image, error)
}

// Clip is what a clipboard holds: a picture, else text.
type Clip struct {
	Image *message.Image
	Text  string
}

// Clipboard is the desktop's. A terminal pastes only its text.
type Clipboard interface {
	// Read returns the content; a picture is preferred to text. It must be quick:
	// no message is sent meanwhile. The error says in one line why there is nothing
	// to paste and what to do instead. Read may be called while an earlier call,
	// whose context is done, has not returned yet.
	Read(ctx context.Context) (Clip, error)
	// Write replaces the content by a text. Nil also where this desktop has no program
	// for it: the terminal itself was asked. The error says in a few words what failed.
	Write(ctx context.Context, text string) error
}

// Rewind goes back to an earlier message of the person's.
type Rewind interface {
	// Messages returns the last messages, oldest first, and the number of the first one,
	// counted from 1. It changes nothing.
	Messages(ctx context.Context) (said []message.Message, first int, err error)
	// Back removes message n and all that followed. It is called while no turn runs.
	Back(ctx context.Context, n int) error
}

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

// ServerOffers are what the servers offer to the person. Its methods ask the servers.
type ServerOffers interface {
	// Resources are what a message can name behind an @: "NAME:uri".
	Resources(ctx context.Context) ([]string, error)
	Prompts(ctx context.Context) ([]ServerPrompt, error)
	// PromptsOf are those of one server; it asks no other.
	PromptsOf(ctx context.Context, server string) ([]ServerPrompt, error)
	// Prompt is the message that a server's prompt makes.
	Prompt(ctx context.Context, server, name string, arguments map[string]string) (message.Message, error)
}

// ServerPrompt is a message that a server writes. Fields are its arguments.
type ServerPrompt struct {
	Server, Name, About string
	Fields              []inquiry.Field
}
