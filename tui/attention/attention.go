// Package attention calls the person back who looks elsewhere: a bell or a notification
// when a question waits or a turn has ended, the terminal's title, its progress. It
// performs no IO: it says what to write. Start with Attention.Look.
package attention

import (
	"strings"
	"time"

	"codeagent/tui/paint"
)

// Settings are what the person chose. The zero value calls nobody.
type Settings struct {
	// Notify is Auto, Bell, OSC9, OSC777 or Off; Progress is Auto, On or Off.
	Notify, Progress string
	// Title: the terminal's title says what codeagent does.
	Title bool
}

// How the person is called.
const (
	Auto   = "auto"
	Off    = "off"
	On     = "on"
	Bell   = "bell"
	OSC9   = "osc9"
	OSC777 = "osc777"
)

// For replaces Auto by what the terminal of this environment is known to take. What a
// terminal does not know could be printed as text, or shown as a wrong notification.
func (s Settings) For(env func(string) string) Settings {
	program, term := env("TERM_PROGRAM"), env("TERM")
	inside := env("TMUX") != "" || env("STY") != "" || strings.HasPrefix(term, "screen") || strings.HasPrefix(term, "tmux")
	if s.Notify == Auto {
		switch s.Notify = Bell; {
		case inside:
		case program == "iTerm.app" || program == "WezTerm" || program == "ghostty" || term == "xterm-kitty" || strings.HasPrefix(term, "foot"):
			s.Notify = OSC9
		case strings.HasPrefix(term, "rxvt"):
			s.Notify = OSC777
		}
	}
	if s.Progress == Auto {
		s.Progress = Off
		if !inside && (env("WT_SESSION") != "" || env("ConEmuANSI") == "ON" || program == "ghostty" || program == "WezTerm") {
			s.Progress = On
		}
	}
	return s
}

// State is what the screen is doing.
type State struct {
	// Working: a turn runs. Asks is the question in front, nil without one.
	Working bool
	Asks    any
	// Folder is the name of the folder, shown so that sessions can be told apart.
	Folder string
}

// Attention knows whether the person looks.
type Attention struct {
	Settings
	last State
	// focused is what the terminal reported, if it ever did.
	focused, reports bool
	active           time.Time // of the last key
}

// rest is how long no key must have been pressed for the person to count as away where
// the terminal does not report its focus.
const rest = 30 * time.Second

// Focused notes a report of the terminal, Active a key.
func (a *Attention) Focused(on bool)      { a.focused, a.reports = on, true }
func (a *Attention) Active(now time.Time) { a.active = now }

func (a *Attention) away(now time.Time) bool {
	if a.reports {
		return !a.focused
	}
	return now.Sub(a.active) >= rest
}

// Look compares the state with the last one, and returns what calls the person: nothing
// while the person looks.
func (a *Attention) Look(s State, now time.Time) (sequence string) {
	was := a.last
	a.last = s
	if a.active.IsZero() {
		a.active = now // who started it was there
	}
	asks, ended := s.Asks != nil && s.Asks != was.Asks, was.Working && !s.Working && s.Asks == nil
	if !asks && !ended || !a.away(now) {
		return ""
	}
	words := "finished"
	if asks {
		words = "has a question"
	}
	if name := shown(s.Folder); name != "" {
		words += " · " + name
	}
	switch a.Notify {
	case Bell:
		return "\a"
	case OSC9:
		return "\x1b]9;codeagent " + words + "\x1b\\"
	case OSC777:
		return "\x1b]777;notify;codeagent;" + words + "\x1b\\"
	}
	return ""
}

// TitleText is the terminal's title; "": none is set.
func (a *Attention) TitleText() string {
	if !a.Title {
		return ""
	}
	words := "codeagent"
	if name := shown(a.last.Folder); name != "" {
		words = name + " · " + words
	}
	switch {
	case a.last.Asks != nil:
		return "? " + words
	case a.last.Working:
		return "● " + words
	}
	return words
}

// Bar reports whether the terminal shows progress, and whether a question stops it.
func (a *Attention) Bar() (shown, stopped bool) {
	return a.Progress == On && (a.last.Working || a.last.Asks != nil), a.last.Asks != nil
}

// shown is a name without anything that a terminal could obey, and without what
// separates the parts of a sequence. Some terminals end a sequence at the byte 0x9C also where it
// is part of a character, and would print the rest of the name.
func shown(name string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ','
		case strings.IndexByte(string(r), 0x9c) >= 0:
			return '?'
		}
		return r
	}, paint.Show(name))
	return paint.Cut(plain, 40)
}
