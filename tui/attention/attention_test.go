package attention

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"codeagent/tui/tuitest"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// Who looks is not called; who is away is called once for a question and once for the
// end of a turn.
func TestOnlyWhoIsAwayIsCalled(t *testing.T) {
	working, asking, idle := State{Working: true}, State{Working: true, Asks: "q1"}, State{}
	for _, c := range []struct {
		name  string
		setup func(a *Attention)
		steps []State
		calls int
	}{
		{"focused", func(a *Attention) { a.Focused(true) }, []State{working, asking, working, idle}, 0},
		{"elsewhere", func(a *Attention) { a.Focused(false) }, []State{working, asking, asking, working, idle, idle}, 2},
		{"back again", func(a *Attention) { a.Focused(false); a.Focused(true) }, []State{working, idle}, 0},
		{"two questions", func(a *Attention) { a.Focused(false) }, []State{working, asking, {Working: true, Asks: "q2"}}, 2},
		{"a question without a turn", func(a *Attention) { a.Focused(false) }, []State{{Asks: "q1"}, idle}, 1},
		{"no reports, just typed", func(a *Attention) { a.Active(noon.Add(-time.Second)) }, []State{working, idle}, 0},
		{"no reports, typed long ago", func(a *Attention) { a.Active(noon.Add(-rest)) }, []State{working, idle}, 1},
		{"no reports, nothing typed", func(*Attention) {}, []State{working, idle}, 0},
		{"off", func(a *Attention) { a.Notify = Off; a.Focused(false) }, []State{working, asking, idle}, 0},
	} {
		a := &Attention{Settings: Settings{Notify: Bell}}
		c.setup(a)
		calls := 0
		for _, s := range c.steps {
			if a.Look(s, noon) != "" {
				calls++
			}
		}
		if calls != c.calls {
			t.Errorf("%s: called %d times, want %d", c.name, calls, c.calls)
		}
	}
}

func TestSequencesOfTerminals(t *testing.T) {
	for _, c := range []struct{ env, notify, progress string }{
		{"TERM=xterm-256color", Bell, Off},
		{"TERM=xterm-256color TERM_PROGRAM=iTerm.app", OSC9, Off},
		{"TERM=xterm-ghostty TERM_PROGRAM=ghostty", OSC9, On},
		{"TERM=tmux-256color TERM_PROGRAM=ghostty TMUX=/tmp/x", Bell, Off},
		{"TERM=screen-256color TERM_PROGRAM=WezTerm", Bell, Off},
		{"TERM=rxvt-unicode-256color", OSC777, Off},
		{"TERM=xterm-256color WT_SESSION=1", Bell, On},
		{"", Bell, Off},
	} {
		env := map[string]string{}
		for _, kv := range strings.Fields(c.env) {
			k, v, _ := strings.Cut(kv, "=")
			env[k] = v
		}
		got := Settings{Notify: Auto, Progress: Auto}.For(func(k string) string { return env[k] })
		if got.Notify != c.notify || got.Progress != c.progress {
			t.Errorf("%s: %+v", c.env, got)
		}
		kept := Settings{Notify: OSC777, Progress: Off}
		if kept.For(func(k string) string { return env[k] }) != kept {
			t.Errorf("%s: a chosen setting was changed", c.env)
		}
	}
	for notify, want := range map[string]string{Bell: "\a", OSC9: "\x1b]9;codeagent has a question · app\x1b\\", OSC777: "\x1b]777;notify;codeagent;has a question · app\x1b\\"} {
		a := &Attention{Settings: Settings{Notify: notify}}
		a.Focused(false)
		if got := a.Look(State{Asks: 1, Folder: "app"}, noon); got != want {
			t.Errorf("%s writes %q, want %q", notify, got, want)
		}
	}
}

func TestTitleAndProgress(t *testing.T) {
	a := &Attention{Settings: Settings{Title: true, Progress: On}}
	for _, c := range []struct {
		s              State
		title          string
		shown, stopped bool
	}{
		{State{Folder: "app"}, "app · codeagent", false, false},
		{State{Folder: "app", Working: true}, "● app · codeagent", true, false},
		{State{Folder: "app", Working: true, Asks: 1}, "? app · codeagent", true, true},
		{State{}, "codeagent", false, false},
	} {
		a.Look(c.s, noon)
		if shown, stopped := a.Bar(); a.TitleText() != c.title || shown != c.shown || stopped != c.stopped {
			t.Errorf("%+v: title %q, progress %t %t", c.s, a.TitleText(), shown, stopped)
		}
	}
	a.Settings = Settings{}
	a.Look(State{Working: true}, noon)
	if shown, _ := a.Bar(); shown || a.TitleText() != "" {
		t.Error("a title or progress that was not asked for")
	}
}

// The name of a folder cannot write a sequence of its own.
func TestFoldersCannotWriteSequences(t *testing.T) {
	for _, name := range append(tuitest.Nasty(), "a;b;c", "x\x1b\\\x1b]0;y\a") {
		a := &Attention{Settings: Settings{Title: true, Notify: OSC777}}
		a.Focused(false)
		sequence := a.Look(State{Asks: 1, Folder: name}, noon)
		sequence = strings.TrimSuffix(strings.TrimPrefix(sequence, "\x1b]777;notify;codeagent;"), "\x1b\\")
		for _, text := range []string{sequence, a.TitleText()} {
			if strings.ContainsFunc(text, unicode.IsControl) || strings.Contains(text, ";") {
				t.Errorf("%q writes %q", name, text)
			}
			tuitest.Harmless(t, text)
		}
	}
}

// Who starts a long turn and goes away is called, also where no key was pressed and the
// terminal does not report its focus.
func TestWhoLeavesAfterTheStartIsCalled(t *testing.T) {
	a := &Attention{Settings: Settings{Notify: Bell}}
	if s := a.Look(State{Working: true}, noon); s != "" {
		t.Errorf("called at once: %q", s)
	}
	if s := a.Look(State{}, noon.Add(rest)); s != "\a" {
		t.Errorf("not called: %q", s)
	}
}

// A character whose bytes hold 0x9C, at which some terminals end a sequence, is not in a title.
func TestNoByteEndsATitle(t *testing.T) {
	a := Attention{Settings: Settings{Title: true}}
	a.Look(State{Folder: "a\u299c漢;b"}, time.Now())
	if got := a.TitleText(); got != "a?漢,b · codeagent" {
		t.Errorf("the title is %q", got)
	}
}
