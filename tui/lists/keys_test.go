package lists

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/keys"
	"codeagent/tui/page"
	"codeagent/tui/part"
	"codeagent/tui/picker"
)

// log is what a list wanted, and what it had done.
type log []string

func (l *log) say(format string, args ...any) { *l = append(*l, fmt.Sprintf(format, args...)) }

// do does what a list wants.
func (l *log) do(intent part.Intent) {
	switch w := intent.(type) {
	case part.All:
		for _, one := range w {
			l.do(one)
		}
	case part.Beside:
		l.do(w(context.Background())())
	case part.Idle:
		l.say("%s between turns", w.Name)
		l.do(w.Then)
	case part.Show:
		switch over := w.Overlay.(type) {
		case nil:
			l.say("closes")
		case *page.Page:
			l.say("shows %s", over.Title)
		}
	case part.Quit:
		l.say("quits")
	case part.Act:
		l.say("acts: %s", keys.Action(w))
	case part.Say:
		l.say("says %s", w)
	case part.Note:
		if w != "" {
			l.say("notes %s", w)
		}
	}
}

type sessions struct{ *log }

func (s sessions) List(_ context.Context, all bool) ([]Session, error) {
	list := []Session{{ID: "a", Name: "now", Current: true}, {ID: "b", Name: "before"}, {ID: "gone"}}
	if all {
		list = append(list, Session{ID: "far", Name: "elsewhere"})
	}
	return list, nil
}
func (s sessions) Rename(_ context.Context, id, title string) error {
	s.say("renames %s to %s", id, title)
	return nil
}
func (s sessions) Delete(_ context.Context, id string) error { s.say("deletes %s", id); return nil }
func (s sessions) Open(_ context.Context, id string) error {
	if s.say("opens %s", id); id == "gone" {
		return errors.New("the folder is gone")
	}
	return nil
}

type jobs struct{ *log }

func (jobs) List() []Job {
	return []Job{{ID: "1", Command: "make", Running: true}, {ID: "2", Command: "true"}}
}
func (jobs) Output(string, int) ([]byte, error)        { return nil, nil }
func (j jobs) Kill(_ context.Context, id string) error { j.say("kills %s", id); return nil }
func (jobs) SendBack() (int, error)                    { return 0, nil }
func (jobs) File(context.Context, string, []byte, int64) (int, int64, error) {
	return 0, 0, nil
}

type servers struct{ *log }

func (servers) List() []picker.Row {
	return []picker.Row{{Id: "db", Text: "db"}, {Id: "bad", Text: "bad"}}
}
func (servers) Page(string) string { return "" }
func (s servers) Restart(_ context.Context, name string) error {
	if s.say("restarts %s", name); name == "bad" {
		return errors.New("exit 1")
	}
	return nil
}

type permissions struct{ *log }

func (permissions) List(context.Context) ([]picker.Row, error) {
	return []picker.Row{{Id: "g", Text: "write ~/.npm"}}, nil
}
func (p permissions) Revoke(_ context.Context, id string) (string, error) {
	p.say("revokes %s", id)
	return "it is closed", nil
}

