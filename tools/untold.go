package tools

import (
	"context"
	"slices"
	"time"

	"codeagent/sandbox"
)

// Where nobody tells of each change beforehand (outside the sandbox, or in one that
// has no broker), what a command may change is kept before it starts: the files that
// git would not ignore, in the write roots, or in the workspace where all is
// writable. What .gitignore names, and .git itself, is not kept then.

const (
	// maxUntold is how many files are kept before each such command.
	maxUntold = 20_000
	// untoldTime is how long looking for them may take.
	untoldTime = 20 * time.Second
)

// told reports whether changes under p are reported to the change observer.
func (s Stage) told(p sandbox.Policy) bool {
	return s.kept == nil || s.Exec.Observes(p) // nil: there is nobody to tell
}

// untold keeps what a command may change under p, if nobody will tell of it. over is
// to be called when the command is.
func (ps paths) untold(ctx context.Context, p sandbox.Policy, s Stage) (over func()) {
	if s.told(p) {
		return func() {}
	}
	names, all := ps.changeable(ctx, p, s)
	s.kept.Watch(names)
	if !all {
		s.kept.Lost(ps.workspace, "nobody tells of changes beforehand here, and there is too much to keep it all")
	}
	return func() {
		if all {
			names, _ := ps.changeable(context.WithoutCancel(ctx), p, s)
			s.kept.Made(names)
		}
	}
}

// changeable lists what may be changed under p; all is false when it is more than is
// kept, or cannot be listed.
func (ps paths) changeable(ctx context.Context, p sandbox.Policy, s Stage) (names []string, all bool) {
	ctx, stop := context.WithTimeout(ctx, untoldTime)
	defer stop()
	files, err := s.Exec.Files(ctx, p, nil)
	if err != nil {
		return nil, false
	}
	defer files.Close()
	w := &walker{files: files, policy: p, depth: maxDepth, visit: func(e entry) bool {
		names = append(names, e.path)
		return len(names) < maxUntold
	}}
	for _, root := range ps.keptRoots(p) {
		if err := w.walk(ctx, root, rulesAbove(files, ps.workspace, root)); err != nil || w.cut {
			return names, false
		}
	}
	return names, true
}

// keptRoots are the folders of which something is kept.
func (ps paths) keptRoots(p sandbox.Policy) []string {
	if p.Unconfined {
		return []string{ps.workspace}
	}
	var out []string
	for _, root := range p.Write {
		covered := slices.ContainsFunc(out, func(o string) bool { return sandbox.Covers(o, root.Path) })
		if p.Observes(root.Path) && !covered {
			out = append(out, root.Path)
		}
	}
	return out
}
