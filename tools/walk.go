package tools

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"codeagent/exec/worker"
	"codeagent/internal/git"
	"codeagent/sandbox"
)

// Types of entries, in the worker's terms.
const (
	fileType    worker.Type = "file"
	folderType  worker.Type = "folder"
	symlinkType worker.Type = "symlink"
)

// Bounds of one walk.
const (
	// maxWalk is how many entries are examined.
	maxWalk = 200_000
	// maxDepth is how many levels of folders are followed.
	maxDepth = 64
)

// walker lists what is below a folder, level by level: one request to the worker per
// level, not per folder. It leaves out ignored entries, .git and what the policy hides; it
// names symbolic links and does not follow them.
type walker struct {
	files  *worker.Client
	policy sandbox.Policy
	// depth is the number of levels to list; the first is 1.
	depth int
	// visit is called for every entry, level by level, each level sorted; false ends the
	// walk.
	visit func(e entry) bool

	seen int
	// cut is set when a bound ended the walk early.
	cut bool
	// unreadable counts folders that could not be listed.
	unreadable int
	// rulesCut is set when a .gitignore held more than maxRules rules.
	rulesCut bool
}

// entry is one file, folder or link.
type entry struct {
	path string // absolute
	kind worker.Type
}

// level is one folder to list and the rules that hold in it.
type level struct {
	path  string
	rules *ignores
}

// walk lists everything below root.
func (w *walker) walk(ctx context.Context, root string, rules *ignores) error {
	next := []level{{root, rules}}
	w.rulesCut = w.rulesCut || rules != nil && rules.cut
	for depth := 1; len(next) > 0; depth++ {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		var err error
		if next, err = w.oneLevel(ctx, next, depth); err != nil || w.cut {
			return err
		}
	}
	return nil
}

// oneLevel lists folders and returns the folders below them that are still to be listed.
func (w *walker) oneLevel(ctx context.Context, folders []level, depth int) ([]level, error) {
	names := make([]string, len(folders))
	for i, f := range folders {
		names[i] = f.path
	}
	left := maxWalk - w.seen
	listings, err := w.files.ReadDirs(names, left)
	if err != nil {
		return nil, err
	}
	var next []level
	for i, l := range listings {
		if l.Err != nil {
			if len(folders) == 1 && depth == 1 {
				return nil, l.Err
			}
			w.unreadable++
			continue
		}
		w.seen += len(l.Entries)
		below, ok := w.folder(ctx, folders[i], l.Entries, depth)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		next = append(next, below...)
		if !ok || l.More {
			w.cut = true
			return nil, nil
		}
	}
	return next, nil
}

// folder visits the entries of one folder, until ctx ends: a repository can contain names
// and rules that are slow to compare.
func (w *walker) folder(ctx context.Context, f level, entries []worker.Entry, depth int) ([]level, bool) {
	rules := w.rules(f, entries)
	w.rulesCut = w.rulesCut || rules != nil && rules.cut
	var next []level
	for _, e := range entries {
		if ctx.Err() != nil {
			return nil, false
		}
		p := path.Join(f.path, e.Name)
		folder := e.Type == folderType
		if git.IsEntry(e.Name) || strings.ContainsRune(e.Name, 0) || rules.ignored(ctx, p, folder) || !w.policy.JudgeRead(p).Allowed {
			continue
		}
		if !w.visit(entry{p, e.Type}) {
			return nil, false
		}
		if folder && depth < w.depth && depth < maxDepth {
			next = append(next, level{p, rules})
		}
	}
	return next, true
}

// rules adds the folder's own .gitignore, if it has one.
func (w *walker) rules(f level, entries []worker.Entry) *ignores {
	i := slices.IndexFunc(entries, func(e worker.Entry) bool { return e.Name == ".gitignore" && e.Type == fileType })
	if i < 0 {
		return f.rules
	}
	return withFile(w.files, f.rules, f.path, path.Join(f.path, ".gitignore"))
}

// withFile adds the rules of one file, if it can be read.
func withFile(files *worker.Client, rules *ignores, base, name string) *ignores {
	data, _, err := files.ReadFile(name, 0, maxIgnore)
	if err != nil {
		return rules
	}
	return rules.withRules(base, data)
}

// rulesAbove collects the rules that apply to folder from the folders above it: from the top
// of its repository, or of the workspace outside a repository, down to its parent.
func rulesAbove(files *worker.Client, workspace, folder string) *ignores {
	top, is := git.Top(folder, func(entry string) error {
		_, err := files.Stat(entry)
		return err
	})
	var rules *ignores
	if is {
		rules = withFile(files, nil, top, path.Join(top, git.Entry, git.Exclude))
	} else {
		top = workspace
	}
	var above []string // from folder up
	for dir := folder; dir != top && sandbox.Covers(top, dir); {
		dir = path.Dir(dir)
		above = append(above, dir)
	}
	for _, dir := range slices.Backward(above) {
		rules = withFile(files, rules, dir, path.Join(dir, ".gitignore"))
	}
	return rules
}

// rulesNote returns a note about rules that were left out, or "".
func (w *walker) rulesNote() string {
	if !w.rulesCut {
		return ""
	}
	return fmt.Sprintf("only the first %d rules of a .gitignore were looked at", maxRules)
}

// comparePaths orders paths in the order of a walk: a folder's content directly after it.
func comparePaths(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		switch {
		case a[i] == b[i]:
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		default:
			return cmp.Compare(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b))
}

// below returns p relative to root.
func below(root, p string) string {
	return strings.TrimPrefix(strings.TrimPrefix(p, root), "/")
}

// notes joins remarks at the end of a listing.
func notes(remarks ...string) string {
	remarks = slices.DeleteFunc(remarks, func(s string) bool { return s == "" })
	if len(remarks) == 0 {
		return ""
	}
	return fmt.Sprintf("(%s)", strings.Join(remarks, "; "))
}
