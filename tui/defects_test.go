package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/golden"
	"codeagent/model"
	"codeagent/tui/lists"
	"codeagent/tui/picker"
)

// situations are screens that were wrong once, each drawn at three sizes.
var situations = map[string]func(r *rig){
	"notice-in-answer": func(r *rig) {
		r.emit(session(), event.TurnStarted{Text: "explain it"}, event.TextDelta{Text: "The parser reads "})
		r.emit(event.Notice{Level: word.LevelWarning, Text: "the sandbox has less memory now"}, event.TextDelta{Text: "one line at a time."})
		r.emit(event.MessageFinished{Text: "The parser reads one line at a time."}, event.TurnFinished{Outcome: word.TurnDone})
	},
	"output-chosen": func(r *rig) {
		r.emit(session())
		r.emit(printed("one", 9)...)
		r.emit(printed("two", 9)...)
		r.press("ctrl+up", "ctrl+up", "ctrl+o")
	},
	"going-back": func(r *rig) {
		r.app.offers.Rewind = &pastMessages{said: []string{"first question", "second question"}, look: rewindLook()}
		r.emit(session())
		for _, n := range []string{"first", "second"} {
			r.emit(event.TurnStarted{Text: n + " question"}, event.MessageFinished{Text: n + " answer"}, event.TurnFinished{Outcome: word.TurnDone})
		}
		r.escTwice()
		r.press("up")
		r.do(r.press("enter"))
	},
	"waiting-taken-back": func(r *rig) {
		r.emit(session())
		for _, key := range []string{"enter", "enter", "tab", "tab"} {
			r.typeText("message for " + key)
			r.press(key)
		}
		r.press("up")
	},
	"recalled-paste": func(r *rig) {
		r.emit(session())
		r.typeText("look at ")
		r.app.composer.Paste(strings.Repeat("pasted\n", 30))
		r.typeText("and mend it")
		r.press("enter")
		r.send(turnDoneMsg{})
		r.press("up")
	},
	"leaving-while-it-runs": func(r *rig) {
		r.emit(session(), event.BackgroundChanged{Running: 2})
		r.typeText("go on")
		r.press("enter", "ctrl+d")
	},
	"place": func(r *rig) {
		r.app.alone = func(*app) tea.Cmd { return nil }
		r.send(then(func(m *app) tea.Cmd {
			return open(m, lists.OfPlaces(m.setting(), `the workspace "/home/ada" is your home folder: shell startup files and keys could be written. Work in a project's folder.`, []picker.Row{
				{Id: "read-only", Text: "Here, read-only", About: "commands change nothing"},
				{Id: "/home/ada/src/app", Text: "~/src/app", About: "an earlier session"},
			}, func(string) {}))
		}))
	},
	"footer": func(r *rig) {
		r.emit(session(), event.UsageUpdated{Context: 30_000, Limit: 128_000, Total: model.Usage{Input: 500_000, Output: 20_000, Cost: model.Cost{Settings: 0.7}}}, event.BackgroundChanged{Running: 1})
		r.app.offers.Surroundings = &around{branch: "main"}
		r.do(r.app.lookAround())
	},
	"footer-listed": func(r *rig) {
		r.emit(session(), event.UsageUpdated{Context: 30_000, Limit: 128_000, Total: model.Usage{Input: 500_000, Output: 20_000, Cost: model.Cost{USD: 0.12}}})
		r.typeText("/status")
		r.press("enter")
	},
	"web-search": func(r *rig) {
		r.emit(session(), event.TurnStarted{Text: "which Go is newest?"}, event.MessageFinished{Text: "Go 1.26 is the newest release."}, event.Searched{Search: model.Search{
			Query: "newest Go release",
			Sources: []model.Source{
				{Title: "Release History - The Go Programming Language", URL: "https://go.dev/doc/devel/release"},
				{Title: "Go \x1b[31m\u202ered", URL: "https://xn--80ak6aa92e.example/a/long/path/to/a/page/that/does/not/fit?in=one&line=of&forty=columns"},
			},
		}}, event.TurnFinished{Outcome: word.TurnDone})
	},
	"footer-own": func(r *rig) {
		r.emit(session())
		r.app.offers.Surroundings = &around{line: "app on main, 3 changed, tests green since 12:04, and a long rest that does not fit"}
		r.do(r.app.lookAround())
	},
}

func TestDefectScreens(t *testing.T) {
	for name, play := range situations {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 15}} {
			r := newRig(t, size[0], size[1])
			play(r)
			golden.Check(t, fmt.Sprintf("%s-%dx%d.txt", name, size[0], size[1]), r.screen())
		}
	}
}

