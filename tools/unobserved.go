package tools

import (
	"context"
	"slices"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/sandbox"
)

// If changes are not reported beforehand (outside the sandbox, or without a broker), the
// files that a command may change are recorded before it starts: in the write roots, or in
// the workspace if everything is writable. Files ignored by .gitignore, and .git itself, are
// not recorded then.

const (
	// maxUnobserved is how many files are recorded before each such command.
	maxUnobserved = 20_000
	// unobservedTime bounds the search for them.
	unobservedTime = 20 * time.Second
)

// observed reports whether changes under p are reported beforehand.
func (s Stage) observed(p sandbox.Policy) bool {
	return s.kept == nil || s.Exec.Observes(p) // nil: nothing is recorded
}

// keepUnobserved records what a command may change under p, if its changes are not reported.
// The caller calls over when the command has ended.
func (ps paths) keepUnobserved(ctx context.Context, p sandbox.Policy, s Stage) (over func()) {
	if s.observed(p) {
		return func() {}
	}
	names, all := ps.changeable(ctx, p, s)
	s.kept.Watch(names)
	if !all {
		s.kept.Lost(ps.workspace, "changes are not reported beforehand here, and there are too many files to keep")
	}
	return func() {
		if all {
			names, _ := ps.changeable(context.WithoutCancel(ctx), p, s)
			s.kept.Made(names)
		}
	}
}

// changeable lists what may be changed under p; all is false when there is more than the
// limit, or a folder cannot be listed.
func (ps paths) changeable(ctx context.Context, p sandbox.Policy, s Stage) (names []string, all bool) {
	ctx, stop := context.WithTimeout(ctx, unobservedTime)
	defer stop()
	files, err := s.Exec.Files(ctx, p, nil)
	if err != nil {
		return nil, false
	}
	defer files.Close()
	w := &walker{files: files, policy: p, depth: maxDepth, visit: func(e entry) bool {
		names = append(names, e.path)
		return len(names) < maxUnobserved
	}}
	for _, root := range ps.keptRoots(p) {
		if err := w.walk(ctx, root, rulesAbove(files, ps.workspace, root)); err != nil || w.cut {
			return names, false
		}
	}
	return names, true
}

// keptRoots returns the folders whose files are recorded.
func (ps paths) keptRoots(p sandbox.Policy) []string {
	if p.Unconfined {
		return []string{ps.workspace}
	}
	var out []string
	for _, root := range p.Folders() {
		covered := slices.ContainsFunc(out, func(o string) bool { return sandbox.Covers(o, root.Path) })
		if p.Observes(root.Path) && !covered {
			out = append(out, root.Path)
		}
	}
	return out
}

// Recorded runs do, a command of the user's under p, such that /undo restores what it changes. The
// observer is nil where nothing is recorded.
func (o Options) Recorded(ctx context.Context, p sandbox.Policy, s Stage, do func(sandbox.ChangeObserver)) {
	if s.Undo == nil {
		do(nil)
		return
	}
	kept := s.Undo.Call()
	defer kept.Settle()
	s.kept = kept
	defer paths{files: o.Files, workspace: o.Workspace}.keepUnobserved(ctx, p, s)()
	do(kept)
}

// TakeBack removes what runs of c under p added, if made, which is all that they changed, has nothing else in it and nobody else
// changed any of it since. The error says that some of it is still there.
func TakeBack(ctx context.Context, c Call, p approvals.Permit, s Stage, made sandbox.Changes) (done bool, err error) {
	var paths []string
	for _, ch := range made.List {
		if ch.Kind != sandbox.Added {
			return false, nil
		}
		paths = append(paths, strings.TrimSuffix(ch.Path, "/"))
	}
	policy, err := p.Policy(c.Action())
	if err != nil || s.Undo == nil || made.More > 0 || made.Partial {
		return false, err
	}
	added, ok := s.Undo.Added(paths)
	if !ok {
		return false, nil
	}
	kept := s.Undo.Call()
	defer kept.Settle()
	files, err := s.Exec.Files(ctx, policy, kept)
	if err != nil {
		return false, err
	}
	defer files.Close()
	for _, e := range added {
		if err := files.Remove(e.Path, e.Now); err != nil {
			return false, err
		}
	}
	return true, nil
}
