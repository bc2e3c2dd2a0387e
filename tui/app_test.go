package tui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"codeagent/event"
	"codeagent/internal/golden"
	"codeagent/tui/message"
	"codeagent/tui/question"
)

// rig drives an app without a terminal: messages in, the screen out. Commands
// are not run; their number is what tests look at.
type rig struct {
	t     *testing.T
	app   *app
	clock time.Time
	turns []string          // messages that started a turn
	sent  []message.Message // the same, with their images
	stops int               // interrupts
}

func newRig(t *testing.T, w, h int) *rig {
	r := &rig{t: t, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	r.app = newApp(newMailbox(), func() time.Time { return r.clock })
	r.app.offer(Options{Grace: grace, Still: true, Home: "/home/ada"})
	r.app.after = func(time.Duration, func(time.Time) tea.Msg) tea.Cmd { return func() tea.Msg { return nil } }
	r.app.turn = func(s message.Message) tea.Cmd {
		r.turns = append(r.turns, s.Text)
		r.sent = append(r.sent, s)
		return nil
	}
	r.app.run = func(work func(context.Context) (then, error)) tea.Cmd {
		return func() tea.Msg { next, err := work(t.Context()); return turnDoneMsg{err, next} }
	}
	r.app.aside = func(work func(context.Context) then) tea.Cmd { return func() tea.Msg { return work(t.Context()) } }
	r.app.interrupt = func() { r.stops++ }
	r.send(tea.WindowSizeMsg{Width: w, Height: h})
	return r
}

func (r *rig) send(msg tea.Msg) tea.Cmd {
	_, cmd := r.app.Update(msg)
	r.app.View() // Bubble Tea draws after each message
	return cmd
}

// emit posts events and lets the app drain them.
func (r *rig) emit(events ...event.Event) {
	for _, e := range events {
		r.app.box.post(e)
	}
	r.send(inboxMsg{})
}

// press presses keys by their names in the key table; anything else is typed.
func (r *rig) press(keys ...string) tea.Cmd {
	var cmd tea.Cmd
	for _, k := range keys {
		cmd = r.send(tea.KeyPressMsg(keyOf(k)))
	}
	return cmd
}

func (r *rig) typeText(s string) {
	for _, c := range s {
		r.send(tea.KeyPressMsg{Code: c, Text: string(c)})
	}
}

func keyOf(name string) tea.Key {
	var k tea.Key
	parts := strings.Split(name, "+")
	for _, p := range parts[:len(parts)-1] {
		k.Mod |= map[string]tea.KeyMod{"ctrl": tea.ModCtrl, "alt": tea.ModAlt, "shift": tea.ModShift}[p]
	}
	last := parts[len(parts)-1]
	codes := map[string]rune{
		"enter": tea.KeyEnter, "tab": tea.KeyTab, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown,
		"left": tea.KeyLeft, "right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp,
		"pgdown": tea.KeyPgDown, "backspace": tea.KeyBackspace, "delete": tea.KeyDelete, "space": tea.KeySpace,
		"f2": tea.KeyF2, "f4": tea.KeyF4,
	}
	if c, ok := codes[last]; ok {
		k.Code = c
		return k
	}
	k.Code = []rune(last)[0]
	if k.Mod&^tea.ModShift == 0 {
		k.Text = last
	}
	return k
}

// screen is what the person reads: exactly the app's rows, without colours.
func (r *rig) screen() string {
	r.t.Helper()
	v := r.app.View()
	lines := strings.Split(ansi.Strip(v.Content), "\n")
	if len(lines) != r.app.height {
		r.t.Fatalf("the screen has %d rows, want %d:\n%s", len(lines), r.app.height, strings.Join(lines, "\n"))
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w > r.app.width {
			r.t.Errorf("row %d is %d columns wide, the screen %d: %q", i, w, r.app.width, l)
		}
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func (r *rig) has(texts ...string) {
	r.t.Helper()
	s := r.screen()
	for _, text := range texts {
		if !strings.Contains(s, text) {
			r.t.Errorf("the screen lacks %q:\n%s", text, s)
		}
	}
}

func (r *rig) lacks(text string) {
	r.t.Helper()
	if s := r.screen(); strings.Contains(s, text) {
		r.t.Errorf("the screen shows %q:\n%s", text, s)
	}
}

// TestScreens draws one recorded session at three widths: whole, and at the
// moment of its question. The README shows these files.
func TestScreens(t *testing.T) {
	for _, w := range []int{40, 80, 120} {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			r := newRig(t, w, 72)
			for _, e := range recorded() {
				if p, ok := e.(event.PermissionRequested); ok {
					r.emit(e)
					r.app.work.running = true
					r.app.box.post(&question.Ask{Request: npmRequest(p.ID)})
					r.send(inboxMsg{})
					golden.Check(t, fmt.Sprintf("question-%d.txt", w), r.screen())
					r.press("ctrl+y")
					golden.Check(t, fmt.Sprintf("question-armed-%d.txt", w), r.screen())
					if w == 80 {
						golden.Check(t, "question-80.ansi", r.app.View().Content+"\n")
						golden.Check(t, "question-80.svg", golden.SVG(trimmed(r.app.View().Content), w))
					}
					r.app.docks = nil
					r.app.work.running = false
					continue
				}
				r.emit(e)
			}
			golden.Check(t, fmt.Sprintf("session-%d.txt", w), r.screen())
			if w == 80 {
				golden.Check(t, "session-80.ansi", r.app.View().Content+"\n")
				golden.Check(t, "session-80.svg", golden.SVG(trimmed(r.app.View().Content), w))
			}
		})
	}
}

func TestScreenLightAndDark(t *testing.T) {
	r := newRig(t, 80, 20)
	r.emit(session())
	dark := r.app.View().Content
	r.send(tea.BackgroundColorMsg{Color: ansi.RGBColor{R: 255, G: 255, B: 255}})
	light := r.app.View().Content
	if dark == light {
		t.Error("a light background changes no colour")
	}
	if ansi.Strip(dark) != ansi.Strip(light) {
		t.Error("a light background changes the text")
	}
}

func TestIdleDrawsNothingNew(t *testing.T) {
	r := newRig(t, 80, 20)
	r.emit(session())
	before := r.app.View().Content
	seq := r.app.seq
	if again := r.app.View().Content; again != before || r.app.seq != seq {
		t.Errorf("a second View without a message drew again: frame %d after %d, content:\n%s", r.app.seq, seq, again)
	}
}

// A tick beside the frames of an answer draws none of its own; what it moved is in the next one.
func TestTicksBesideAnAnswerDrawNothing(t *testing.T) {
	r := newRig(t, 80, 20)
	r.app.offers.Still = false
	r.typeText("go")
	r.press("enter")
	r.emit(event.RequestStarted{}, event.TextDelta{Text: "told"})
	before, frame := r.app.View().Content, r.app.frame
	r.send(tickMsg{})
	if beside := r.app.View().Content; beside != before || r.app.frame != frame+1 {
		t.Errorf("a tick beside an answer drew frame %d after %d:\n%s", r.app.frame, frame, beside)
	}
	r.clock = r.clock.Add(tick)
	r.send(tickMsg{})
	if later := r.app.View().Content; later == before {
		t.Errorf("a tick without an answer moves nothing:\n%s", later)
	}
}

func TestTurnIsShownAtOnceAndOnce(t *testing.T) {
	r := newRig(t, 80, 24)
	r.typeText("fix it")
	r.press("enter")
	if len(r.turns) != 1 || r.turns[0] != "fix it" {
		t.Fatalf("turns = %q", r.turns)
	}
	r.has("┃ fix it", "Working", "Ask codeagent")
	r.emit(event.TurnStarted{Text: "fix it"})
	if n := strings.Count(r.screen(), "fix it"); n != 1 {
		t.Errorf("the message is shown %d times", n)
	}
	r.emit(event.TextDelta{Text: "done"}, event.MessageFinished{Text: "done"}, event.TurnFinished{Outcome: "done"})
	r.send(turnDoneMsg{})
	r.lacks("Working")
}

func TestTurnErrorIsShownOnce(t *testing.T) {
	r := newRig(t, 80, 24)
	r.typeText("x")
	r.press("enter")
	r.emit(event.TurnFinished{Outcome: "failed", Err: fmt.Errorf("no key: sign in")})
	r.send(turnDoneMsg{err: fmt.Errorf("no key: sign in")})
	if n := strings.Count(r.screen(), "no key: sign in"); n != 1 {
		t.Errorf("the error is shown %d times:\n%s", n, r.screen())
	}
	r.typeText("y")
	r.press("enter")
	r.send(turnDoneMsg{err: fmt.Errorf("silent failure")})
	r.has("✗ silent failure")
}

func TestEnterWhileWorkingSteers(t *testing.T) {
	r := newRig(t, 80, 24)
	r.typeText("go")
	r.press("enter")
	r.typeText("faster")
	r.press("enter")
	r.has("↳ next  faster")
	said, ok := r.app.box.steered()
	text := said.Text
	if !ok || text != "faster" {
		t.Fatalf("steered %q, %v", text, ok)
	}
	r.emit(event.Steered{Text: text})
	r.has("┃ faster")
	r.lacks("↳")
}

func TestTabQueuesForAfterTheTurn(t *testing.T) {
	r := newRig(t, 80, 24)
	r.typeText("go")
	r.press("enter")
	r.typeText("then this")
	r.press("tab")
	r.has("↳ after the turn  then this")
	if _, ok := r.app.box.steered(); ok {
		t.Error("a queued message was handed to the running turn")
	}
	r.emit(event.TurnFinished{Outcome: "done"})
	r.send(turnDoneMsg{})
	if len(r.turns) != 2 || r.turns[1] != "then this" {
		t.Errorf("turns = %q", r.turns)
	}
}

func TestSteerTooLateStartsTheNextTurn(t *testing.T) {
	r := newRig(t, 80, 24)
	r.typeText("go")
	r.press("enter")
	r.typeText("late")
	r.press("enter")
	r.emit(event.TurnFinished{Outcome: "done"})
	r.send(turnDoneMsg{})
	if len(r.turns) != 2 || r.turns[1] != "late" {
		t.Errorf("turns = %q", r.turns)
	}
}

func TestInterruptedTurnGivesWaitingTextBack(t *testing.T) {
	r := newRig(t, 80, 24)
	r.typeText("go")
	r.press("enter")
	r.typeText("first")
	r.press("enter")
	r.typeText("second")
	r.press("tab")
	r.typeText("draft")
	r.press("esc")
	if r.stops != 1 {
		t.Fatalf("Esc interrupted %d times", r.stops)
	}
	r.emit(event.TurnFinished{Outcome: "interrupted"})
	r.send(turnDoneMsg{})
	if got := r.app.composer.Value(); got != "first\n\nsecond\n\ndraft" {
		t.Errorf("the editor holds %q", got)
	}
	if len(r.turns) != 1 {
		t.Errorf("an interrupted turn started another: %q", r.turns)
	}
}

func TestCtrlC(t *testing.T) {
	r := newRig(t, 80, 24)
	r.typeText("go")
	r.press("enter")
	r.typeText("half a thought")
	r.press("ctrl+c")
	if !r.app.composer.Empty() || r.stops != 0 {
		t.Fatalf("the first Ctrl+C must clear the text and nothing else: text %q, %d stops", r.app.composer.Value(), r.stops)
	}
	r.press("up")
	if r.app.composer.Value() != "half a thought" {
		t.Error("the cleared text cannot be recalled")
	}
	r.press("ctrl+c", "ctrl+c")
	if r.stops != 1 {
		t.Errorf("Ctrl+C without text interrupted %d times", r.stops)
	}
	r.has("Ctrl+C again quits")
	r.lacks("background")
	r.app.facts.Running = 2
	r.clock = r.clock.Add(3 * time.Second)
	if isQuit(r.press("ctrl+c"), 50*time.Millisecond) {
		t.Error("a Ctrl+C after three seconds quits")
	}
	r.has("Ctrl+C again quits and ends 2 jobs")
	r.clock = r.clock.Add(time.Second)
	if !isQuit(r.press("ctrl+c"), time.Minute) {
		t.Error("a second Ctrl+C within two seconds does not quit")
	}
}

// isQuit reports whether a command, run, quits. Batches are looked into; of
// commands that all take longer than patience none does.
func isQuit(cmd tea.Cmd, patience time.Duration) bool {
	quits := make(chan bool, 1)
	var look func(cmd tea.Cmd)
	look = func(cmd tea.Cmd) {
		if cmd == nil {
			return
		}
		switch msg := cmd().(type) {
		case tea.QuitMsg:
			quits <- true
		case tea.BatchMsg:
			for _, c := range msg {
				go look(c)
			}
		}
	}
	go look(cmd)
	select {
	case <-quits:
		return true
	case <-time.After(patience):
		return false
	}
}

func TestSlashCommands(t *testing.T) {
	r := newRig(t, 80, 40)
	r.emit(session())
	r.typeText("/")
	r.has("/help", "/status", "/permissions", "/quit")
	r.typeText("st")
	r.lacks("/help ")
	r.press("enter")
	r.has("Status", "scripted-1", "landlock", "Landlock does not cover metadata", "Run under an ordinary user")
	r.press("esc")
	r.lacks("Landlock does not cover")
	if !r.app.composer.Empty() {
		t.Error("the command stays in the editor")
	}
	r.typeText("/he")
	r.press("tab")
	if r.app.composer.Value() != "/help" {
		t.Errorf("Tab completed to %q", r.app.composer.Value())
	}
	r.press("enter")
	r.has("Commands", "Ctrl+C")
	r.press("q")
	r.typeText("/nothing")
	r.press("enter")
	r.has("no command /nothing")
	if len(r.turns) != 0 {
		t.Errorf("a command was sent to the model: %q", r.turns)
	}
	r.press("ctrl+c")
	r.typeText("/quit")
	if !isQuit(r.press("enter"), time.Minute) {
		t.Error("/quit does not quit")
	}
}

func TestPathIsNoCommand(t *testing.T) {
	r := newRig(t, 80, 24)
	r.typeText("/etc/hosts says what?")
	r.press("enter")
	if len(r.turns) != 1 {
		t.Errorf("turns = %q", r.turns)
	}
}

func TestPermissionsPage(t *testing.T) {
	r := newRig(t, 100, 60)
	r.emit(recorded()...)
	r.typeText("/permissions")
	r.press("enter")
	r.has("npm install wants to leave the sandbox", "allowed once: write ~/.npm, network registry.npmjs.org:443")
}

func TestRetryTakesBackTheBrokenAnswer(t *testing.T) {
	r := newRig(t, 80, 24)
	r.emit(event.RequestStarted{}, event.MessageFinished{Text: "kept"})
	r.emit(event.RequestStarted{}, event.ReasoningDelta{Text: "hm"}, event.TextDelta{Text: "broken answ"})
	r.has("broken answ")
	r.emit(event.Retrying{Message: "the connection broke", Delay: 2 * time.Second, Attempt: 1, Most: 5})
	r.lacks("broken answ")
	r.emit(event.Retrying{Message: "the connection broke", Delay: 4 * time.Second, Attempt: 2, Most: 5})
	r.has("kept", "the connection broke", "retry 2/5 in 4 s")
	r.lacks("1/5")
	r.emit(event.RequestStarted{}, event.TextDelta{Text: "whole answer"})
	r.has("kept", "whole answer", "retried (2/5)")
}

// The time that is left moves while a try is waited for, and not afterwards.
func TestRetryCountsDown(t *testing.T) {
	r := newRig(t, 80, 24)
	r.typeText("go")
	r.press("enter")
	again := event.Retrying{Message: "too many requests", Delay: 75 * time.Second, Attempt: 2, Most: 5}
	r.emit(event.RequestStarted{}, again)
	r.has("retry 2/5 in 1:15")
	r.clock = r.clock.Add(70*time.Second + 100*time.Millisecond)
	r.send(tickMsg{})
	r.has("retry 2/5 in 5 s")
	r.clock = r.clock.Add(10 * time.Second)
	r.send(tickMsg{})
	r.has("too many requests · retry 2/5")
	again.Attempt = 3
	r.emit(again)
	r.press("esc")
	if r.stops != 1 {
		t.Fatal("Esc does not end the waiting")
	}
	r.emit(event.TurnFinished{Outcome: "interrupted"})
	r.send(turnDoneMsg{})
	r.has("too many requests · not retried", "Interrupted.")
	before := r.screen()
	r.clock = r.clock.Add(time.Hour)
	r.send(tickMsg{})
	if after := r.screen(); after != before {
		t.Errorf("it moves on:\n%s", after)
	}
}

func contains(s, sub string) bool { return strings.Contains(s, sub) }

func windowSize(w, h int) tea.WindowSizeMsg { return tea.WindowSizeMsg{Width: w, Height: h} }

// trimmed takes the empty rows out of a picture's middle: all but one in a row.
func trimmed(content string) string {
	var out []string
	for _, l := range strings.Split(content, "\n") {
		if l == "" && len(out) > 0 && out[len(out)-1] == "" {
			continue
		}
		out = append(out, l)
	}
	return strings.Join(out, "\n")
}
