package tui

import (
	"context"
	"errors"
	"testing"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
	"codeagent/model"
	"codeagent/tui/part"
	"codeagent/tui/question"
)

// fakeClipboard holds a text or an image, or err; or its owner never answers.
type fakeClipboard struct {
	written string
	text    string
	image   *model.Image
	err     error
	hangs   bool
	read    int
}

func (f *fakeClipboard) Read(ctx context.Context) (string, *model.Image, error) {
	f.read++
	if f.hangs {
		<-ctx.Done() // else the test does not end
	}
	return f.text, f.image, f.err
}

func (f *fakeClipboard) Write(_ context.Context, text string) error {
	f.written = text
	return f.err
}

func clipboardRig(t *testing.T) (*rig, *fakeClipboard) {
	r, _ := offers(t, 80, 20)
	f := &fakeClipboard{image: &model.Image{Name: "clipboard", Width: 640, Height: 480, MediaType: "image/png"}}
	r.app.clipboard.Desktop = f
	return r, f
}

// An image of the clipboard is a chip like others.
func TestClipboardImage(t *testing.T) {
	r, _ := clipboardRig(t)
	r.typeText("what is ")
	cmd := r.press("ctrl+v")
	r.has("Reading the clipboard   Esc cancels")
	r.do(cmd)
	r.lacks("Reading the clipboard")
	r.do(r.press("ctrl+v"))
	r.has("what is [image 1: clipboard 640×480][image 2: clipboard 640×480]")
	r.press("backspace")
	r.lacks("image 2")
	r.press("ctrl+_")
	r.press("enter")
	if len(r.sent) != 1 || len(r.sent[0].Images) != 2 || r.sent[0].Text != "what is [image 1: clipboard 640×480][image 2: clipboard 640×480]" {
		t.Errorf("sent %+v", r.sent)
	}
}

// Text is what a paste of the terminal's would be: as it is, as a chip, or an image.
func TestClipboardText(t *testing.T) {
	r, f := clipboardRig(t)
	f.text, f.image = "two\r\nlines\x1b[2J ", nil
	r.do(r.press("ctrl+v"))
	if got := r.app.composer.Value(); got != "two\nlines\x1b[2J " {
		t.Errorf("the message holds %q", got)
	}
	r.has("lines␛[2J")
	f.text, f.image = "'/tmp/a b.jpg'", nil
	r.do(r.press("ctrl+v"))
	r.has("[image 1: a b.jpg 10×20]")
	f.err = errors.New("xclip is not installed")
	r.do(r.press("ctrl+v"))
	r.has("▲ xclip is not installed")
}

// While it is read the screen goes on; a message waits for what belongs to it.
func TestClipboardIsLeft(t *testing.T) {
	r, f := clipboardRig(t)
	f.hangs = true
	for _, key := range []string{"esc", "ctrl+c"} {
		cmd := r.press("ctrl+v")
		r.typeText("go")
		r.press("enter", "tab")
		if len(r.sent) != 0 || r.app.composer.Value() != "go" {
			t.Fatalf("sent %+v without what is being pasted", r.sent)
		}
		r.press(key)
		r.lacks("Reading the clipboard")
		r.press("ctrl+u")
		r.do(cmd)
		if !r.app.composer.Empty() || r.stops != 0 {
			t.Errorf("%s: the message holds %q; %d interrupts", key, r.app.composer.Value(), r.stops)
		}
	}
	// One is read at a time, and one that was left leaves the next alone.
	f.hangs = false
	left := r.press("ctrl+v")
	r.press("esc")
	next := r.press("ctrl+v")
	if cmd := r.press("ctrl+v"); cmd != nil {
		r.do(cmd)
	}
	read := f.read
	r.do(left)
	r.has("Reading the clipboard")
	r.do(next)
	r.has("› [image 1: clipboard 640×480]")
	if f.read != read+2 {
		t.Errorf("it was read %d times", f.read-read)
	}
}

// A note takes text; what comes too late for it goes nowhere. A question does not
// take the keys while a paste is on its way.
func TestClipboardAndQuestions(t *testing.T) {
	r, f := clipboardRig(t)
	first := r.put(npmRequest("1"))
	r.press("ctrl+y", "tab")
	r.do(r.press("ctrl+v"))
	r.has("a note takes text only")
	f.text, f.image = "use\nthe cache", nil
	r.do(r.press("ctrl+v"))
	field := r.app.docks.Front().(*question.Question).Field
	if field.Value() != "use the cache" || !r.app.composer.Empty() {
		t.Errorf("the note holds %q, the message %q", field.Value(), r.app.composer.Value())
	}
	late := r.press("ctrl+v")
	r.app.box.post(part.Withdrawn{Ask: first})
	r.send(inboxMsg{})
	r.do(late)
	if field.Value() != "use the cache" || !r.app.composer.Empty() {
		t.Errorf("a closed note holds %q, the message %q", field.Value(), r.app.composer.Value())
	}
	r.put(npmRequest("2"))
	q := r.app.docks.Front().(*question.Question)
	q.Arm(true)
	cmd := r.press("ctrl+v")
	r.rest()
	if q.Armed() {
		t.Error("the question takes the keys of someone who pastes")
	}
	r.do(cmd)
	if q.Armed() || r.app.composer.Value() != "use\nthe cache" {
		t.Errorf("armed %v, the message holds %q", q.Armed(), r.app.composer.Value())
	}
}

// An answer waits for what is being pasted into its note; Esc leaves that, and the
// note stays.
func TestClipboardAndAnswers(t *testing.T) {
	r, f := clipboardRig(t)
	f.text, f.image = "the cache", nil
	first := r.put(npmRequest("1"))
	r.press("ctrl+y", "n")
	r.typeText("use ")
	for _, key := range []string{"esc", "ctrl+c"} {
		left := r.press("ctrl+v")
		r.press("enter")
		r.has("still reading the clipboard; Esc cancels")
		r.press(key)
		r.do(left)
		if field := r.app.docks.Front().(*question.Question).Field; field == nil || field.Value() != "use " {
			t.Fatalf("after %s: %v", key, field)
		}
	}
	cmd := r.press("ctrl+v")
	r.press("enter")
	if ans, ok := r.answered(first); ok {
		t.Fatalf("answered without what is being pasted: %+v", ans)
	}
	r.do(cmd)
	r.press("enter")
	if ans, ok := r.answered(first); !ok || ans.Reason != "use the cache" {
		t.Errorf("answered %v: %+v", ok, ans)
	}
}

// Without a clipboard the key does nothing.
func TestNoClipboard(t *testing.T) {
	r, _ := offers(t, 80, 20)
	if cmd := r.press("ctrl+v"); r.app.clipboard.Reading() {
		t.Errorf("something is read: %v", cmd)
	}
	r.send(tea.KeyPressMsg{Code: 'x', Text: "x"})
	r.has("› x")
}

// TestCopiesHoldNoControls: a shell that a copy is pasted into would take them for keys.
func TestCopiesHoldNoControls(t *testing.T) {
	r, f := clipboardRig(t)
	r.emit(event.TextDelta{Text: "```\nmake\n\tall\x1b[201~\rrm -rf ~\u009b\x00\n```\n"})
	r.do(r.app.do(copyAnswer(&r.app.transcript, "1")))
	if want := "make\n\tall\ufffd[201~\ufffdrm -rf ~\ufffd\ufffd"; f.written != want {
		t.Errorf("copied %q, want %q", f.written, want)
	}
}
