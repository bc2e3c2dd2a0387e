package tui

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"
)

// sessions is /sessions: the kept conversations, of this folder first.
func (m *app) sessions(string) tea.Cmd {
	p := newPicker("Sessions of this folder")
	p.none, p.enter = "no session has been kept here", "goes on with it"
	l := &sessionList{picker: p, kept: m.offers.Sessions}
	p.choose = l.open
	p.deeds = []deed{
		{do: actAll, help: "all folders", all: true, run: func(m *app, _ row, _ string) tea.Cmd {
			l.all = !l.all
			return l.load(m)
		}},
		{do: actRename, help: "renames", writes: func(r row) string { return r.text }, run: func(m *app, r row, title string) tea.Cmd {
			return l.change(m, func(ctx context.Context) error { return l.kept.Rename(ctx, r.id, title) })
		}},
		{do: actRemove, help: "deletes", asks: "Delete %s for good?", fits: func(r row) bool { return !r.mark }, run: func(m *app, r row, _ string) tea.Cmd {
			return l.change(m, func(ctx context.Context) error { return l.kept.Delete(ctx, r.id) })
		}},
	}
	m.panel = p
	return l.load(m)
}

// sessionList is the picker of /sessions.
type sessionList struct {
	*picker
	kept Sessions
	all  bool
}

// load lists the sessions.
func (l *sessionList) load(m *app) tea.Cmd {
	l.title, l.deeds[0].help = "Sessions of this folder", "all folders"
	if l.all {
		l.title, l.deeds[0].help = "Sessions of all folders", "this folder"
	}
	all, now, home := l.all, m.now(), m.home
	return m.aside(func(ctx context.Context) then {
		list, err := l.kept.List(ctx, all)
		rows := make([]row, len(list))
		for i, s := range list {
			rows[i] = row{id: s.ID, text: firstOf(s.Name, "(no message)"), about: ago(now.Sub(s.Used)) + " · " + size(s.Size), mark: s.Current}
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

// change does something about a session and lists them anew.
func (l *sessionList) change(m *app, deed func(context.Context) error) tea.Cmd {
	return m.aside(func(ctx context.Context) then {
		err := deed(ctx)
		return func(m *app) tea.Cmd {
			if err != nil {
				l.problem = err.Error()
				return nil
			}
			return l.load(m)
		}
	})
}

// open ends the screen, to go on with another session.
func (l *sessionList) open(m *app, r row) tea.Cmd {
	if r.mark {
		m.panel = nil
		return nil
	}
	if no, ok := m.between("another session"); !ok {
		return no
	}
	return m.aside(func(ctx context.Context) then {
		err := l.kept.Open(ctx, r.id)
		return func(m *app) tea.Cmd {
			if err != nil {
				l.problem = err.Error()
				return nil
			}
			return m.quit()
		}
	})
}

// ago says how long something is past, roughly.
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

// size writes a number of bytes shortly.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
