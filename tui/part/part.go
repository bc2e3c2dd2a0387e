// Package part is what the docks and overlays of the screen have in common, and what they want of
// it. A part draws itself and takes keys. It cannot reach the screen: what it wants done it returns
// as an intent. Start with Dock and Overlay.
package part

import (
	"context"
	"strings"
	"time"

	"codeagent/event/word"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
)

// Dock is what waits below the transcript for the person. All docks follow the same rules about
// typing: one opens unarmed, and takes keys only when it is armed.
type Dock interface {
	// Key takes a key while the dock is armed; false: it has no use for it.
	Key(k keys.Key) (Intent, bool)
	// Paste takes a text while the dock writes.
	Paste(text string) Intent
	// View draws the dock in at most h rows.
	View(c Canvas, h int) Drawn
	// Writes reports whether a text is written in it, which takes all keys.
	Writes() bool
	// Rank says which of several docks is shown.
	Rank() Rank
	// Has reports whether key is one of its answers.
	Has(key string) bool
	// Join reports whether the dock's answer is for a too: it asks the same.
	Join(a Ask) bool
	// Withdraw takes an ask away that nobody waits for any more, and reports whether none is left.
	Withdraw(a Ask) bool

	Armed() bool
	// Waits reports whether a pause in typing arms it.
	Waits() bool
	// Arm makes it take keys; wanted: the person pressed the key for that.
	Arm(wanted bool)
	// Disarm takes the keys from it: the person types elsewhere. Bar does until the person arms it.
	Disarm()
	Bar()
	// Hold says that key came too early to answer it; "": none did.
	Hold(key string)
}

// Rank is the order in which docks are shown: a permission is asked about first, but for what is
// being written, which must not get elsewhere.
type Rank int

// The ranks.
const (
	Later Rank = iota
	First
	Writing
)

// Ask is what somebody waits for. It makes the dock in which the person is asked.
type Ask interface{ Dock(s Setting) Dock }

// Setting is what a dock gets of the screen, once.
type Setting struct {
	Keys *keys.Table
	Now  func() time.Time
	Home string // shown as ~
	// Folder is the session's.
	Folder string
	// Call is the title of a tool call, as codeagent shows it; "": it is not known.
	Call func(id string) string
	// Free: the person is not being asked anything of rank Later.
	Free bool
}

// Named shortens a path: relative to the session's folder where it lies in it.
func (s Setting) Named(path string) string {
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(s.Folder, "/")+"/"); ok && s.Folder != "" {
		return rest
	}
	return paint.Tilde(path, s.Home)
}

// Canvas is where and when a dock is drawn.
type Canvas struct {
	Theme *paint.Theme
	Width int
	Home  string
	Now   time.Time
	// More is how many other docks wait, Urgent that one of rank First does.
	More   int
	Urgent bool
	// Typed: the message has text, so what is typed goes there until the person arms a dock.
	Typed bool
}

// Drawn is a drawing of a dock: its rows, the place of the cursor (Y -1: none), and what records
// that the person sees it.
type Drawn struct {
	Lines []string
	X, Y  int
	Seen  func()
}

// Arming is who gets the keys. A barred dock is armed by the person's key only.
type Arming struct{ armed, barred bool }

func (a *Arming) Armed() bool { return a.armed }
func (a *Arming) Waits() bool { return !a.armed && !a.barred }
func (a *Arming) Arm(bool)    { *a = Arming{armed: true} }
func (a *Arming) Disarm()     { a.armed = false }
func (a *Arming) Bar()        { *a = Arming{barred: true} }

// KeyStyle is the style of a key that answers. It looks ready only when the dock is armed.
func (a *Arming) KeyStyle() paint.Style {
	if a.armed {
		return paint.Warn.With(paint.Bold)
	}
	return paint.Dim
}

// Head is the line above a dock: a mark, a title, and what stands beside it; whole: the title is complete.
func (a *Arming) Head(t *paint.Theme, w int, mark, title, beside string) (line string, whole bool) {
	s := paint.Warn
	if a.armed {
		s = s.With(paint.Bold)
	}
	beside = paint.Cut(beside, max(w-16, 0))
	room := max(w-6-paint.Width(beside), 1)
	shown := paint.Cut(title, room)
	rest := max(w-4-paint.Width(shown)-paint.Width(beside), 0)
	return t.Paint(s, "─"+mark+" "+shown) + t.Paint(paint.Dim, paint.Show(beside)) + " " + t.Paint(paint.Warn, strings.Repeat("─", rest)), paint.Width(title) <= room
}

