package tools

import (
	"cmp"
	"context"
	"fmt"
	"sort"
	"strings"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

const listFilesExample = `{"path": "src", "glob": "**/*.go"}`

const (
	// maxListed is how many entries one listing shows.
	maxListed = 1000
	// maxListedBytes bounds the text of a listing.
	maxListedBytes = 64 << 10
	// defaultDepth is the depth of a listing without a glob.
	defaultDepth = 2
)

type listFilesArguments struct {
	Path  string `json:"path,omitempty" jsonschema:"The folder, absolute or relative to the workspace. Default: the workspace."`
	Depth int    `json:"depth,omitempty" jsonschema:"How many levels to go down. Default 2, or all with a glob."`
	Glob  string `json:"glob,omitempty" jsonschema:"Only files that match: *.go, src/**/*.{ts,tsx}, or with ! in front all but those. Relative to path."`
}

type listFilesTool struct{ paths }

func (t *listFilesTool) plan(a listFilesArguments) (*call, error) {
	path, err := t.canonical(cmp.Or(a.Path, "."))
	if err != nil {
		return nil, err
	}
	g, err := newGlob(a.Glob)
	if err != nil {
		return nil, err
	}
	if a.Depth < 0 {
		return nil, fmt.Errorf("the argument \"depth\" must be positive, not %d. Example: %s", a.Depth, listFilesExample)
	}
	if a.Depth == 0 {
		a.Depth = defaultDepth
		if g != nil {
			a.Depth = maxDepth
		}
	}
	title := "list " + t.show(path)
	if a.Glob != "" {
		title += " (" + a.Glob + ")"
	}
	action := approvals.Action{Tool: "list_files", Kind: word.KindRead, Title: oneLine(title), Folder: t.workspace, Paths: []string{path}}
	return &call{action: action, repeats: true, run: func(ctx context.Context, p sandbox.Policy, s Stage) (Result, error) {
		return t.run(ctx, p, s, path, a.Depth, g)
	}}, nil
}

func (t *listFilesTool) run(ctx context.Context, p sandbox.Policy, s Stage, root string, depth int, g *glob) (Result, error) {
	files, refused, err := t.open(ctx, p, s, root)
	if files == nil {
		return refused, err
	}
	defer files.Close()
	var found []entry
	w := &walker{files: files, policy: p, depth: depth, visit: func(e entry) bool {
		if g == nil || e.kind != folderType && g.match(below(root, e.path)) {
			found = append(found, e)
		}
		return len(found) <= maxListed
	}}
	if err := w.walk(ctx, root, rulesAbove(files, t.workspace, root)); err != nil {
		return t.unreadable(ctx, root, err)
	}
	return t.listing(found, w), nil
}

func (t *listFilesTool) listing(found []entry, w *walker) Result {
	more := ""
	if len(found) > maxListed {
		found = found[:maxListed]
	}
	if w.cut {
		more = fmt.Sprintf("only the first %d entries, the upper levels first; narrow it with path or glob", len(found))
	}
	sort.Slice(found, func(i, j int) bool { return comparePaths(found[i].path, found[j].path) < 0 })
	var b strings.Builder
	for i, e := range found {
		if b.Len() > maxListedBytes {
			more = fmt.Sprintf("only the first %d of %d entries are shown; narrow it with path or glob", i, len(found))
			break
		}
		b.WriteString(nameOnLine(t.show(e.path)))
		switch e.kind {
		case folderType:
			b.WriteByte('/')
		case symlinkType:
			b.WriteByte('@')
		}
		b.WriteByte('\n')
	}
	if len(found) == 0 {
		b.WriteString("(nothing)\n")
	}
	unreadable := ""
	if w.unreadable > 0 {
		unreadable = short.Count(w.unreadable, "folder") + " could not be read"
	}
	b.WriteString(notes(more, unreadable, w.rulesNote()))
	return done(strings.TrimSuffix(b.String(), "\n"), short.Count(len(found), "entry"))
}

// nameOnLine writes a file name on one line. It quotes a name that has control characters or
// bytes that are not UTF-8.
func nameOnLine(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }) {
		return fmt.Sprintf("%q", name)
	}
	return name
}
