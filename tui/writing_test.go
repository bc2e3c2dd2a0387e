package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/prompts"
	"codeagent/tui/message"
)

// settle runs what a command asks for, and what that asks for, until nothing is left.
func (r *rig) settle(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	msg := cmd()
	for _, inner := range commandsIn(msg) {
		r.settle(inner)
	}
	if msg != nil && commandsIn(msg) == nil {
		r.settle(r.send(msg))
	}
}

// commandsIn are the commands of a batch or a sequence.
func commandsIn(msg tea.Msg) []tea.Cmd {
	if batch, ok := msg.(tea.BatchMsg); ok {
		return batch
	}
	return sequenceOf(msg)
}

// burstRig takes keys that come gap apart.
func burstRig(t *testing.T) (r *rig, at func(gap time.Duration, keys ...string)) {
	r = newRig(t, 60, 20)
	r.app.burst.gap = burstGap
	r.app.after = func(_ time.Duration, msg func(time.Time) tea.Msg) tea.Cmd {
		return func() tea.Msg { return msg(r.clock) }
	}
	return r, func(gap time.Duration, keys ...string) {
		for _, k := range keys {
			r.clock = r.clock.Add(gap)
			r.press(k)
		}
	}
}

// TestPasteAsKeys: a line break among keys that come as fast as a paste sends nothing, and
// an Enter that nothing follows sends.
func TestPasteAsKeys(t *testing.T) {
	for _, c := range []struct {
		name       string
		do         func(r *rig, at func(time.Duration, ...string))
		text, sent string
	}{
		{"a paste of two lines", func(r *rig, at func(time.Duration, ...string)) {
			at(time.Millisecond, "a", "b", "enter", "c", "d")
		}, "ab\ncd", ""},
		{"empty lines and a tab in it", func(r *rig, at func(time.Duration, ...string)) {
			at(time.Millisecond, "a", "enter", "enter", "tab", "b")
		}, "a\n\n\tb", ""},
		{"a paste that ends with a line break", func(r *rig, at func(time.Duration, ...string)) {
			at(time.Millisecond, "a", "enter", "b", "enter")
		}, "a\nb\n", ""},
		{"Enter after the paste", func(r *rig, at func(time.Duration, ...string)) {
			at(time.Millisecond, "a", "enter", "b", "enter")
			at(time.Second, "enter")
		}, "", "a\nb\n"},
		{"typed by hand", func(r *rig, at func(time.Duration, ...string)) {
			at(80*time.Millisecond, "a", "b", "enter")
		}, "", "ab"},
		{"a line and Enter at once", func(r *rig, at func(time.Duration, ...string)) {
			at(time.Millisecond, "a", "b", "enter")
			r.send(heldMsg{r.app.burst.number})
		}, "", "ab"},
		{"an Enter that was held and then Ctrl+E", func(r *rig, at func(time.Duration, ...string)) {
			at(time.Millisecond, "a", "b", "enter", "ctrl+e", "c")
		}, "c", "ab"},
		{"a held Enter is taken once", func(r *rig, at func(time.Duration, ...string)) {
			at(time.Millisecond, "a", "enter", "b")
			r.send(heldMsg{r.app.burst.number})
		}, "a\nb", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, at := burstRig(t)
			c.do(r, at)
			sent := strings.Join(r.turns, "|")
			if got := r.app.composer.Value(); got != c.text || sent != c.sent {
				t.Errorf("the text is %q and %q was sent, want %q and %q", got, sent, c.text, c.sent)
			}
		})
	}
}

// keptMessages is a History in memory.
type keptMessages struct {
	all []message.Message
	err error
}

func (k *keptMessages) Load(context.Context) ([]message.Message, error) {
	return slices.Clone(k.all), k.err
}

func (k *keptMessages) Add(_ context.Context, said message.Message) error {
	k.all = append(k.all, said)
	return k.err
}

// TestHistoryOfEarlierRuns: messages of earlier runs are recalled and found, pastes in them
// are chips again, and what is sent is kept for the next run.
func TestHistoryOfEarlierRuns(t *testing.T) {
	paste := strings.Repeat("line\n", 20)
	kept := &keptMessages{all: []message.Message{{Text: "fix the parser"}, {Text: "see " + paste + " please", Pastes: []string{paste}}, {Text: "run the tests"}}}
	r := newRig(t, 80, 24)
	r.app.offers.Writing.History = kept
	r.settle(loadHistory(r.app))
	r.press("up")
	r.has("› run the tests")
	r.press("up")
	r.has("› see [pasted 20 lines] please")
	r.press("ctrl+u")
	r.typeText("pars")
	r.press("ctrl+r")
	r.has("Earlier messages", "› fix the parser", "1 of 3")
	r.lacks("run the tests")
	r.press("enter")
	r.has("› fix the parser")
	r.lacks("Earlier messages")
	r.settle(r.press("enter"))
	if n := len(kept.all); n != 4 || kept.all[3].Text != "fix the parser" {
		t.Errorf("kept %+v", kept.all)
	}
	if len(r.turns) != 1 {
		t.Errorf("sent %q", r.turns)
	}
	kept.err = errors.New("the disk is full")
	r.send(turnDoneMsg{})
	r.typeText("more")
	r.settle(r.press("enter"))
	r.has("the disk is full")
}

