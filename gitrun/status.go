package gitrun

import (
	"context"
	"fmt"
	"strings"
)

// Status is what is checked out, and the differences from it.
type Status struct {
	// Branch is empty on a detached head.
	Branch string
	// Changed counts tracked files that differ from the last commit; Untracked counts files
	// and folders that git neither tracks nor ignores. Submodules are not examined, and renames
	// are not detected.
	Changed, Untracked int
	// More: there are more than were counted.
	More bool
}

// Status reads the state of the repository that holds dir; without a repository it
// fails.
func (g *Git) Status(ctx context.Context, dir string) (Status, error) {
	overrides, err := g.emptied(ctx, dir)
	if err != nil {
		return Status{}, err
	}
	out, cut, err := g.run(ctx, dir, overrides, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal",
		"--ignore-submodules=all", "--no-renames", "--no-ahead-behind")
	if err != nil {
		return Status{}, err
	}
	s := Status{More: cut}
	for entry := range strings.SplitSeq(out, "\x00") {
		switch {
		case strings.HasPrefix(entry, "# branch.head "):
			if s.Branch = strings.TrimPrefix(entry, "# branch.head "); s.Branch == "(detached)" {
				s.Branch = ""
			}
		case strings.HasPrefix(entry, "1 "), strings.HasPrefix(entry, "2 "), strings.HasPrefix(entry, "u "):
			s.Changed++
		case strings.HasPrefix(entry, "? "):
			s.Untracked++
		}
	}
	return s, nil
}

// String describes the status in a few words: "branch main, 2 changed, 1 untracked".
func (s Status) String() string {
	where := "no branch"
	if s.Branch != "" {
		where = "branch " + s.Branch
	}
	switch {
	case s.More:
		return fmt.Sprintf("%s, more than %d changed or untracked", where, s.Changed+s.Untracked)
	case s.Changed+s.Untracked == 0:
		return where + ", clean"
	}
	return fmt.Sprintf("%s, %d changed, %d untracked", where, s.Changed, s.Untracked)
}

// Diff returns the difference between the working tree and the last commit, bounded;
// cut: its middle is left out.
func (g *Git) Diff(ctx context.Context, dir string) (text string, cut bool, err error) {
	overrides, err := g.emptied(ctx, dir)
	if err != nil {
		return "", false, err
	}
	return g.run(ctx, dir, overrides, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules=all", "HEAD")
}
