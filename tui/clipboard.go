package tui

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/tui/message"
	"codeagent/tui/part"
)

// stillRead is why something is not sent yet: the pasted content belongs to it.
const stillRead = "still reading the clipboard; Esc cancels"

// readClipboard reads the clipboard for the message, or for the field of a dock. The screen
// works meanwhile; Esc and Ctrl+C cancel the read.
func (m *app) readClipboard(field part.Insert) tea.Cmd {
	clipboard := m.offers.Clipboard
	if clipboard == nil || m.unread != nil {
		return nil
	}
	if field == nil {
		m.docks.Disarm()
	}
	wanted, leave := context.WithCancel(context.Background())
	m.unread = reading(leave)
	return m.aside(func(ctx context.Context) then {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(wanted, cancel)()
		clip, err := clipboard.Read(ctx)
		return func(m *app) tea.Cmd {
			if wanted.Err() != nil {
				return nil // cancelled
			}
			m.unread.leave()
			cmd := m.clipped(field, clip, err)
			return tea.Batch(cmd, m.stir())
		}
	})
}

// reading cancels the read of the clipboard that is under way; nil: there is no read.
type reading context.CancelFunc

func (r *reading) leave() {
	if *r != nil {
		(*r)()
		*r = nil
	}
}

func (m *app) clipped(field part.Insert, clip Clip, err error) tea.Cmd {
	switch {
	case err != nil:
		m.transcript.Note(word.LevelWarning, err.Error())
		m.transcript.End()
	case field != nil && !field(clip.Text):
		return m.say("the note is closed")
	case field != nil && clip.Image != nil:
		return m.say("a note takes text only")
	case field != nil:
	case clip.Image != nil:
		m.docks.Disarm()
		m.composer.Attach(m.images.Numbered(message.Message{Images: []message.Image{*clip.Image}}).Images[0])
	default:
		return m.pasteMessage(clip.Text)
	}
	return nil
}

// pasteMessage pastes into the message.
func (m *app) pasteMessage(s string) tea.Cmd {
	m.docks.Disarm()
	if cmd := m.pasteImage(s); cmd != nil {
		return cmd
	}
	m.composer.Paste(s)
	return nil
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
		s = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(s) || strings.ContainsAny(s, "\n\r\x00") {
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

// pasteImage loads the image whose path was pasted; nil where the paste is not such
// a path. A file that is not an image is pasted as text.
func (m *app) pasteImage(pasted string) tea.Cmd {
	path := imagePath(pasted, m.facts.Home)
	if path == "" || m.offers.Images == nil {
		return nil
	}
	images := m.offers.Images
	return m.aside(func(ctx context.Context) then {
		loaded, err := images.Load(ctx, path)
		return func(m *app) tea.Cmd {
			if err == nil {
				m.composer.Attach(m.images.Numbered(message.Message{Images: []message.Image{loaded}}).Images[0])
				return nil
			}
			m.composer.Paste(pasted)
			if !errors.Is(err, ErrNoImage) {
				m.transcript.Note(word.LevelWarning, err.Error())
				m.transcript.End()
			}
			return nil
		}
	})
}

// putInClipboard puts a text into the clipboard: by the terminal, which does not report whether
// it did, and by a program of this desktop, where there is one.
func putInClipboard(m *app, text string) tea.Cmd {
	if text = pasteable(text); text == "" {
		return nil
	}
	cmd := tea.Batch(tea.Raw(ansi.SetSystemClipboard(text)), m.say(fmt.Sprintf("copied %s", short.Count(utf8.RuneCountInString(text), "character"))))
	clipboard := m.offers.Clipboard
	if clipboard == nil {
		return cmd
	}
	return tea.Batch(cmd, m.aside(func(ctx context.Context) then {
		if err := clipboard.Write(ctx, text); err != nil {
			return func(m *app) tea.Cmd { return m.say("copied by the terminal only: " + err.Error()) }
		}
		return nil
	}))
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

// copyAnswer is /copy: the last answer, or one of its blocks of code.
func copyAnswer(m *app, which string) tea.Cmd {
	text, code := m.transcript.Answer()
	switch n, err := strconv.Atoi(which); {
	case text == "":
		return m.say("there is no answer to copy")
	case which == "":
	case err != nil:
		return m.say("/copy N takes the number of a block of code")
	case len(code) == 0:
		return m.say("the last answer has no block of code")
	case n < 1 || n > len(code):
		return m.say("the last answer has " + short.Count(len(code), "block") + " of code")
	default:
		text = strings.TrimRight(code[n-1], "\n")
	}
	return putInClipboard(m, text)
}
