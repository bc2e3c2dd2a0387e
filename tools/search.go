package tools

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/exec/worker"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

const searchExample = `{"pattern": "func \\w+Handler\\(", "glob": "*.go"}`

const (
	// defaultMatches and mostMatches bound the lines that one search returns.
	defaultMatches = 200
	mostMatches    = 1000
	// matchBytes is how many bytes of a line are shown.
	matchBytes = 300
	// searchBytes bounds the text of a result.
	searchBytes = 64 << 10
	// searchedFile is the largest file that is searched.
	searchedFile = 16 << 20
)

type searchArguments struct {
	Pattern    string `json:"pattern" jsonschema:"The regular expression. Escape . ( [ { and the like to search for them as they are."`
	Path       string `json:"path,omitempty" jsonschema:"The folder or file to search, absolute or relative to the workspace. Default: the workspace."`
	Glob       string `json:"glob,omitempty" jsonschema:"Only files that match: *.go, src/**/*.{ts,tsx}, or with ! in front all but those. Relative to path."`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"Do not tell upper from lower case."`
	Max        int    `json:"max,omitempty" jsonschema:"How many matching lines to return at most. Default 200, at most 1000."`
}

type searchTool struct{ paths }

// query holds the checked arguments of a search.
type query struct {
	root    string
	pattern string
	glob    *glob
	max     int
}

// found is the result of a search.
type found struct {
	matches []worker.Match
	// more: there may be matches beyond these.
	more bool
	// remarks say what was left out.
	remarks []string
}

func (t *searchTool) plan(a searchArguments) (*call, error) {
	q, err := t.query(a)
	if err != nil {
		return nil, err
	}
	title := "search " + show(a.Pattern) + " in " + t.show(q.root)
	if a.Glob != "" {
		title += " (" + a.Glob + ")"
	}
	action := approvals.Action{Tool: "search", Kind: word.KindRead, Title: oneLine(title), Folder: t.workspace, Paths: []string{q.root}}
	return &call{action: action, repeats: true, run: func(ctx context.Context, p sandbox.Policy, s Stage) (Result, error) {
		return t.run(ctx, p, s, q)
	}}, nil
}

func (t *searchTool) query(a searchArguments) (query, error) {
	q := query{pattern: a.Pattern, max: defaultMatches}
	switch {
	case a.Pattern == "":
		return q, fmt.Errorf("the argument \"pattern\" is empty. Example: %s", searchExample)
	case len(a.Pattern) > 4096:
		return q, fmt.Errorf("the pattern has %d bytes; at most 4096 are taken", len(a.Pattern))
	case strings.ContainsAny(a.Pattern, "\n\x00"):
		return q, fmt.Errorf("the pattern holds a newline or a NUL; the search goes line by line")
	case a.Max < 0:
		return q, fmt.Errorf("the argument \"max\" must be positive, not %d", a.Max)
	case a.Max > 0:
		q.max = min(a.Max, mostMatches)
	}
	if a.IgnoreCase {
		q.pattern = "(?i)" + q.pattern
	}
	if _, err := regexp.Compile(q.pattern); err != nil {
		return q, fmt.Errorf("the pattern is not a regular expression: %w (to search for the text as it is, put \\ before each of . * + ? ( ) [ ] { } | ^ $ and \\)", err)
	}
	var err error
	if q.root, err = t.canonical(cmp.Or(a.Path, ".")); err != nil {
		return q, err
	}
	q.glob, err = newGlob(a.Glob)
	return q, err
}

func (t *searchTool) run(ctx context.Context, p sandbox.Policy, s Stage, q query) (Result, error) {
	files, refused, err := t.open(ctx, p, s, q.root)
	if files == nil {
		return refused, err
	}
	defer files.Close()
	info, err := files.Stat(q.root)
	if err != nil {
		return t.unreadable(ctx, q.root, err)
	}
	var f found
	names := []string{q.root}
	if info.Type == folderType {
		names, err = t.walkFiles(ctx, files, p, q, &f)
	}
	if err == nil {
		err = grep(ctx, files, names, q, &f)
	}
	if err != nil || ctx.Err() != nil {
		return t.unreadable(ctx, q.root, err)
	}
	return t.result(f), nil
}

// walkFiles lists the files to search, through the file worker.
func (t *searchTool) walkFiles(ctx context.Context, files *worker.Client, p sandbox.Policy, q query, f *found) ([]string, error) {
	var names []string
	w := &walker{files: files, policy: p, depth: maxDepth, visit: func(e entry) bool {
		if e.kind == fileType && q.glob.match(below(q.root, e.path)) {
			names = append(names, e.path)
		}
		return true
	}}
	if err := w.walk(ctx, q.root, rulesAbove(files, t.workspace, q.root)); err != nil {
		return nil, err
	}
	if w.cut {
		f.remarks = append(f.remarks, fmt.Sprintf("only the first %d entries of the tree were searched", w.seen))
	}
	if note := w.rulesNote(); note != "" {
		f.remarks = append(f.remarks, note)
	}
	slices.SortFunc(names, comparePaths)
	return names, nil
}

// grep finds the matching lines in the files.
func grep(ctx context.Context, files *worker.Client, names []string, q query, f *found) error {
	r, err := files.Grep(ctx, names, q.pattern, worker.GrepLimits{Matches: q.max, LineBytes: matchBytes, FileBytes: searchedFile})
	if err != nil {
		return err
	}
	f.matches, f.more = r.Matches, f.more || r.More
	if r.Large > 0 {
		f.remarks = append(f.remarks, fmt.Sprintf("%s over %d MiB not searched", short.Count(r.Large, "file"), searchedFile>>20))
	}
	if r.Unreadable > 0 {
		f.remarks = append(f.remarks, short.Count(r.Unreadable, "file")+" could not be read")
	}
	if r.Binary == 1 && len(names) == 1 && names[0] == q.root {
		f.remarks = append(f.remarks, "the file is binary and was not searched")
	}
	return nil
}

// result formats the matches for the model.
func (t *searchTool) result(f found) Result {
	var b strings.Builder
	shown, names := 0, map[string]bool{}
	for _, m := range f.matches {
		if b.Len() > searchBytes {
			f.more = true
			break
		}
		text := strings.ToValidUTF8(strings.TrimSuffix(m.Text, "\r"), "\uFFFD")
		if m.Cut {
			text += " […]"
		}
		fmt.Fprintf(&b, "%s:%d:%s\n", nameOnLine(t.show(m.Path)), m.Line, text)
		names[m.Path] = true
		shown++
	}
	if f.more {
		f.remarks = append([]string{fmt.Sprintf("only the first %s; there are more: narrow it with path, glob or a longer pattern", short.Count(shown, "match"))}, f.remarks...)
	}
	if shown == 0 {
		b.WriteString("(no match)\n")
	}
	b.WriteString(notes(f.remarks...))
	return done(strings.TrimSuffix(b.String(), "\n"), fmt.Sprintf("%s in %s", short.Count(shown, "match"), short.Count(len(names), "file")))
}
