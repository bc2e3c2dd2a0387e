package tui

import (
	"fmt"
	"path"
	"strings"
)

// label stands for an image in the text of its message, and is what its chip
// shows. Images are counted through the session: no two have the same label.
func (i Image) label() string {
	return fmt.Sprintf("[image %d: %s %d×%d]", i.number, path.Base(i.Name), i.Width, i.Height)
}

// empty: there is nothing in it to send.
func (s Message) empty() bool { return strings.TrimSpace(s.Text) == "" }

// together makes one message of several.
func together(all []Message) Message {
	var one Message
	texts := make([]string, len(all))
	for i, m := range all {
		texts[i] = m.Text
		one.Images = append(one.Images, m.Images...)
	}
	one.Text = strings.Join(texts, "\n\n")
	return one
}
