package tui

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"codeagent/event/word"
	"codeagent/tui/message"
)

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

// unescaped removes a shell's backslashes.
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
	path := imagePath(pasted, m.facts.home)
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