// TestEditorOfThePerson: the editor gets the whole text, and what it leaves is the message.
func TestEditorOfThePerson(t *testing.T) {
	r := newRig(t, 80, 24)
	got := ""
	answer, problem := "changed\ntext\n", error(nil)
	r.app.offers.Writing.Edit = func(text string) (string, error) { got = text; return answer, problem }
	r.app.away = func(work func()) tea.Cmd { return func() tea.Msg { work(); return nil } }
	paste := strings.Repeat("line\n", 20)
	r.typeText("see ")
	r.send(tea.PasteMsg{Content: paste})
	r.settle(r.press("ctrl+g"))
	if got != "see "+paste {
		t.Errorf("the editor got %q", got)
	}
	if text := r.app.composer.Value(); text != "changed\ntext" {
		t.Errorf("the message is %q", text)
	}
	answer = "before " + paste + "after"
	r.press("ctrl+_")
	r.settle(r.press("ctrl+g"))
	if text := r.app.composer.Value(); text != answer {
		t.Errorf("the message is %q", text)
	}
	problem = errors.New("no editor is set")
	r.settle(r.press("ctrl+g"))
	r.has("no editor is set", "before [pasted 20 lines]after")
}

// TestVimOnTheScreen: Esc goes to normal mode before it interrupts, where keys are commands.
func TestVimOnTheScreen(t *testing.T) {
	r := newRig(t, 60, 20)
	r.app.composer.UseVim()
	r.typeText("one two")
	r.app.work.running = true
	r.press("esc")
	if r.stops != 0 {
		t.Error("the first Esc interrupts")
	}
	r.typeText("bx")
	r.has("N one wo")
	r.press("backspace")
	r.typeText("x")
	r.has("N onewo")
	r.press("esc")
	if r.stops != 1 {
		t.Error("Esc in normal mode does not interrupt")
	}
	r.app.work.running = false
	r.typeText("A!")
	r.press("enter")
	if !slices.Equal(r.turns, []string{"onewo!"}) {
		t.Errorf("sent %q", r.turns)
	}
}

// TestCommandOfThePerson: ! runs a command like a turn, one at a time, and sends nothing.
func TestCommandOfThePerson(t *testing.T) {
	r := newRig(t, 70, 20)
	var ran []string
	r.app.offers.Writing.Run = func(_ context.Context, command string) error {
		if ran = append(ran, command); command == "ls" {
			return ErrInterrupted
		}
		return nil
	}
	r.typeText("! go test ./...")
	r.has("$ ! go test ./...")
	cmd := r.press("enter")
	r.has("! go test ./...", "Running")
	r.typeText("!ls")
	r.press("enter")
	r.has("after the turn  !ls")
	r.settle(cmd)
	r.has("! ls", "Interrupted.")
	if !slices.Equal(ran, []string{"go test ./...", "ls"}) || len(r.turns) > 0 {
		t.Errorf("ran %q, sent %q", ran, r.turns)
	}
	r.typeText("!")
	r.press("enter")
	r.has("runs it in the sandbox")
	r.press("ctrl+u")
	r.app.offers.Writing.Run = nil
	r.typeText("!important")
	r.press("enter")
	if !slices.Equal(r.turns, []string{"!important"}) {
		t.Errorf("sent %q", r.turns)
	}
}

// TestFoldedPasteIsNoCommand: what a chip hides is sent as a message, and neither run nor called.
func TestFoldedPasteIsNoCommand(t *testing.T) {
	for _, begins := range []string{"!rm -rf .\n", "/feedback\n", "/export x\n", "/quit " + strings.Repeat("x", 3000)} {
		r := newRig(t, 70, 20)
		var ran []string
		r.app.offers.Writing.Run = func(_ context.Context, command string) error { ran = append(ran, command); return nil }
		r.app.offers.Extras.Export = func(_ context.Context, file string) (string, error) { ran = append(ran, file); return "", nil }
		paste := begins + strings.Repeat("line\n", 20)
		r.send(tea.PasteMsg{Content: paste})
		r.has("[pasted ")
		r.settle(r.press("enter"))
		if len(ran) > 0 || len(r.turns) != 1 || strings.TrimSpace(r.turns[0]) != strings.TrimSpace(paste) {
			t.Errorf("%q: ran %q, sent %d messages", begins, ran, len(r.turns))
		}
	}
}

// TestQueuedIsParsed: what was queued while the model worked is a command when its turn comes. What begins
// no work leaves what follows it to the person.
func TestQueuedIsParsed(t *testing.T) {
	for _, c := range []struct{ queued, ran, edits string }{
		{"/compact the tests", "compact the tests", ""},
		{"!make", "run make", ""},
		{"/plan a flag", "turn " + prompts.PlanFirst("a flag").Text, ""},
		{"/status ", "", "then this"}, // /status takes no words, so this is it
		{"/nothing", "", "/nothing\n\nthen this"},
		{"/tmp is full", "turn /tmp is full", ""},
	} {
		t.Run(c.queued, func(t *testing.T) {
			r := newRig(t, 80, 24)
			var ran []string
			r.app.offers.Compact = func(_ context.Context, focus string) error { ran = append(ran, "compact "+focus); return nil }
			r.app.offers.Writing.Run = func(_ context.Context, command string) error { ran = append(ran, "run "+command); return nil }
			r.app.offers.Extras.Review = func(context.Context, string) (prompts.Prompt, error) { return prompts.Prompt{}, nil }
			r.typeText("go")
			r.press("enter")
			for _, s := range []string{c.queued, "then this"} {
				r.typeText(s)
				r.press("tab")
			}
			r.turns = nil
			cmd := r.send(turnDoneMsg{})
			began := r.app.work.running
			r.do(cmd)
			for _, s := range r.turns[:min(1, len(r.turns))] {
				ran = append(ran, "turn "+s)
			}
			if got := strings.Join(ran[:min(1, len(ran))], ""); got != c.ran || began != (c.ran != "") || r.app.composer.Value() != c.edits {
				t.Errorf("ran %q (%v), in the editor %q\n%s", got, began, r.app.composer.Value(), r.screen())
			}
		})
	}
}
