// Package message is what the person sends: a text with images, each with a number
// and a label. It performs no IO. Start with Message.
package message

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"codeagent/model"
)

// Message is what the person sends. Text holds a label for each image, such as
// "[image 1: shot.png 1280×720]", in the order of Images.
type Message struct {
	Text   string
	Images []Image
	// Pastes are the parts of Text that the editor shows as one cell each, in their
	// order; nil where that is not known.
	Pastes []string
	// Typed is what the person typed, where Text was made of that; About is a title for it.
	Typed, About string
	// Foreign: others than the person wrote the text, so the resources that it names do not come
	// along.
	Foreign bool
}

// Image is a picture that goes with a message.
type Image struct {
	model.Image     // of its name the screen shows the last element
	Number      int // set by the screen
}

// Label stands for an image in the text of its message, and is the text of its chip.
// Images are numbered through the session: no two have the same label.
func (i Image) Label() string {
	return fmt.Sprintf("[image %d: %s %d×%d]", i.Number, path.Base(i.Name), i.Width, i.Height)
}

// Empty reports whether there is nothing to send.
func (s Message) Empty() bool { return strings.TrimSpace(s.Text) == "" }

// Shown is what the person typed.
func (s Message) Shown() string { return cmp.Or(s.Typed, s.Text) }

// Join joins several messages.
func Join(all []Message) Message {
	var one Message
	texts, typed := make([]string, len(all)), make([]string, len(all))
	for i, m := range all {
		texts[i], typed[i] = m.Text, m.Shown()
		one.Images = append(one.Images, m.Images...)
		one.Pastes = append(one.Pastes, m.Pastes...)
		one.Foreign = one.Foreign || m.Foreign
	}
	one.Text, one.Typed = strings.Join(texts, "\n\n"), strings.Join(typed, "\n\n")
	if one.Typed == one.Text {
		one.Typed = ""
	}
	return one
}

// Labels finds the labels in a message that came back.
var Labels = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[image (\d{1,6}): `) })

// Count numbers the images of a session: it is the highest number in use.
type Count int

// Counted keeps the numbers of a text's labels from being used again.
func (c *Count) Counted(text string) {
	for _, label := range Labels().FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(label[1]) // six digits are a number
		*c = max(*c, Count(n))
	}
}

// Numbered gives the images of a message their numbers: the one of the label that
// names the image, else a new one.
func (c *Count) Numbered(s Message) Message {
	for i := range s.Images {
		s.Images[i].Number = 0
	}
	for _, at := range Labels().FindAllStringSubmatchIndex(s.Text, -1) {
		n, _ := strconv.Atoi(s.Text[at[2]:at[3]])
		for i := range s.Images {
			named := s.Images[i]
			named.Number = n
			if s.Images[i].Number == 0 && strings.HasPrefix(s.Text[at[0]:], named.Label()) {
				s.Images[i] = named
				break
			}
		}
	}
	c.Counted(s.Text)
	for i := range s.Images {
		if s.Images[i].Number == 0 {
			*c++
			s.Images[i].Number = int(*c)
		}
	}
	return s
}
