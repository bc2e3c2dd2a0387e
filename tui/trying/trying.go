// Package trying is what the screen shows of a command on a draft: what it changed, and the choice of what is kept.
// It performs no IO: Drafts does. Start with Show; choose.go is the choice by file and hunk.
//
// Nothing is kept but by the row that says so. Esc decides later: the draft stays, and Again shows it.
package trying

import (
	"context"
	"fmt"
	"strings"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/internal/visible"
	"codeagent/sandbox"
	"codeagent/tui/diff"
	"codeagent/tui/page"
	"codeagent/tui/paint"
	"codeagent/tui/part"
	"codeagent/tui/picker"
)

// Name is what the person types before a command.
const Name = "!!"

// Drafts runs commands on drafts.
type Drafts interface {
	// Try runs a command on a draft, like a turn, and shows its output. Nil: it did not run, which was said.
	Try(ctx context.Context, command string) (*Tried, error)
	// Last is what the person has not decided about; nil: nothing.
	Last(ctx context.Context) (*Tried, error)
}

// Draft is decided about once. Both are called while no turn runs.
type Draft interface {
	// Keep keeps the chosen changes, and drops the others unless some of the chosen could not be kept.
	Keep(ctx context.Context, chosen []Choice) (Report, error)
	Drop(ctx context.Context) error
}

// Tried is a command on a draft: what it changed, deletions first.
type Tried struct {
	Draft
	ID, Command string
	Changes     []Change
	// Session: the session works on the draft. Once it is decided about, the screen ends, for another one on the files.
	Session bool
}

// Change is one entry that it changed.
type Change struct {
	event.FileChange
	// Note is more about it: where a link leads, a change of permissions. Why says why it cannot be kept.
	Note, Why string
	// Hunks are the parts of a text, if it has several.
	Hunks []Hunk
}

// Hunk is a part: its first line, and its lines with their signs.
type Hunk struct {
	At    int
	Lines []string
}

// Choice is what is kept of a change: all of it, or some of its hunks.
type Choice struct {
	All   bool
	Hunks []bool
}

// Report is what was kept, and what could not be.
type Report struct {
	Kept int
	Left []Left
}

// Left is a path that could not be kept, and why.
type Left struct{ Path, Why string }

// Screen is what the pages get of the screen.
type Screen struct{ part.Setting }

// Again shows what is not decided.
func Again(s Screen, d Drafts) part.Intent {
	return part.Idle{Name: Name, Then: part.Try(func(ctx context.Context) (part.Intent, error) {
		x, err := d.Last(ctx)
		if err != nil || x == nil || len(x.Changes) == 0 {
			return part.Say(Name + " and a command runs it on a draft; then you choose what to keep"), err
		}
		return s.Show(x), nil
	})}
}

// Review is /draft of a session that works on a draft. how: "keep" and "drop" ask nothing.
func Review(s Screen, d Drafts, how string) part.Intent {
	return part.Idle{Name: "/draft", Then: part.Try(func(ctx context.Context) (part.Intent, error) {
		x, err := d.Last(ctx)
		switch {
		case err != nil || x == nil:
			return nil, err
		case how == "drop":
			return s.drop(x), nil
		case len(x.Changes) == 0:
			return part.Say("nothing has changed on the draft; /draft drop leaves it"), nil
		case how == "keep":
			return s.keep(x, x.everything()), nil
		case how != "":
			return part.Say("/draft shows the changes, /draft keep keeps all, /draft drop drops all"), nil
		}
		return s.Show(x), nil
	})}
}

// name is what shows the draft again.
func (x *Tried) name() string {
	if x.Session {
		return "/draft"
	}
	return Name
}

// everything chooses all changes.
func (x *Tried) everything() []Choice {
	all := make([]Choice, len(x.Changes))
	for i := range all {
		all[i].All = true
	}
	return all
}

