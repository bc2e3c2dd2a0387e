package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Diff returns what git says differs, bounded: of is "" for what is uncommitted, "base BRANCH"
// for what a branch lacks, "commit ID" for what a commit changed. what names it.
func (ws *Workspace) Diff(ctx context.Context, of string) (what, text string, cut bool, err error) {
	kind, name, _ := strings.Cut(strings.TrimSpace(of), " ")
	name = strings.TrimSpace(name)
	switch {
	case ws.git == nil:
		return "", "", false, errors.New("git cannot be asked here")
	case kind == "":
		what = "the uncommitted changes"
		text, cut, err = ws.git.Diff(ctx, ws.Folder)
	case kind == "base" && name != "":
		what = "the changes since " + name
		text, cut, err = ws.git.SinceBase(ctx, ws.Folder, name)
	case kind == "commit" && name != "":
		what = "commit " + name
		text, cut, err = ws.git.OfCommit(ctx, ws.Folder, name)
	default:
		err = fmt.Errorf("%q: want nothing for what is uncommitted, base BRANCH, or commit ID", of)
	}
	return what, text, cut, err
}
