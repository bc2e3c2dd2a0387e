// Package clipboard is what the person pastes and copies: the text or the picture of the desktop's
// clipboard, pasted paths of pictures, and texts that go there. It performs no IO: what is handed in
// does. Start with Clipboard.
package clipboard

import (
	"context"
	"errors"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/model"
	"codeagent/tui/message"
	"codeagent/tui/part"
)

// ErrNoImage: the file is not a picture, or does not exist.
var ErrNoImage = errors.New("no image")

// Images loads pictures whose paths the person pastes or drags.
type Images interface {
	// Load reads the picture at an absolute path. The error wraps ErrNoImage, or
	// says why the picture cannot be sent: it is too large, or the model takes no
	// images.
	Load(ctx context.Context, path string) (model.Image, error)
}

// Desktop is the clipboard of the desktop. A terminal pastes only its text.
type Desktop interface {
	// Read returns the content: a picture, else text. It must be quick:
	// no message is sent meanwhile. The error says in one line why there is nothing
	// to paste and what to do instead. Read may be called while an earlier call,
	// whose context is done, has not returned yet.
	Read(ctx context.Context) (text string, image *model.Image, err error)
	// Write replaces the content by a text. Nil also where this desktop has no program
	// for it: the terminal itself was asked. The error says in a few words what failed.
	Write(ctx context.Context, text string) error
}

// Clipboard reads and writes the desktop's. Desktop and Images may be nil: they are not there.
type Clipboard struct {
	Desktop Desktop
	Images  Images
	Home    string             // what ~ stands for
	leave   context.CancelFunc // cancels the read that is under way; nil: nothing is read
}

type (
	// Text is pasted into the message; a message.Image is attached to it.
	Text string
	// Terminal is a text for the clipboard of the terminal, which does not report whether it took it.
	Terminal string
	// Ended is wanted after a read: what waited for it goes on.
	Ended struct{}
)

// Reading reports whether a read is under way; Leave cancels it.
func (c *Clipboard) Reading() bool { return c.leave != nil }

func (c *Clipboard) Leave() {
	if c.leave != nil {
		c.leave()
		c.leave = nil
	}
}

// Read reads the clipboard for the message, or for the field of a dock. The screen works meanwhile.
func (c *Clipboard) Read(field part.Insert) part.Intent {
	desktop := c.Desktop
	if desktop == nil || c.Reading() {
		return nil
	}
	wanted, leave := context.WithCancel(context.Background())
	c.leave = leave
	read := part.Beside(func(ctx context.Context) func() part.Intent {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(wanted, cancel)()
		text, image, err := desktop.Read(ctx)
		return func() part.Intent {
			if wanted.Err() != nil {
				return nil // cancelled
			}
			c.Leave()
			return part.All{c.take(field, text, image, err), Ended{}}
		}
	})
	if field == nil {
		return part.All{part.Disarm{}, read}
	}
	return read
}

// take puts what was read where it belongs.
func (c *Clipboard) take(field part.Insert, text string, image *model.Image, err error) part.Intent {
	switch {
	case err != nil:
		return warning(err)
	case field != nil && !field(text):
		return part.Say("the note is closed")
	case field != nil && image != nil:
		return part.Say("a note takes text only")
	case field != nil:
		return nil
	case image != nil:
		return part.All{part.Disarm{}, message.Image{Image: *image}}
	}
	return c.Paste(text)
}

// warning shows an error at the end of the transcript.
func warning(err error) part.Intent {
	return part.All{part.Line{Level: word.LevelWarning, Text: err.Error()}, part.End{}}
}

// Paste pastes into the message: the picture whose path was pasted, or the text.
func (c *Clipboard) Paste(pasted string) part.Intent {
	path, images := imagePath(pasted, c.Home), c.Images
	if path == "" || images == nil {
		return part.All{part.Disarm{}, Text(pasted)}
	}
	return part.All{part.Disarm{}, part.Beside(func(ctx context.Context) func() part.Intent {
		loaded, err := images.Load(ctx, path)
		return func() part.Intent {
			switch {
			case err == nil:
				return message.Image{Image: loaded}
			case errors.Is(err, ErrNoImage):
				return Text(pasted)
			}
			return part.All{Text(pasted), warning(err)}
		}
	})}
}

// Copy puts a text into the clipboard: by the terminal, and by a program of this desktop, where
// there is one.
func (c *Clipboard) Copy(text string) part.Intent {
	if text = pasteable(text); text == "" {
		return nil
	}
	out := part.All{Terminal(text), part.Say("copied " + short.Count(utf8.RuneCountInString(text), "character"))}
	desktop := c.Desktop
	if desktop == nil {
		return out
	}
	return append(out, part.Beside(func(ctx context.Context) func() part.Intent {
		err := desktop.Write(ctx, text)
		return func() part.Intent {
			if err != nil {
				return part.Say("copied by the terminal only: " + err.Error())
			}
			return nil
		}
	}))
}

// pictures are the endings of image files: the disk is read only for a path with one
// of them.
var pictures = []string{".png", ".jpg", ".jpeg", ".gif", ".webp"}

// imagePath returns the path that a paste or a drag consists of, or "". Terminals
// quote it, escape it, or write a file: URL.
func imagePath(pasted, home string) string {
	s := strings.TrimSpace(pasted)
	if n := len(s); n >= 2 && (s[0] == '\'' || s[0] == '"') && s[n-1] == s[0] {
		s = s[1 : n-1]
	} else if rest, ok := strings.CutPrefix(s, "file://"); ok {
		u, err := url.PathUnescape(strings.TrimPrefix(rest, "localhost"))
		if err != nil {
			return ""
		}
		s = u
	} else if strings.Contains(s, `\`) {
		s = unescaped(s)
	}
	if rest, ok := strings.CutPrefix(s, "~/"); ok && home != "" {
		s = path.Join(home, rest)
	}
	if !path.IsAbs(s) || strings.ContainsAny(s, "\n\r\x00") {
		return ""
	}
	for _, p := range pictures {
		if strings.HasSuffix(strings.ToLower(s), p) {
			return s
		}
	}
	return ""
}

func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// pasteable is text without controls but tabs and line breaks: a shell that it is pasted into
// would take them for keys, such as the end of the paste. The screen shows them as signs.
func pasteable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return utf8.RuneError
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
}