// Told is the line of the transcript after the command.
func (s Screen) Told(x *Tried) part.Intent {
	if len(x.Changes) == 0 {
		return part.Note("the command changed no file")
	}
	return part.Note("on a draft: " + x.Counts() + "; nothing of it is in your files yet. " + Name + " shows it, and asks what to keep")
}

// Show shows what the command changed; Enter asks what to keep.
func (s Screen) Show(x *Tried) part.Intent {
	p := &page.Page{Title: "Draft", Keys: s.Keys, Enter: "chooses what to keep"}
	p.Draw = page.Once(func(t *paint.Theme, w int) []string { return s.draw(x, t, w) })
	p.Accept = func() part.Intent { return part.Show{Overlay: s.what(x, p)} }
	return part.Show{Overlay: p}
}

// what chooses between all, some and nothing.
func (s Screen) what(x *Tried, under part.Overlay) *picker.Picker {
	p := picker.New(s.Keys, "Keep what “"+paint.Cut(x.Command, 40)+"” changed?")
	p.Under, p.Enter, p.Numbered = under, "chooses", true
	p.Fill([]picker.Row{
		{Id: "all", Text: "Keep all", Enter: "keeps all", More: x.Counts() + ". /undo takes it back."},
		{Id: "some", Text: "Keep some", Enter: "chooses files and parts of texts", More: "Nothing is kept before you have chosen."},
		{Id: "none", Text: "Drop", Enter: "drops all", More: "Your files stay as they are. The draft is removed."},
	})
	p.Choose = func(r picker.Row) part.Intent {
		switch r.Id {
		case "all":
			return s.keep(x, x.everything())
		case "some":
			return part.Show{Overlay: s.some(x, p)}
		}
		return s.drop(x)
	}
	return p
}

func (s Screen) drop(x *Tried) part.Intent {
	return part.Turn{Name: x.name(), Doing: "Dropping", Work: func(ctx context.Context) (func() part.Intent, error) {
		err := x.Drop(ctx)
		return func() part.Intent {
			if x.Session && err == nil {
				return part.Quit{}
			}
			return part.Note("dropped: " + x.Counts())
		}, err
	}}
}

// mostLeft is how many changes are named that could not be kept.
const mostLeft = 20

func (s Screen) keep(x *Tried, chosen []Choice) part.Intent {
	return part.Turn{Name: x.name(), Doing: "Keeping", Work: func(ctx context.Context) (func() part.Intent, error) {
		r, err := x.Keep(ctx, chosen)
		said := part.All{}
		if err == nil || r.Kept > 0 {
			words := fmt.Sprintf("kept %d of %s", r.Kept, short.Count(len(x.Changes), "change"))
			if r.Kept > 0 {
				words += "; /undo takes it back"
			}
			said = append(said, part.Note(words))
		}
		for i, l := range r.Left {
			text := "not kept: " + s.named(l.Path) + ": " + l.Why
			if i == mostLeft {
				text = "not kept: " + short.Count(len(r.Left)-i, "more change")
			}
			if i <= mostLeft {
				said = append(said, part.Line{Level: word.LevelWarning, Text: text})
			}
		}
		if len(r.Left) > 0 {
			said = append(said, part.Note("what was not kept stays in the draft: "+x.name()+" shows it again"))
		}
		return func() part.Intent {
			if x.Session && err == nil && len(r.Left) == 0 {
				return part.Quit{} // the next screen says it
			}
			return said
		}, err
	}}
}

// Counts counts the changes: "2 deleted, 1 changed, 3 new".
func (x *Tried) Counts() string {
	return sandbox.CountKinds(x.Changes, func(c Change) sandbox.ChangeKind { return c.Kind })
}

// mostNamed is how many names the tree has. Deletions are not in it: each of them is listed.
const mostNamed = 1000

