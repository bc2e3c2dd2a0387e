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
	"codeagent/model"
)

// Host opens and lists sessions.
type Host interface {
	// Open opens a session and joins it with face, to which it replays the conversation if
	// o.Replay. Nothing of two sessions is shared.
	Open(ctx context.Context, o Opening, face Face) (Session, error)
	// List returns the saved sessions of a folder, or of all with "", last used first, and what
	// to call it with for the next ones ("": there are no more).
	List(ctx context.Context, folder, cursor string) (list []Saved, next string, err error)
	// Delete removes a saved session.
	Delete(ctx context.Context, id string) error
}

// Opening says which session to open, and where.
type Opening struct {
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

// Saved is a session on disk.
type Saved struct {
	ID, Folder, Title, Updated string
}

// Face shows a session to the editor and asks its user.
type Face interface {
	Emit(event.Event)
	Ask(context.Context, approvals.Request) (approvals.Answer, error)
}

// Session is one open session. Its methods may be called while a turn runs.
type Session interface {
	ID() string
	// Turn sends a message and works until the turn ends. Updates come before it returns.
	Turn(ctx context.Context, in Message) (Stop, error)
	// Close ends everything that the session has started.
	Close()
}

// Message is what the user sends.
type Message struct {
	Text   string
	Images []model.Image
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
