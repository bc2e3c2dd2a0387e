package tui

import (
	"cmp"
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/internal/short"
	"codeagent/tui/paint"
	"codeagent/tui/picker"
)

// showSessions is /sessions: the saved conversations of this folder, or of all.
func showSessions(m *app, _ string) tea.Cmd {
	p := picker.New("Sessions of this folder")
	p.None, p.Enter = "no sessions in this folder", "resumes it"
	l := &sessionList{Picker: p, m: m, kept: m.offers.Sessions}
	p.Choose = l.open
	p.Deeds = []picker.Deed{
		{Do: actAll, Key: keyFor(inPicker, actAll), Help: "all folders", All: true, Run: func(picker.Row, string) tea.Cmd {
			l.all = !l.all
			return l.load()
		}},
		{Do: actRename, Key: keyFor(inPicker, actRename), Help: "renames", Writes: func(r picker.Row) string { return r.Text }, Run: func(r picker.Row, title string) tea.Cmd {
			return l.change(func(ctx context.Context) error { return l.kept.Rename(ctx, r.Id, title) })
		}},
		{Do: actRemove, Key: keyFor(inPicker, actRemove), Help: "deletes", Asks: "Delete %s permanently?", Fits: func(r picker.Row) bool { return !r.Mark }, Run: func(r picker.Row, _ string) tea.Cmd {
			return l.change(func(ctx context.Context) error { return l.kept.Delete(ctx, r.Id) })
		}},
	}
	m.panel = list{p}
	return l.load()
}

// sessionList is the picker of /sessions.
type sessionList struct {
	*picker.Picker
	m    *app
	kept Sessions
	all  bool
}

// load lists the sessions.
func (l *sessionList) load() tea.Cmd {
	l.Title, l.Deeds[0].Help = "Sessions of this folder", "all folders"
	if l.all {
		l.Title, l.Deeds[0].Help = "Sessions of all folders", "this folder"
	}
	all, now, home := l.all, l.m.now(), l.m.facts.home
	return l.m.aside(func(ctx context.Context) then {
		list, err := l.kept.List(ctx, all)
		rows := make([]picker.Row, len(list))
		for i, s := range list {
			rows[i] = picker.Row{Id: s.ID, Text: cmp.Or(s.Name, "(no message)"), About: ago(now.Sub(s.Used)) + " · " + short.Size(s.Size), Mark: s.Current}
			rows[i].More = s.Used.Format("2006-01-02 15:04") + "  " + paint.Tilde(s.Folder, home)
		}
		return func(*app) tea.Cmd {
			if all == l.all {
				l.Fill(rows, problem(err))
			}
			return nil
		}
	})
}

// change changes a session and lists them again.
func (l *sessionList) change(deed func(context.Context) error) tea.Cmd {
	return l.m.aside(func(ctx context.Context) then {
		err := deed(ctx)
		return func(*app) tea.Cmd {
			if err != nil {
				l.Problem = err.Error()
				return nil
			}
			return l.load()
		}
	})
}

// open ends the screen; the program then resumes the session.
func (l *sessionList) open(r picker.Row) tea.Cmd {
	m := l.m
	if r.Mark {
		m.panel = nil
		return nil
	}
	if hint := m.work.between("/sessions"); hint != "" {
		return m.say(hint)
	}
	return m.aside(func(ctx context.Context) then {
		err := l.kept.Open(ctx, r.Id)
		return func(*app) tea.Cmd {
			if err != nil {
				l.Problem = err.Error()
				return nil
			}
			return tea.Quit
		}
	})
}

// ago says roughly how long ago something was.
func ago(d time.Duration) string {
	const day = 24 * time.Hour
	for _, unit := range []struct {
		length, below time.Duration
		name          string
	}{{time.Minute, time.Hour, "min"}, {time.Hour, 2 * day, "h"}, {day, 60 * day, "days"}, {30 * day, 2 * 365 * day, "months"}, {365 * day, 1<<63 - 1, "years"}} {
		if d >= time.Minute && d < unit.below {
			return fmt.Sprintf("%d %s ago", d/unit.length, unit.name)
		}
	}
	return "just now"
}
