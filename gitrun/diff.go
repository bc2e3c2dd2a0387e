package gitrun

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Of names the two sides of a difference. Empty: the last commit, and the working tree.
type Of struct {
	// Base is a branch: the place where the working tree left it, and the working tree.
	Base string
	// Commit is a commit: its parent, and itself.
	Commit string
}

// Change is what differs. Paths in it start at Top, the top folder of the repository.
type Change struct {
	Of
	Top string
	// Text is the difference as a patch, with the message of a commit. Files that git does not
	// track, and does not ignore, are part of it where the working tree is. Cut: its end is left out.
	Text string
	Cut  bool
}

// Bounds of a change, in bytes: its text, a list of paths, and the arguments of one git.
const (
	maxText  = 64 << 10
	maxPaths = 1 << 20
	maxArgs  = 64 << 10
	maxHead  = 512 // of a commit: its tree and its parents
)

// plainDiff starts no program and compares no renames.
var plainDiff = []string{"--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--no-relative", "--ignore-submodules=all"}

// Diff returns the change in the repository that holds dir.
func (g *Git) Diff(ctx context.Context, dir string, of Of) (Change, error) {
	c := Change{Of: of}
	for _, name := range []string{of.Base, of.Commit} {
		if strings.HasPrefix(name, "-") || len(name) > 200 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return c, fmt.Errorf("%q is not the name of a branch or a commit", name)
		}
	}
	overrides, err := g.emptied(ctx, dir)
	if err != nil {
		return c, err
	}
	top, _, err := g.run(ctx, dir, overrides, "rev-parse", "--show-toplevel")
	if err != nil {
		return c, err
	}
	c.Top = strings.TrimSuffix(top, "\n")
	if name := cmp.Or(of.Base, of.Commit); name != "" { // git shows a folder or a range too, which is no change
		if _, _, err := g.run(ctx, c.Top, overrides, "rev-parse", "--verify", name+"^{commit}"); err != nil {
			return c, fmt.Errorf("there is no branch or commit %q: %w", name, err)
		}
	}
	if err := g.complete(ctx, c, overrides); err != nil {
		return c, err
	}
	args, err := g.sides(ctx, c, overrides)
	if err != nil {
		return c, err
	}
	c.Text, c.Cut, err = g.whole(ctx, c.Top, overrides, maxText, args...)
	if err == nil && of.Commit == "" && !c.Cut {
		err = g.addUntracked(ctx, &c, overrides)
	}
	c.Text = strings.ToValidUTF8(c.Text, "\uFFFD")
	return c, err
}

// complete refuses a commit whose parent a shallow clone lacks, and a branch whose beginning it lacks:
// git would show every file of the repository as new, or say only that nothing is common.
func (g *Git) complete(ctx context.Context, c Change, overrides []string) error {
	side := cmp.Or(c.Base, c.Commit)
	if side == "" {
		return nil
	}
	if out, _, err := g.run(ctx, c.Top, overrides, "rev-parse", "--is-shallow-repository"); err != nil || strings.TrimSpace(out) != "true" {
		return err
	}
	probe := []string{"rev-parse", "--verify", "--quiet", side + "^1"}
	if c.Base != "" {
		probe = []string{"merge-base", side, "HEAD"}
	} else if raw, _, err := g.whole(ctx, c.Top, overrides, maxHead, "cat-file", "commit", side); err != nil || !strings.Contains(raw, "\nparent ") {
		return err // its first lines name the parents, also those that are not here
	}
	if _, _, err := g.run(ctx, c.Top, overrides, probe...); err != nil {
		return fmt.Errorf("this clone is shallow and lacks what came before %q: git fetch --unshallow brings it", side)
	}
	return nil
}

// sides returns the git command that shows c.
func (g *Git) sides(ctx context.Context, c Change, overrides []string) ([]string, error) {
	command, side := []string{"diff"}, "HEAD"
	switch {
	case c.Commit != "":
		// Of a merge git shows by default what differs from all parents: mostly nothing. What it
		// brought is the difference from the first.
		command, side = []string{"show", "-m", "--first-parent"}, c.Commit
	case c.Base != "":
		command, side = []string{"diff", "--merge-base"}, c.Base
	default:
		if _, _, err := g.run(ctx, c.Top, overrides, "rev-parse", "--verify", "--quiet", "HEAD"); err != nil {
			// There is no commit yet: everything differs from an empty folder.
			empty, _, err := g.run(ctx, c.Top, overrides, "hash-object", "-t", "tree", "--stdin")
			if err != nil {
				return nil, err
			}
			side = strings.TrimSpace(empty)
		}
	}
	return slices.Concat(command, plainDiff, []string{"--end-of-options", side, "--"}), nil
}

// untracked lists the files that git neither tracks nor ignores. A repository inside of this one
// is one entry, with a slash behind.
func (g *Git) untracked(ctx context.Context, top string, overrides []string) (names []string, cut bool, err error) {
	out, cut, err := g.whole(ctx, top, overrides, maxPaths, "ls-files", "--others", "--exclude-standard", "-z")
	return paths(out, cut), cut, err
}

// paths reads paths that end with NUL. cut: the last one may be incomplete.
func paths(out string, cut bool) []string {
	list := strings.Split(out, "\x00")
	if last := len(list) - 1; cut || list[last] == "" {
		list = list[:last]
	}
	return list
}

// addUntracked adds the untracked files to the text of c: their lines, as of new files. git reads
// them, so that no link and no device is followed.
func (g *Git) addUntracked(ctx context.Context, c *Change, overrides []string) error {
	names, cut, err := g.untracked(ctx, c.Top, overrides)
	if err != nil || len(names) == 0 {
		return err
	}
	named := names
	for i, size := 0, 0; i < len(names); i++ {
		if size += len(names[i]) + 1; size > maxArgs {
			named, cut = names[:i], true
			break
		}
	}
	lines, more := map[string][]string{}, false
	if readable := slices.DeleteFunc(slices.Clone(named), odd); len(readable) > 0 { // without a path git would read every file
		// Each line of a text is: path NUL number NUL line. Files without a line of text have none.
		var out string
		out, more, err = g.whole(ctx, c.Top, overrides, maxText-len(c.Text), slices.Concat([]string{
			"grep", "--untracked", "-I", "-z", "-n", "--no-color", "--no-column", "--no-textconv", "-F", "-e", "", "--",
		}, readable)...)
		if err != nil {
			return err
		}
		for line := range strings.Lines(out) {
			name, rest, _ := strings.Cut(line, "\x00")
			if _, text, ok := strings.Cut(rest, "\x00"); ok {
				lines[name] = append(lines[name], "+"+strings.TrimSuffix(text, "\n"))
			}
		}
	}
	var b strings.Builder
	for _, name := range named {
		header := fmt.Sprintf("diff --git %s %s\nnew file, untracked\n", shown("a/"+name), shown("b/"+name))
		if text := lines[name]; len(text) > 0 {
			header += fmt.Sprintf("--- /dev/null\n+++ %s\n@@ -0,0 +1,%d @@\n%s\n", shown("b/"+name), len(text), strings.Join(text, "\n"))
		}
		if len(c.Text)+b.Len()+len(header) > maxText {
			cut = true
			break
		}
		b.WriteString(header)
	}
	c.Text, c.Cut = c.Text+b.String(), cut || more
	return nil
}

// odd reports a path whose lines git grep would print like those of another file.
func odd(name string) bool { return strings.Contains(name, "\n") }

// shown quotes a path as git does if it could be taken for something else.
func shown(name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` {
		return q
	}
	return name
}