// Answer is a key that answers, and what it says. Shut: it is not accepted yet.
type Answer struct {
	Key, Label string
	Shut       bool
}

// Foot draws answers in rows.
func (a *Arming) Foot(t *paint.Theme, w int, all []Answer) []string {
	edge, label := "   ", paint.Dim
	if w < 30 {
		edge = " "
	}
	if a.armed {
		label = paint.Text
	}
	var items [][]paint.Span
	for _, o := range all {
		k, l := a.KeyStyle(), label
		if o.Shut {
			k, l = paint.Dim.With(paint.Struck), paint.Dim.With(paint.Struck)
		}
		items = append(items, []paint.Span{paint.Text.Span(edge), k.Span(o.Key), paint.Text.Span(" "), l.Span(o.Label)})
	}
	return t.Packed(w-1, items...)
}

// Overlay covers the transcript and takes the keys.
type Overlay interface {
	// Key takes a key; false: it has no use for it.
	Key(k keys.Key) (Intent, bool)
	// View draws exactly h lines. The cursor is in line y of them; -1: no cursor.
	View(t *paint.Theme, w, h int) (lines []string, x, y int)
	Scroll(by int)
	// Paste takes a text where one is written.
	Paste(text string)
	// Load asks for its content, which Live content needs again and again; nil: it has it.
	Load() Intent
	Live() bool
}

// Leaves says what Esc does in an overlay above another one, or above none.
func Leaves(under Overlay) string {
	if under != nil {
		return " goes back "
	}
	return " closes "
}

// Still is an overlay that has its content, and no text to write.
type Still struct{}

func (Still) Paste(string) {}
func (Still) Load() Intent { return nil }
func (Still) Live() bool   { return false }

// Intent is what a part wants done, one of the types below or of the part's own; nil: nothing.
type Intent any

type (
	// Act is what a key does that holds everywhere.
	Act keys.Action
	// Copy is a text for the clipboard.
	Copy string
	// Insert takes the text of the clipboard, once it was read; false: the field was closed.
	Insert func(text string) bool
	// Done ends a dock whose answer was given. Said is a line for the transcript, "" for none.
	Done struct {
		Dock Dock
		Said string
	}
	// Say is a hint to the person, Note a line of the transcript.
	Say  string
	Note string
	// Fail is an error, in the transcript.
	Fail string
	// Line is a line of the transcript that stays where it is; End shows the transcript's end.
	Line struct {
		Level word.Level
		Text  string
	}
	End struct{}
	// Disarm takes the keys from all docks: the person types elsewhere.
	Disarm struct{}
	// Withdrawn takes an ask away: nobody waits for its answer any more.
	Withdrawn struct{ Ask Ask }
	// Show opens an overlay instead of the one that is open; none closes that.
	Show struct{ Overlay }
	// Quit ends the screen.
	Quit struct{}
	// Idle is done unless a turn runs. Name is what needs that: a command.
	Idle struct {
		Name string
		Then Intent
	}
	// Turn closes the overlay and runs like a turn, unless one runs. Doing says what it does. What
	// Work returns is called on the screen afterwards, also with an error; nil: nothing.
	Turn struct {
		Name, Doing string
		Work        func(context.Context) (func() Intent, error)
	}
	// All are several, in their order.
	All []Intent
	// Wait is what is wanted after a pause.
	Wait struct {
		Pause time.Duration
		Then  func() Intent
	}
	// Beside works beside the screen; the returned function is called on it.
	Beside func(context.Context) func() Intent
)

// Try is work beside the screen, and what is wanted after it; an error is shown instead.
func Try(work func(context.Context) (Intent, error)) Beside {
	return func(ctx context.Context) func() Intent {
		next, err := work(ctx)
		if err != nil {
			next = Fail(err.Error())
		}
		return func() Intent { return next }
	}
}
