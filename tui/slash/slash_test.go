package slash

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/tuitest"
)

func offered() Commands {
	run := func(name string) func(string) part.Intent {
		return func(argument string) part.Intent { return part.Say(name + " " + argument) }
	}
	return Commands{
		{Name: "status", Help: "how it stands", Run: run("status")},
		{Name: "sessions", Help: "earlier ones", Run: run("sessions")},
		{Name: "model", Takes: "[name]", Help: "another one", Run: run("model")},
		{Name: "quit", Help: "leave", Run: run("quit")},
	}
}

// What a message calls, or what is said of it.
func TestCalled(t *testing.T) {
	for text, want := range map[string]string{
		"/status": "status ", "/model gpt-5": "model gpt-5", "/exit": "quit ", "status": "", "/tmp is full": "", "/status now": "",
		"/statsu": "no command /statsu; /status is one", "/modl x": "no command /modl; /model is one", "/nothing": "no command /nothing; /help lists them", "/a/b": "",
	} {
		got := offered().Unknown(text)
		if c, argument, ok := offered().Called(text); ok {
			got = string(c.Run(argument).(part.Say))
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// The keys of the menu choose, complete and send; others are for the message.
func TestMenu(t *testing.T) {
	var n Menu
	shown := func(want ...string) {
		t.Helper()
		rows, at := n.View(paint.New(true), 60, "/s", offered)
		var got []string
		for i, r := range rows {
			name, _, _ := strings.Cut(strings.TrimLeft(tuitest.Stripped([]string{r}), "› "), " ")
			if i == at {
				name += "*"
			}
			got = append(got, name)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("shown: %q, want %q", got, want)
		}
	}
	press := func(k tea.Key, want part.Intent, taken bool) {
		t.Helper()
		if got, ok := n.Key(k, keys.Standard(), "/s", offered); got != want || ok != taken {
			t.Errorf("%s: %v %v, want %v %v", k.Keystroke(), got, ok, want, taken)
		}
	}
	shown("/status*", "/sessions")
	press(tea.Key{Code: tea.KeyDown}, nil, true)
	shown("/status", "/sessions*")
	press(tea.Key{Code: tea.KeyTab}, Written{Text: "/sessions"}, true)
	press(tea.Key{Code: 't', Text: "t"}, nil, false)
	shown("/status*", "/sessions")
	press(tea.Key{Code: tea.KeyUp}, nil, true)
	press(tea.Key{Code: tea.KeyEnter}, Written{"/sessions", true}, true)
	press(tea.Key{Code: tea.KeyF5}, nil, false)
	if _, taken := n.Key(tea.Key{Code: tea.KeyEnter}, keys.Standard(), "s", offered); taken {
		t.Error("the menu takes a key with no choices")
	}
}

// A command that needs words is written for them, and sent with them.
func TestNeedsWords(t *testing.T) {
	all := func() Commands {
		return Commands{{Name: "rename", Takes: "title"}, {Name: "review", Takes: "[of] [more]"}}
	}
	for typed, want := range map[string]any{"/re": Written{Text: "/rename "}, "/rename": Written{Text: "/rename "}, "/rev": Written{"/review", true}, "/rename x": nil} {
		var n Menu
		if got, _ := n.Key(tea.Key{Code: tea.KeyEnter}, keys.Standard(), typed, all); got != want {
			t.Errorf("Enter after %s: %v, want %v", typed, got, want)
		}
	}
}
