package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"codeagent/gitrun"
)

// Diff returns what git says differs, bounded: of is "" for what is uncommitted, "base BRANCH"
// for what a branch lacks, "commit ID" for what a commit changed. what names it.
func (ws *Workspace) Diff(ctx context.Context, of string) (what string, c gitrun.Change, err error) {
	kind, name, _ := strings.Cut(strings.TrimSpace(of), " ")
	name = strings.TrimSpace(name)
	var sides gitrun.Of
	switch {
	case ws.git.Git == nil:
		return "", c, errors.New("git cannot be asked here")
	case kind == "":
		what = "the uncommitted changes"
	case kind == "base" && name != "":
		what, sides.Base = "the changes since "+name, name
	case kind == "commit" && name != "":
		what, sides.Commit = "commit "+name, name
	default:
		return "", c, fmt.Errorf("%q: want nothing for what is uncommitted, base BRANCH, or commit ID", of)
	}
	c, err = ws.git.Diff(ctx, ws.Folder, sides)
	return what, c, err
}

// ToReview is Diff for a review: an empty change is an error.
func (ws *Workspace) ToReview(ctx context.Context, of string) (what string, c gitrun.Change, err error) {
	what, c, err = ws.Diff(ctx, of)
	if err == nil && strings.TrimSpace(c.Text) == "" {
		err = fmt.Errorf("%s: %w", what, ErrNothing)
	}
	return what, c, err
}

// ErrNothing: a change is empty.
var ErrNothing = errors.New("there is nothing to review")
