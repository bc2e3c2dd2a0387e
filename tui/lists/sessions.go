// Package lists holds the lists of the screen to choose from, one a file: sessions, models, jobs,
// servers, permissions, places. Each is a picker made from what it lists. It performs no IO: the
// interfaces do, which are called off the screen's goroutine, one at a time for each, with a context
// that ends with the screen. Their errors are shown unchanged.
package lists

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"codeagent/internal/short"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/picker"
)

// Sessions are the saved conversations.
type Sessions interface {
	// List returns those of this folder, or all, last used first.
	List(ctx context.Context, all bool) ([]Session, error)
	Rename(ctx context.Context, id, title string) error
	Delete(ctx context.Context, id string) error
	// Open makes the program resume that session after the screen has ended, which
	// it does unless there is an error: the folder is gone, or another process
	// writes the session.
	Open(ctx context.Context, id string) error
}

// Session is one saved conversation.
type Session struct {
	ID string
	// Name is its title, or the beginning of its first message.
	Name string
	// First is the beginning of its first message, Branch what was checked out in its folder.
	First, Folder, Branch string
	// Said and Answer are the beginnings of the last message and the last answer; "": not known.
	Said, Answer string
	Used         time.Time
	// Size is its size on disk, in bytes.
	Size int64
	// Current: it is the one on the screen.
	Current bool
}

// OfSessions is /sessions: the saved conversations of this folder, or of all; those with the words of
// text at first. only: a single one is resumed at once.
func OfSessions(s part.Setting, kept Sessions, text string, only bool) *picker.Picker {
	p := picker.New(s.Keys, "Sessions of this folder")
	p.Only = only && text != ""
	p.Paste(text)
	p.None, p.Enter = "no sessions in this folder", "resumes it"
	list := func(all bool) func(context.Context) ([]picker.Row, error) {
		return func(ctx context.Context) ([]picker.Row, error) {
			list, err := kept.List(ctx, all)
			rows := make([]picker.Row, len(list))
			for i, one := range list {
				rows[i] = picker.Row{Id: one.ID, Text: cmp.Or(one.Name, "(no message)"), About: Ago(s.Now().Sub(one.Used)) + " · " + short.Size(one.Size), Mark: one.Current}
				rows[i].More = one.Used.Format("2006-01-02 15:04") + "  " + paint.Tilde(one.Folder, s.Home)
				if one.Branch != "" {
					rows[i].More += " (" + one.Branch + ")"
				}
				if one.Said == "" && one.First != one.Name {
					one.Said = one.First
				}
				if one.Said != "" {
					rows[i].More += "\nyou: " + one.Said
				}
				if one.Answer != "" {
					rows[i].More += "\nmodel: " + one.Answer
				}
			}
			return rows, err
		}
	}
	p.List = list(false)
	p.Choose = func(r picker.Row) part.Intent { // the program then resumes it
		if r.Mark {
			return part.Show{}
		}
		return part.Idle{Name: "/sessions", Then: part.Beside(func(ctx context.Context) func() part.Intent {
			err := kept.Open(ctx, r.Id)
			return func() part.Intent {
				if err != nil {
					p.Problem = err.Error()
					return nil
				}
				return part.Quit{}
			}
		})}
	}
	all := false
	p.Deeds = []picker.Action{
		{Do: keys.All, Help: "all folders", All: true, Run: func(picker.Row, string) part.Intent {
			all = !all
			p.Title, p.Deeds[0].Help, p.List = "Sessions of this folder", "all folders", list(all)
			if all {
				p.Title, p.Deeds[0].Help = "Sessions of all folders", "this folder"
			}
			return p.Load()
		}},
		{Do: keys.Rename, Help: "renames", Label: "title", Saves: "saves", Writes: func(r picker.Row) string { return r.Text }, Change: func(ctx context.Context, r picker.Row, title string) (string, error) {
			return "", kept.Rename(ctx, r.Id, title)
		}},
		{Do: keys.Remove, Help: "deletes", Asks: "Delete %s permanently?", Fits: func(r picker.Row) bool { return !r.Mark }, Change: func(ctx context.Context, r picker.Row, _ string) (string, error) {
			return "", kept.Delete(ctx, r.Id)
		}},
	}
	return p
}

// Ago says roughly how long ago something was.
func Ago(d time.Duration) string {
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
