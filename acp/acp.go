// Package acp speaks the Agent Client Protocol with an editor over two streams: one JSON-RPC
// message a line. It knows events and questions, and reaches sessions only through Host, which
// the wiring implements. It performs no IO but on the two streams. Everything that the editor
// sends is bounded and checked; an answer that is not one of the offered ones is a no. Read
// Serve first, then server.go for the requests and updates.go for what the editor is shown.
package acp

import (
	"context"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/mcp/inquiry"
	"codeagent/model"
)

// Host opens and lists sessions.
type Host interface {
	// Open opens a session and joins it with face, to which it replays the conversation if
	// o.Replay. Nothing of two sessions is shared.
	Open(ctx context.Context, o OpenRequest, face Face) (Session, error)
	// List returns the saved sessions of a folder, or of all with "", last used first.
	List(ctx context.Context, folder string) ([]SavedSession, error)
	// Delete removes a saved session.
	Delete(ctx context.Context, id string) error
}

// OpenRequest says which session to open, and where.
type OpenRequest struct {
	// Folder is the absolute working folder, More are further folders that commands may write.
	Folder string
	More   []string
	// Servers are the MCP servers that the editor hands in.
	Servers []ToolServer
	// Session is the session to continue; empty: a new one.
	Session string
	// Replay: the face is shown the conversation so far.
	Replay bool
}

// ToolServer is an MCP server that the editor hands in: a program, or a URL.
type ToolServer struct {
	Name    string
	Command string
	Args    []string
	// Values are the environment of a program, or the headers for a URL.
	Values map[string]string
	URL    string
}

// SavedSession is a session on disk.
type SavedSession struct {
	ID, Folder, Title, Updated string
}

// Face shows a session to the editor and asks its user. Its methods may be called from any
// goroutine.
type Face interface {
	Emit(event.Event)
	// Ask asks the user.
	Ask(ctx context.Context, r approvals.Request) (approvals.Answer, error)
	// Inquire puts a question of an MCP server to the editor's user. It declines where the editor
	// does not offer that.
	Inquire(context.Context, inquiry.Question) (inquiry.Reply, error)
	// Refresh sends the settings and commands of the session again if they have changed.
	Refresh()
	// Buffer returns the text of a file as the editor has it, with changes that are not saved. ok
	// is false if the editor offers no such thing, does not answer in time or answers something else.
	Buffer(ctx context.Context, path string) (text string, ok bool)
}

// Session is one open session. Its methods may be called while a turn runs.
type Session interface {
	ID() string
	// Turn sends a message and works until the turn ends, or runs the command that the message
	// names. Updates come before it returns.
	Turn(ctx context.Context, in Message) (Stop, error)
	// Settings returns what the editor's user can choose, Commands what a message can name, Title
	// what the session is called ("": nothing yet).
	Settings() Settings
	Commands() []Command
	Title() string
	// Set changes a choice to one of its values.
	Set(ctx context.Context, choice, value string) error
	// Close ends everything that the session has started.
	Close()
}

// Settings are the choices of a session. Mode is the one for editors that know one choice only;
// it is not one of Choices, and a change of either shows in the other.
type Settings struct {
	Mode    Choice
	Choices []Choice
}

// Choice is a setting with a list of values. Category is a word of the protocol, or "".
type Choice struct {
	ID, Name, About, Category string
	Value                     string
	Values                    []Value
	// Between: it can be changed only while no turn runs.
	Between bool
}

// Value is one value of a choice.
type Value struct{ ID, Name, About string }

// Command is a message that codeagent itself carries out: a slash, its name, and an argument if
// Hint is not empty.
type Command struct{ Name, About, Hint string }

// Message is what the user sends. Text is all of it; Typed is what the user wrote, and Attached the
// links and files in it, which some editors add by themselves.
type Message struct {
	Text, Typed, Attached string
	Images                []model.Image
}

// Stop says why a turn ended.
type Stop string

// Reasons to stop. A turn that fails for another reason has an error.
const (
	StopDone      Stop = "end_turn"
	StopTokens    Stop = "max_tokens"
	StopRequests  Stop = "max_turn_requests"
	StopRefusal   Stop = "refusal"
	StopCancelled Stop = "cancelled"
)