// TestKeptInTheSettings: one key in the lists of themes, models and efforts uses the selected value and writes
// it to the settings; a model that cannot be used is not written.
func TestKeptInTheSettings(t *testing.T) {
	for _, c := range []struct {
		list, filter, wrote string
		unused, unwritten   error
		says                string
	}{
		{list: "/theme", filter: "light", wrote: "tui.theme=light", says: "kept in ~/config.toml"},
		{list: "/model", filter: "qwen", wrote: "model=ollama/qwen3:8b", says: "kept in ~/config.toml"},
		{list: "/effort", filter: "high", wrote: "reasoning_effort=high", says: "kept in ~/config.toml"},
		{list: "/model", filter: "qwen", unused: errors.New("no key for ollama"), says: "✗ no key for ollama"},
		{list: "/theme", filter: "light", unwritten: errors.New("config.toml: read-only file system"), says: "✗ config.toml: read-only file system"},
	} {
		r, f := offers(t, 80, 24)
		f.err = c.unused
		wrote := ""
		r.app.offers.Extras.Effort = func(context.Context, string) error { return nil }
		r.app.offers.Extras.Setting = func(_ context.Context, key, value string) (string, error) {
			if c.unwritten != nil {
				return "", c.unwritten
			}
			wrote = key + "=" + value
			return "kept in ~/config.toml", nil
		}
		r.slash(c.list)
		r.has("Enter uses it   Ctrl+S uses and keeps it")
		r.typeText(c.filter)
		r.do(r.press("ctrl+s"))
		r.has(c.says)
		if wrote != c.wrote {
			t.Errorf("%s: wrote %q", c.list, wrote)
		}
	}
}

// TestTooLongForTheModel: a message that no request can hold stays in the box, however it is sent; where the
// model's context is not known, it is sent.
func TestTooLongForTheModel(t *testing.T) {
	for _, c := range []struct {
		key     string
		assumed bool
		bytes   int
		sent    int
	}{{"enter", false, 10 << 20, 0}, {"tab", false, 10 << 20, 0}, {"enter", true, 10 << 20, 1}, {"enter", false, 400_000, 1}} {
		r := newRig(t, 80, 24)
		s := session()
		s.Window, s.Assumed = 128_000, c.assumed
		r.emit(s)
		r.app.work.running = c.key == "tab"
		r.app.composer.Paste(strings.Repeat("pasted text\n", c.bytes/12))
		r.press(c.key)
		if got := len(r.turns) + len(r.app.work.queued); got != c.sent {
			t.Errorf("%+v: sent %d", c, got)
		}
		if c.sent == 0 {
			r.has("not sent: the message has about 2.6M tokens, and the model reads 128k")
			if r.app.composer.Empty() {
				t.Errorf("%+v: the text is gone", c)
			}
		}
	}
}

// TestMistypedCommands: a command that is written almost right is not sent to the model, a text that begins
// with a path is, and /exit is /quit.
func TestMistypedCommands(t *testing.T) {
	for _, c := range []struct{ typed, says, sent string }{
		{"/mdoel", "no command /mdoel; /model is one", ""},
		{"/mdoel gpt-5", "no command /mdoel; /model is one", ""},
		{"/compacct the tests", "no command /compacct; /compact is one", ""},
		{"/staus", "no command /staus; /status is one", ""},
		{"/zzz", "no command /zzz; /help lists them", ""},
		{"/tmp is full", "", "/tmp is full"},
		{"/home/ada is full", "", "/home/ada is full"},
	} {
		r, _ := offers(t, 80, 24)
		r.typeText(c.typed)
		r.press("enter")
		if c.says != "" {
			r.has(c.says)
		}
		if got := strings.Join(r.turns, ""); got != c.sent {
			t.Errorf("%s: sent %q", c.typed, got)
		}
	}
	r, _ := offers(t, 80, 24)
	r.typeText("/exit")
	if cmd := r.press("enter"); cmd == nil {
		t.Error("/exit does not leave")
	}
}

// TestOwnCommandIsShown: of a command that the person runs twenty lines are shown, of the model's three.
func TestOwnCommandIsShown(t *testing.T) {
	for _, c := range []struct {
		own         bool
		lines, more int
	}{{true, 20, 0}, {true, 30, 10}, {false, 20, 17}, {false, 4, 0}} {
		r := newRig(t, 80, 60)
		var out strings.Builder
		for i := range c.lines {
			fmt.Fprintf(&out, "line %d.\n", i)
		}
		r.emit(event.ToolStarted{CallID: "a", Tool: "shell", Kind: word.KindCommand, Title: "$ seq", Command: "seq", Own: c.own},
			event.ToolFinished{CallID: "a", Tool: "shell", Kind: word.KindCommand, Title: "$ seq", Outcome: word.OK, Output: out.String()})
		if got := strings.Count(r.screen(), "line "); got != c.lines-c.more {
			t.Errorf("%+v: %d lines\n%s", c, got, r.screen())
		}
		if c.more > 0 {
			r.has(fmt.Sprintf("%d more lines", c.more))
		}
	}
}

// TestTranscriptOpensWhereTheReaderIs: Ctrl+T shows the line that was on top, inside a long answer too.
func TestTranscriptOpensWhereTheReaderIs(t *testing.T) {
	for _, up := range []int{1, 3, 6} {
		r := newRig(t, 80, 24)
		r.emit(session(), event.TurnStarted{Text: "go"})
		var out strings.Builder
		for i := range 200 {
			fmt.Fprintf(&out, "line %d.\n\n", i)
		}
		r.emit(event.MessageFinished{Text: out.String()})
		for range up {
			r.press("pgup")
		}
		var top string
		for _, l := range strings.Split(r.screen(), "\n") {
			if strings.Contains(l, "line ") {
				top = strings.TrimSpace(l)
				break
			}
		}
		r.press("ctrl+t")
		at := strings.Index(r.screen(), top)
		if at < 0 || strings.Count(r.screen()[:at], "line ") > 1 {
			t.Errorf("%d pages up: %s is not on top\n%s", up, top, r.screen())
		}
	}
}
