package tui

import (
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
	"codeagent/model"
	"codeagent/tui/message"
)

// pasted pastes as the terminal does, with what it leads to.
func (r *rig) pasted(s string) { r.do(r.send(tea.PasteMsg{Content: s})) }

// A pasted path of an image becomes a chip that is one character, and goes along.
func TestImageChip(t *testing.T) {
	r, _ := offers(t, 80, 20)
	r.typeText("what is ")
	r.pasted("'/tmp/a b.jpg'")
	r.typeText(" beside ")
	r.pasted("file:///tmp/shot.png")
	r.has("what is [image 1: a b.jpg 10×20] beside [image 2: shot.png 1280×720]")
	r.press("backspace")
	r.lacks("image 2")
	r.press("ctrl+_")
	r.has("image 2")
	r.press("enter")
	if len(r.sent) != 1 || len(r.sent[0].Images) != 2 || r.sent[0].Images[1].Name != "/tmp/shot.png" ||
		r.sent[0].Text != "what is [image 1: a b.jpg 10×20] beside [image 2: shot.png 1280×720]" {
		t.Fatalf("sent %+v", r.sent)
	}
	// The history has it, image and all, and the next one has the next number.
	r.send(turnDoneMsg{})
	r.press("up")
	r.pasted("/tmp/shot.png")
	r.press("enter")
	if len(r.sent) != 2 || len(r.sent[1].Images) != 3 || r.sent[1].Images[2].Number != 3 {
		t.Errorf("sent %+v", r.sent)
	}
}

// What was steered too late or taken back keeps its images.
func TestImagesComeBack(t *testing.T) {
	r, _ := offers(t, 80, 20)
	r.typeText("go")
	r.press("enter")
	r.pasted("/tmp/shot.png")
	r.press("enter")
	r.pasted("/tmp/a b.jpg")
	r.press("tab")
	r.app.work.outcome = "interrupted"
	r.send(turnDoneMsg{})
	if got := r.app.composer.Message(); len(got.Images) != 2 || got.Text != "[image 1: shot.png 1280×720]\n\n[image 2: a b.jpg 10×20]" {
		t.Errorf("the editor holds %+v", got)
	}
	r.press("ctrl+c")
	r.do(func() tea.Msg {
		return then(func(m *app) tea.Cmd {
			editEarlier(m, message.Message{Text: "see [image 7: x.png 1×2] and that", Images: []message.Image{imageOf("x.png", 1, 2), imageOf("y.png", 0, 0)}})
			return nil
		})
	})
	if got := r.app.composer.Message(); len(got.Images) != 2 || got.Images[0].Number != 7 || got.Images[1].Number != 8 {
		t.Errorf("the editor holds %+v", got)
	}
}

// A message comes back with one chip for each image, wherever the image stands
// among the others, and no number is given twice.
func TestLabelsAreMatchedByName(t *testing.T) {
	red, shot := imageOf("red.png", 20, 20), imageOf("/w/shot.png", 10, 10)
	for text, want := range map[string]string{
		"compare [image 1: shot.png 10×10]":                           "compare [image 1: shot.png 10×10] [image 2: red.png 20×20]",
		"[image 2: red.png 20×20] and [image 5: shot.png 10×10] here": "[image 2: red.png 20×20] and [image 5: shot.png 10×10] here",
		"[image 3: shot.png 99×10]":                                   "[image 3: shot.png 99×10] [image 4: red.png 20×20][image 5: shot.png 10×10]",
		"":                                                            "[image 1: red.png 20×20][image 2: shot.png 10×10]",
	} {
		r, _ := offers(t, 120, 20)
		editEarlier(r.app, message.Message{Text: text, Images: []message.Image{red, shot}})
		if got := r.app.composer.Message(); got.Text != want || len(got.Images) != 2 {
			t.Errorf("%q came back as %q with %d images, want %q", text, got.Text, len(got.Images), want)
		}
	}
	r, _ := offers(t, 80, 20)
	editEarlier(r.app, message.Message{Text: "[image 1: shot.png 10×10][image 2: shot.png 10×10]", Images: []message.Image{shot, shot}})
	if got := r.app.composer.Message(); len(got.Images) != 2 || got.Images[0].Number != 1 || got.Images[1].Number != 2 || len(r.app.composer.Text) != 8 {
		t.Errorf("the same image twice: %+v in %q", got, r.app.composer.Text)
	}
	// A resumed session has numbers already.
	r, _ = offers(t, 80, 20)
	r.emit(event.TurnStarted{Text: "see [image 4: old.png 1×1]", Images: []string{"old.png (PNG, 1×1)"}})
	r.pasted("/tmp/shot.png")
	r.has("[image 5: shot.png 1280×720]")
}

// The prompt of the command line stands below what opens the session, with the
// images that go with it.
func TestFirstPromptBelowTheWelcome(t *testing.T) {
	r := newRig(t, 80, 20)
	r.app.box.post(session())
	r.send(submitMsg{message.Message{Text: "first"}})
	r.emit(event.TurnStarted{Text: "first", Images: []string{"red.png (PNG, 20×20)"}})
	r.has("┃ first\n┃ ▣ red.png (PNG, 20×20)\n")
	screen := r.screen()
	if strings.Index(screen, "◆ codeagent") > strings.Index(screen, "┃ first") || strings.Count(screen, "first") != 1 {
		t.Errorf("the welcome and the message stand as:\n%s", screen)
	}
}

func TestImageRefused(t *testing.T) {
	r, f := offers(t, 80, 20)
	r.pasted("/tmp/other.png")
	if r.app.composer.Value() != "/tmp/other.png" {
		t.Errorf("a path without an image: %q", r.app.composer.Value())
	}
	f.err = errors.New("scripted-1 sees no images")
	r.pasted("/tmp/other.png")
	r.has("▲ scripted-1 sees no images")
	r.app.clipboard.Images = nil
	r.press("ctrl+c")
	r.pasted("/tmp/shot.png")
	if r.app.composer.Value() != "/tmp/shot.png" {
		t.Errorf("without a loader: %q", r.app.composer.Value())
	}
}

func imageOf(name string, w, h int) message.Image {
	return message.Image{Image: model.Image{Name: name, Width: w, Height: h}}
}
