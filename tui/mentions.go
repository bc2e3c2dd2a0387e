package tui

import (
	"context"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"codeagent/internal/short"
	"codeagent/tui/keys"
	"codeagent/tui/mention"
	"codeagent/tui/paint"
)

const (
	// mentionRows is how many files are shown at most.
	mentionRows = 8
	// filesFresh is how long a list of the files is used before it is read again.
	filesFresh = 10 * time.Second
)

// mentions are the files to choose from while a word with @ is typed. Their list is read
// beside what the person does.
type mentions struct {
	index *mention.Index
	cut   bool // there are more files than are listed
	// files and resources are what the index has, of the workspace and of MCP servers.
	files, resources []string
	asked            time.Time // when the servers were
	loading          bool
	read             time.Time
	problem          string
	// open: a word with @ is under the cursor, from its place on; shut: Esc closed it.
	open, shut bool
	from       int
	query      string
	found      []mention.Match
	at         int // of found
}

// lookUp follows the word under the cursor, after every key. The command reads the files.
func lookUp(m *app) tea.Cmd {
	f := &m.menu.files
	from, query, ok := m.composer.Mention()
	switch {
	case !ok || m.offers.Writing.Files == nil || m.composer.Normal():
		f.open, f.shut = false, false
		return nil
	case f.open && f.from == from && f.query == query && f.index != nil, f.shut && f.from == from:
		return nil
	}
	fresh := f.open && f.from == from
	f.open, f.shut, f.from, f.query, f.at = true, false, from, query, 0
	if f.index != nil {
		f.find()
	}
	if f.loading || f.index != nil && (fresh || m.now().Sub(f.read) < filesFresh) {
		return nil
	}
	f.loading = true
	read, resources := m.offers.Writing.Files, f.resources
	return tea.Batch(lookForResources(m), m.aside(func(ctx context.Context) then {
		list, cut, err := read(ctx)
		index := mention.New(slices.Concat(list, resources))
		return func(m *app) tea.Cmd {
			f := &m.menu.files
			f.loading, f.read, f.problem = false, m.now(), problem(err)
			f.files, f.cut = list, cut
			if !slices.Equal(resources, f.resources) { // they came meanwhile
				index = mention.New(slices.Concat(f.files, f.resources))
			}
			f.indexed(index)
			return nil
		}
	}))
}

// lookForResources reads what the servers have, beside the files: a slow server delays no file.
func lookForResources(m *app) tea.Cmd {
	offers, f := m.offers.Extras.ServerOffers, &m.menu.files
	if offers == nil || !f.asked.IsZero() && m.now().Sub(f.asked) < servedFresh {
		return nil
	}
	f.asked = m.now()
	return m.aside(func(ctx context.Context) then {
		list, _ := offers.Resources(ctx) // what a server does not list can be written all the same
		return func(m *app) tea.Cmd {
			f := &m.menu.files
			if slices.Equal(list, f.resources) {
				return nil
			}
			if f.resources = list; f.index != nil {
				f.indexed(mention.New(slices.Concat(f.files, f.resources)))
			}
			return nil
		}
	})
}

func (f *mentions) indexed(index *mention.Index) {
	f.index = index
	f.find()
	f.at = min(f.at, max(len(f.found)-1, 0))
}

// find searches the files, without the one that is named already.
func (f *mentions) find() {
	f.found = slices.DeleteFunc(f.index.Find(f.query, mentionRows+1), func(found mention.Match) bool { return found.Path == f.query })
	f.found = f.found[:min(len(f.found), mentionRows)]
}

// press takes a key while files are shown; false: it is for somebody else.
func (f *mentions) press(m *app, do keys.Action) bool {
	if from, query, ok := m.composer.Mention(); !f.open || !ok || from != f.from || query != f.query {
		return false // the text changed by other means than a key
	}
	n := len(f.found)
	switch {
	case do == keys.Back:
		f.open, f.shut = false, true
	case n == 0:
		return false
	case do == keys.Up:
		f.at = (f.at + n - 1) % n
	case do == keys.Down:
		f.at = (f.at + 1) % n
	case do == keys.Queue, do == keys.Send:
		m.composer.Name(f.from, f.found[f.at].Path)
	default:
		return false
	}
	return true
}

// view draws the files, the letters that matched marked.
func (f *mentions) view(t *paint.Theme, w int) []string {
	if !f.open {
		return nil
	}
	note := func(text string) []string { return []string{t.Row(w-1, paint.Dim.Span("  "+text))} }
	switch {
	case f.index == nil:
		return note("reading the names of the files …")
	case f.problem != "":
		return note("files cannot be listed: " + f.problem)
	case len(f.found) == 0 && f.cut:
		return note(fmt.Sprintf("none of the first %d files matches", f.index.Len()))
	case len(f.found) == 0:
		return note("no file matches")
	}
	var out []string
	for i, match := range f.found {
		mark, s := paint.Text.Span("  "), paint.Text
		if i == f.at {
			mark, s = paint.Accent.Span("› "), paint.Accent.With(paint.Bold)
		}
		out = append(out, t.Row(w-1, append([]paint.Span{mark}, marked(match, s, w-4)...)...))
	}
	if f.cut && len(out) < mentionRows {
		out = append(out, note("only the first "+short.Count(f.index.Len(), "name")+" were searched")...)
	}
	return out
}

// marked is a path, its end where it is too long, with what matched in bold.
func marked(match mention.Match, s paint.Style, w int) []paint.Span {
	path, skip := match.Path, 0
	if most := 4 * max(w, 1); len(path) > most { // a character has at most 4 bytes
		skip = len(path) - most
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
