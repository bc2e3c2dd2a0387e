package tui

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// pictures are the endings of files that may be images: only for a path with one
// of them is the disk asked.
var pictures = []string{".png", ".jpg", ".jpeg", ".gif", ".webp"}

// imagePath returns the path that a paste or a drag consists of, "" if it is
// anything else: terminals quote it, escape it, or write a file: address.
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

// unescaped drops a shell's backslashes.
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

// pasteImage has an image loaded whose path was pasted; nil where the paste is
// none. What turns out to be no image is pasted as the text it is.
func (m *app) pasteImage(pasted string) tea.Cmd {
	path := imagePath(pasted, m.home)
	if path == "" || m.offers.Images == nil {
		return nil
	}
	images := m.offers.Images
	return m.aside(func(ctx context.Context) then {
		loaded, err := images.Load(ctx, path)
		return func(m *app) tea.Cmd {
			if err == nil {
				m.composer.save(false)
				m.composer.attach(m.numbered(Message{Images: []Image{loaded}}).Images[0])
				return nil
			}
			m.composer.paste(pasted)
			if !errors.Is(err, ErrNoImage) {
				m.note("warning", err.Error())
				m.transcript.end()
			}
			return nil
		}
	})
}

// labelled finds the labels in a message that came back.
var labelled = regexp.MustCompile(`\[image (\d{1,6}): `)

// counted keeps the numbers of a text's labels from being given again.
func (m *app) counted(text string) {
	for _, label := range labelled.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(label[1]) // six digits are a number
		m.images = max(m.images, n)
	}
}

// numbered gives the images of a message their numbers: those of their labels,
// which name them, new ones without.
func (m *app) numbered(s Message) Message {
	for i := range s.Images {
		s.Images[i].number = 0
	}
	for _, at := range labelled.FindAllStringSubmatchIndex(s.Text, -1) {
		n, _ := strconv.Atoi(s.Text[at[2]:at[3]])
		for i := range s.Images {
			named := s.Images[i]
			named.number = n
			if s.Images[i].number == 0 && strings.HasPrefix(s.Text[at[0]:], named.label()) {
				s.Images[i] = named
				break
			}
		}
	}
	m.counted(s.Text)
	for i := range s.Images {
		if s.Images[i].number == 0 {
			m.images++
			s.Images[i].number = m.images
		}
	}
	return s
}