func (s Screen) draw(x *Tried, t *paint.Theme, w int) []string {
	out := t.Wrap(w, paint.Strong.Span(x.Counts()))
	out = append(out, t.Wrap(w, paint.Dim.Span("Not in your files yet. Esc keeps nothing; "+x.name()+" shows this again."))...)
	gone, rest := s.Parts(x, t, w)
	out = append(append(append(out, gone...), rest...), "")
	out = append(out, t.Wrap(w, paint.Dim.Span("changed by "), paint.Text.Span(paint.Cut(x.Command, 200)))...)
	return append(out, t.Wrap(w, paint.Dim.Span("The draft stays for a week: codeagent try --draft "+x.ID))...)
}

// Parts draws the deletions, and all other changes.
func (s Screen) Parts(x *Tried, t *paint.Theme, w int) (deleted, out []string) {
	head := func(text string, n int, style paint.Style) {
		out = append(append(out, ""), t.Wrap(w, style.With(paint.Bold).Span(fmt.Sprintf("%s: %d", text, n)))...)
	}
	var gone, left, rest []Change
	var texts []event.FileChange
	for _, c := range x.Changes {
		if c.Why != "" {
			left = append(left, c)
		}
		if c.Kind == sandbox.Deleted {
			gone = append(gone, c)
			continue
		}
		rest = append(rest, c)
		if c.Diff != "" {
			c.FileChange.Path = s.named(c.Path)
			texts = append(texts, c.FileChange)
		}
	}
	if len(gone) > 0 {
		head("Deleted", len(gone), paint.Bad)
		for _, c := range gone {
			out = append(out, t.Hang(w, paint.Gone.Span("  − "), paint.Text.Span(s.named(c.Path)), paint.Dim.Span(after(c.Note)))...)
		}
		deleted, out = out, nil
	}
	if len(rest) > 0 {
		head("Changed and new", len(rest), paint.Good)
		out = append(out, s.tree(t, w, rest[:min(len(rest), mostNamed)])...)
		if n := len(rest) - mostNamed; n > 0 {
			out = append(out, t.Row(w, paint.Dim.Span("  and "+short.Count(n, "more name"))))
		}
	}
	if len(left) > 0 {
		head("Cannot be kept", len(left), paint.Warn)
		for _, c := range left {
			out = append(out, t.Hang(w, paint.Warn.Span("  ▲ "), paint.Text.Span(s.named(c.Path)), paint.Dim.Span(after(c.Why)))...)
		}
	}
	if len(texts) > 0 {
		out = append(append(out, ""), diff.Lines(t, w, diff.Of(texts, s.Home))...)
	}
	return deleted, out
}

// tree draws names below the folders that they share.
func (s Screen) tree(t *paint.Theme, w int, list []Change) (out []string) {
	var in []string // the folders of the name before
	for _, c := range list {
		parts := strings.Split(s.named(c.Path), "/")
		dirs := parts[:len(parts)-1]
		same := 0
		for same < min(len(in), len(dirs)) && in[same] == dirs[same] {
			same++
		}
		for i := same; i < len(dirs); i++ {
			out = append(out, t.Row(w, paint.Dim.Span(deep(i)+dirs[i]+"/")))
		}
		in = dirs
		spans := []paint.Span{paint.Text.Span(parts[len(parts)-1])}
		if c.Added+c.Removed > 0 {
			spans = append(append(spans, paint.Text.Span("  ")), diff.Count(c.FileChange)...)
		}
		out = append(out, t.Hang(w, paint.Dim.Span(deep(len(dirs))+sign(c.Kind)+" "), append(spans, paint.Dim.Span(after(c.Note)))...)...)
	}
	return out
}

func deep(n int) string { return strings.Repeat("  ", min(n, 8)+1) }

func after(note string) string {
	if note == "" {
		return ""
	}
	return "  " + note
}

func sign(kind sandbox.ChangeKind) string {
	return map[sandbox.ChangeKind]string{sandbox.Added: "+", sandbox.Deleted: "−"}[kind] + map[bool]string{true: "~"}[kind == sandbox.Updated]
}

// named is a path as it is shown.
func (s Screen) named(path string) string { return visible.Line(s.Named(path)) }
