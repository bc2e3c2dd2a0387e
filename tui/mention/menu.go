package mention

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"codeagent/internal/short"
	"codeagent/tui/keys"
	"codeagent/tui/paint"
	"codeagent/tui/part"
)

const (
	// most is how many files are shown at most.
	most = 8
	// filesFresh is how long a list of the files is used before it is read again, serversFresh how
	// long one of what the servers have.
	filesFresh   = 10 * time.Second
	serversFresh = 30 * time.Second
)

// Sources are where names come from. Without Files nothing is offered; Resources may be nil.
type Sources struct {
	Files     func(context.Context) (names []string, cut bool, err error)
	Resources func(context.Context) ([]string, error)
	Now       func() time.Time
}

// Word is a word with @ under the cursor, from its place on.
type Word struct {
	From  int
	Query string
}

// Name names a file in the message, in place of the word that is there from its place on.
type Name struct {
	From int
	Path string
	// Lines is the part of it that is named: "#20-45"; "": all.
	Lines string
}

// Menu are the files to choose from while a word with @ is typed. Their list is read
// beside what the person does.
type Menu struct {
	// At is the one that is chosen.
	At int
	// Problem is why the files are not listed.
	Problem string

	index *Index
	cut   bool // there are more files than are listed
	// files and resources are what the index has, of the workspace and of MCP servers.
	files, resources []string
	asked            time.Time // when the servers were
	loading          bool
	read             time.Time
	// open: a word with @ is under the cursor; shut: Esc closed it.
	open, shut bool
	word       Word
	lines      string // of the file: "#20-45"; "": all
	named      bool   // it is all of a file's name
	found      []Match
}

// Follow takes the word under the cursor, after every key; ok is false without such a word. It asks for what
// it has to read.
func (f *Menu) Follow(word Word, ok bool, s Sources) part.Intent {
	same := f.word.From == word.From
	switch {
	case !ok || s.Files == nil:
		f.open, f.shut = false, false
		return nil
	case f.open && f.word == word && f.index != nil, f.shut && same:
		return nil
	}
	fresh := f.open && same
	f.open, f.shut, f.word, f.At = true, false, word, 0
	if f.index != nil {
		f.find()
	}
	if f.loading || f.index != nil && (fresh || s.Now().Sub(f.read) < filesFresh) {
		return nil
	}
	return part.All{f.lookForResources(s), f.lookForFiles(s)}
}

func (f *Menu) lookForFiles(s Sources) part.Intent {
	f.loading = true
	resources := f.resources
	return part.Beside(func(ctx context.Context) func() part.Intent {
		list, cut, err := s.Files(ctx)
		index := New(slices.Concat(list, resources))
		return func() part.Intent {
			f.loading, f.read, f.Problem = false, s.Now(), ""
			if err != nil {
				f.Problem = err.Error()
			}
			f.files, f.cut = list, cut
			if !slices.Equal(resources, f.resources) { // they came meanwhile
				index = New(slices.Concat(f.files, f.resources))
			}
			f.indexed(index)
			return nil
		}
	})
}

// lookForResources reads what the servers have, beside the files: a slow server delays no file.
func (f *Menu) lookForResources(s Sources) part.Intent {
	if s.Resources == nil || !f.asked.IsZero() && s.Now().Sub(f.asked) < serversFresh {
		return nil
	}
	f.asked = s.Now()
	return part.Beside(func(ctx context.Context) func() part.Intent {
		list, _ := s.Resources(ctx) // what a server does not list can be written all the same
		return func() part.Intent {
			if slices.Equal(list, f.resources) {
				return nil
			}
			if f.resources = list; f.index != nil {
				f.indexed(New(slices.Concat(f.files, f.resources)))
			}
			return nil
		}
	})
}

func (f *Menu) indexed(index *Index) {
	f.index = index
	f.find()
	f.At = min(f.At, max(len(f.found)-1, 0))
}

