package tui

import (
	"cmp"
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/internal/short"
)

// showSessions is /sessions: the saved conversations of this folder, or of all.
func showSessions(m *app, _ string) tea.Cmd {
	p := newPicker("Sessions of this folder")
	p.none, p.enter = "no sessions in this folder", "resumes it"
	l := &sessionList{picker: p, m: m, kept: m.offers.Sessions}
	p.choose = l.open
	p.deeds = []deed{
		{do: actAll, key: pickerKey(actAll), help: "all folders", all: true, run: func(row, string) tea.Cmd {
			l.all = !l.all
			return l.load()
		}},
		{do: actRename, key: pickerKey(actRename), help: "renames", writes: func(r row) string { return r.text }, run: func(r row, title string) tea.Cmd {
			return l.change(func(ctx context.Context) error { return l.kept.Rename(ctx, r.id, title) })
		}},
		{do: actRemove, key: pickerKey(actRemove), help: "deletes", asks: "Delete %s permanently?", fits: func(r row) bool { return !r.mark }, run: func(r row, _ string) tea.Cmd {
			return l.change(func(ctx context.Context) error { return l.kept.Delete(ctx, r.id) })
		}},
	}
	m.panel = list{p}
	return l.load()
}

// sessionList is the picker of /sessions.
type sessionList struct {
	*picker
	m    *app
	kept Sessions
	all  bool
}

// load lists the sessions.
func (l *sessionList) load() tea.Cmd {
	l.title, l.deeds[0].help = "Sessions of this folder", "all folders"
	if l.all {
		l.title, l.deeds[0].help = "Sessions of all folders", "this folder"
	}
	all, now, home := l.all, l.m.now(), l.m.facts.home
	return l.m.aside(func(ctx context.Context) then {
		list, err := l.kept.List(ctx, all)
		rows := make([]row, len(list))
		for i, s := range list {
			rows[i] = row{id: s.ID, text: cmp.Or(s.Name, "(no message)"), about: ago(now.Sub(s.Used)) + " · " + short.Size(s.Size), mark: s.Current}
			rows[i].more = s.Used.Format("2006-01-02 15:04") + "  " + tilde(s.Folder, home)
		}
		return func(*app) tea.Cmd {
			if all == l.all {
				l.fill(rows, problem(err))
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
				l.problem = err.Error()
				return nil
			}
			return l.load()
		}
	})
}

// open ends the screen; the program then resumes the session.
func (l *sessionList) open(r row) tea.Cmd {
	m := l.m
	if r.mark {
		m.panel = nil
		return nil
	}
	if no, ok := m.between("/sessions"); !ok {
		return no
	}
	return m.aside(func(ctx context.Context) then {
		err := l.kept.Open(ctx, r.id)
		return func(*app) tea.Cmd {
			if err != nil {
				l.problem = err.Error()
				return nil
			}
			return tea.Quit
		}
	})
}

// ago says roughly how long ago something was.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	switch days := int(d.Hours()) / 24; {
	case days < 60:
		return fmt.Sprintf("%d days ago", days)
	case days < 2*365:
		return fmt.Sprintf("%d months ago", days/30)
	default:
		return fmt.Sprintf("%d years ago", days/365)
	}
}
