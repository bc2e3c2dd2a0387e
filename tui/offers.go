package tui

import (
	"context"
	"errors"
	"time"
)

// What the screen can do beside talking is handed in: each of these interfaces
// is a group of commands that is not offered where it is nil. Their methods are
// called outside of the screen's own goroutine, one at a time for each group,
// with a context that ends with the screen. Their errors are shown as they are.

// Message is what the person sends. In Text each image stands as its label,
// "[image 1: shot.png 1280×720]", in the order of Images.
type Message struct {
	Text   string
	Images []Image
}

// Image is a picture that goes with a message.
type Image struct {
	// Name is what it is called, its path perhaps; the screen shows the last part.
	Name          string
	Width, Height int
	// Type is "image/png" and the like, Data the file's bytes, Sum what they are
	// known by.
	Type, Sum string
	Data      []byte

	number int // set by the screen
}

// ErrNoImage: what lies at the path is no picture, or nothing lies there.
var ErrNoImage = errors.New("no image")

// Images loads pictures whose paths the person pastes or drags.
type Images interface {
	// Load reads the picture at an absolute path. The error wraps ErrNoImage, or
	// says why the picture cannot be sent: its size, a model that sees none.
	Load(ctx context.Context, path string) (Image, error)
}

// Clip is what a clipboard holds: a picture, else text.
type Clip struct {
	Image *Image
	Text  string
}

// Clipboard is the desktop's, of which a terminal pastes the text alone.
type Clipboard interface {
	// Read returns what it holds, of text and a picture the picture, and soon: the
	// message is not sent meanwhile. The error says in one line why there is
	// nothing to paste, and what else to do. It may be called while an earlier
	// one, whose context is done, still ends.
	Read(ctx context.Context) (Clip, error)
}

// Models are the models that can be asked. Use is called between turns only.
type Models interface {
	// List returns the known models, the likeliest first. With an error there may
	// be some, too: a provider did not answer.
	List(ctx context.Context) ([]Model, error)
	// Use asks the named model from now on and has that told by a
	// SessionStarted; with an error the one before stays.
	Use(ctx context.Context, name string) error
}

// Model is one that can be asked.
type Model struct {
	// Name is what --model takes.
	Name string
	// About tells of it in a few words: its provider, how much it takes.
	About string
	// Current: it is the one that is asked now.
	Current bool
}

// Sessions are the kept conversations.
type Sessions interface {
	// List returns those of this folder, or all, last used first.
	List(ctx context.Context, all bool) ([]SessionItem, error)
	Rename(ctx context.Context, id, title string) error
	Delete(ctx context.Context, id string) error
	// Open has the program go on with that session once the screen has ended. The
	// screen ends where there is no error: the folder is gone, another process
	// writes it.
	Open(ctx context.Context, id string) error
}

// SessionItem is one kept conversation.
type SessionItem struct {
	ID string
	// Name is its title, else the beginning of its first message.
	Name   string
	Folder string
	Used   time.Time
	// Size is what it takes on the disk, in bytes.
	Size int64
	// Current: it is the one on the screen.
	Current bool
}

// Undo takes back what the last turn changed that has not been taken back yet.
type Undo interface {
	// Preview says what Apply would do, and changes nothing.
	Preview(ctx context.Context) (UndoPreview, error)
	// Earlier is Preview for the turn before the one that was shown last, which
	// stays as it is and can be taken back later.
	Earlier(ctx context.Context) (UndoPreview, error)
	// Apply does what was shown last, and no more: what changed since is a conflict.
	// What was left alone or failed can be taken back later.
	Apply(ctx context.Context) (UndoReport, error)
}

// UndoPreview is what would be taken back. Without any file in any list there is
// no turn to take back.
type UndoPreview struct {
	// Message is the beginning of the message whose turn it is, At when it was sent.
	Message string
	At      time.Time
	// Files would get their old state.
	Files []UndoFile
	// Conflicts were changed by somebody else after the turn, and would stay as they are.
	Conflicts []UndoFile
	// NotKept were changed, and their old state is not known.
	NotKept []UndoFile
	// Closed are kept, and may not be written; Opens says what puts them back.
	Closed []UndoFile
	Opens  string
}

// UndoReport is what was taken back.
type UndoReport struct {
	Done, Conflicts, Failed []UndoFile
}

// UndoFile is one file or folder.
type UndoFile struct {
	Path string
	// Does is one verb for the person: "restore", "remove", "create", "mode"; Why
	// says in a few words what is in the way of a conflict or a failure.
	Does, Why string
}

// Background are the commands that run beside the conversation. Whenever their
// number changes a BackgroundChanged tells it.
type Background interface {
	// List returns those of the session, the newest first, ended ones too. It
	// only looks into memory.
	List() []BackgroundCommand
	// Output is the end of what a command printed, at most as many bytes.
	Output(id string, most int) ([]byte, error)
	// Kill ends a command with all its descendants, and returns when they are gone.
	Kill(ctx context.Context, id string) error
}

// BackgroundCommand is one command.
type BackgroundCommand struct {
	ID, Command string
	Started     time.Time
	// Running: it has not ended. Else End says how it did ("exit 1", "killed by
	// SIGTERM") and Ended when; News: no turn has told it yet.
	Running bool
	End     string
	Ended   time.Time
	News    bool
	// Last is the last line that it printed.
	Last string
}