// TestKeys: what each key of each list does.
func TestKeys(t *testing.T) {
	set := part.Setting{Keys: keys.Standard(), Now: func() time.Time { return time.Unix(0, 0) }, Home: "/home/ada"}
	var l log
	lists := map[string]func() *picker.Picker{
		"sessions": func() *picker.Picker { return OfSessions(set, sessions{&l}, "", false) },
		"jobs":     func() *picker.Picker { return OfJobs(set, jobs{&l}) },
		"servers":  func() *picker.Picker { return OfServers(set, servers{&l}) },
		"permissions": func() *picker.Picker {
			return OfPermissions(set, permissions{&l}, func() string { return "ask" }, &page.Page{Title: "Permissions"})
		},
		"places": func() *picker.Picker {
			return OfPlaces(set, "why", []picker.Row{{Id: "/w"}}, func(name string) { l.say("chose %s", name) })
		},
		"values": func() *picker.Picker {
			p := OfValues(set, "Themes", "tui.theme", func(_ context.Context, key, value string) (string, error) { return key + "=" + value, nil }, func(value string, keep Keep) part.Intent {
				if keep != nil {
					value, _ = keep(context.Background())
				}
				return part.Say(value)
			})
			p.Fill([]picker.Row{{Id: "light", Text: "light"}})
			return p
		},
	}
	press := map[string]tea.Key{
		"enter": {Code: tea.KeyEnter}, "down": {Code: tea.KeyDown}, "tab": {Code: tea.KeyTab}, "esc": {Code: tea.KeyEscape}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
		"ctrl+r": {Code: 'r', Mod: tea.ModCtrl}, "ctrl+s": {Code: 's', Mod: tea.ModCtrl}, "ctrl+x": {Code: 'x', Mod: tea.ModCtrl},
	}
	for _, c := range []struct{ list, keys, want string }{
		{"sessions", "enter", "closes"},
		{"sessions", "down enter", "/sessions between turns; opens b; quits"},
		{"sessions", "down down enter", "/sessions between turns; opens gone; problem: the folder is gone"},
		{"sessions", "tab e l s enter", "/sessions between turns; opens far; quits"},
		{"sessions", "tab tab e l s enter", ""},
		{"sessions", "ctrl+x y", ""}, // the current one stays
		{"sessions", "down ctrl+x n", ""},
		{"sessions", "down ctrl+x y", "deletes b"},
		{"sessions", "down ctrl+r ! enter", "renames b to before!"},
		{"sessions", "down ctrl+r ! esc enter", "/sessions between turns; opens b; quits"},
		{"sessions", "esc", "closes"},
		{"jobs", "enter", "shows make"},
		{"jobs", "ctrl+x enter", "kills 1"},
		{"jobs", "down ctrl+x y", ""}, // it has ended
		{"servers", "enter", "shows MCP server db"},
		{"servers", "ctrl+r", "says restarting db …; restarts db; says db was restarted"},
		{"servers", "down ctrl+r", "says restarting bad …; restarts bad; says bad did not start: exit 1"},
		{"permissions", "enter", "shows Permissions"},
		{"permissions", "tab", "shows Permissions"},
		{"permissions", "ctrl+x", "revokes g; notes it is closed"},
		{"permissions", "shift+tab", "acts: " + string(keys.Mode)},
		{"places", "enter", "chose /w; quits; problem: why"},
		{"places", "down enter s r c enter", "chose /home/ada/src; quits"},
		{"values", "enter", "closes; says light"},
		{"values", "ctrl+s", "closes; says tui.theme=light"},
	} {
		l = nil
		p := lists[c.list]()
		l.do(p.Load())
		for name := range strings.FieldsSeq(c.keys) {
			k, named := press[name]
			if !named {
				k = tea.Key{Code: []rune(name)[0], Text: name}
			}
			intent, _ := p.Key(k)
			l.do(intent)
		}
		if p.Problem != "" {
			l.say("problem: %s", p.Problem)
		}
		if got := strings.Join(slices.Clone(l), "; "); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.list, c.keys, got, c.want)
		}
	}
}

// TestResumeByWords: the only session with the words is resumed at once; several are listed.
func TestResumeByWords(t *testing.T) {
	set := part.Setting{Keys: keys.Standard(), Now: func() time.Time { return time.Unix(0, 0) }}
	for text, want := range map[string]bool{"bef": true, "": false, "o": false, "nowhere": false, "0 B": false} {
		var l log
		p := OfSessions(set, sessions{&l}, text, true)
		then := p.Load().(part.Beside)(context.Background())()
		if idle, ok := then.(part.Idle); ok != want {
			t.Errorf("%q: %#v", text, then)
		} else if ok {
			idle.Then.(part.Beside)(context.Background())()
			if !strings.Contains(strings.Join(l, " "), "opens b") {
				t.Errorf("%q: %q", text, l)
			}
		}
		if again := p.Load().(part.Beside)(context.Background())(); again != nil {
			t.Errorf("%q: chosen again: %#v", text, again)
		}
	}
}