// find searches the files, without the one that is named already. Lines are those of a file, "#20-45" or ":20-45",
// if no file has that in its name. Where lines of one are named, no other is offered.
func (f *Menu) find() {
	path := f.word.Query
	f.lines = ""
	f.found = f.index.Find(path, most+1)
	if i := strings.LastIndexAny(path, "#:"); i >= 0 && len(f.found) == 0 && strings.Trim(path[i+1:], "0123456789-") == "" {
		path, f.lines = path[:i], "#"+path[i+1:]
		f.found = f.index.Find(path, most+1)
	}
	is := func(found Match) bool { return found.Path == path }
	f.named = slices.ContainsFunc(f.found, is) && !strings.HasSuffix(path, "/")
	if f.named && f.lines != "" {
		f.found = nil
	}
	f.found = slices.DeleteFunc(f.found, is)
	f.found = f.found[:min(len(f.found), most)]
}

// Key takes a key while files are shown; false: it is for somebody else. word is what is under the
// cursor.
func (f *Menu) Key(do keys.Action, word Word, ok bool) (part.Intent, bool) {
	if !f.open || !ok || word != f.word {
		return nil, false // the text changed by other means than a key
	}
	n := len(f.found)
	switch {
	case do == keys.Back:
		f.open, f.shut = false, true
	case n == 0:
		return nil, false
	case do == keys.Up:
		f.At = (f.At + n - 1) % n
	case do == keys.Down:
		f.At = (f.At + 1) % n
	case do == keys.Queue, do == keys.Send:
		return Name{f.word.From, f.found[f.At].Path, f.lines}, true
	default:
		return nil, false
	}
	return nil, true
}

// View draws the files, the letters that matched marked.
func (f *Menu) View(t *paint.Theme, w int) []string {
	if !f.open {
		return nil
	}
	note := func(text string) []string { return []string{t.Row(w-1, paint.Dim.Span("  "+text))} }
	switch {
	case f.index == nil:
		return note("reading the names of the files …")
	case f.Problem != "":
		return note("files cannot be listed: " + f.Problem)
	case len(f.found) == 0 && f.named:
		return note("add #20-45 to send only those lines")
	case len(f.found) == 0 && f.cut:
		return note(fmt.Sprintf("none of the first %d files matches", f.index.Len()))
	case len(f.found) == 0:
		return note("no file matches")
	}
	var out []string
	for i, match := range f.found {
		mark, s := paint.Text.Span("  "), paint.Text
		if i == f.At {
			mark, s = paint.Accent.Span("› "), paint.Accent.With(paint.Bold)
		}
		out = append(out, t.Row(w-1, append([]paint.Span{mark}, marked(match, s, w-4)...)...))
	}
	if f.cut && len(out) < most {
		out = append(out, note("only the first "+short.Count(f.index.Len(), "name")+" were searched")...)
	}
	return out
}

// marked is a path, its end where it is too long, with what matched in bold.
func marked(match Match, s paint.Style, w int) []paint.Span {
	path, skip := match.Path, 0
	if bytes := 4 * max(w, 1); len(path) > bytes { // a character has at most 4 bytes
		skip = len(path) - bytes
		for skip < len(path) && path[skip]&0xc0 == 0x80 {
			skip++
		}
	}
	for paint.Width(path[skip:]) > max(w-1, 1) {
		skip++
		for skip < len(path) && path[skip]&0xc0 == 0x80 {
			skip++
		}
	}
	var out []paint.Span
	if skip > 0 {
		out = append(out, paint.Dim.Span("…"))
	}
	hit := map[int]bool{}
	for _, at := range match.At {
		hit[at] = true
	}
	for at := skip; at < len(path); {
		to := at + 1
		for to < len(path) && (hit[to] == hit[at] || path[to]&0xc0 == 0x80) {
			to++
		}
		style := s
		if hit[at] && s == paint.Text {
			style = paint.Accent.With(paint.Bold)
		}
		out = append(out, style.Span(path[at:to]))
		at = to
	}
	return out
}
