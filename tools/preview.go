package tools

import (
	"context"
	"slices"
	"time"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/exec"
	"codeagent/patch"
	"codeagent/sandbox"
)

// previewTime bounds Preview: the question waits for it.
const previewTime = 5 * time.Second

// Preview returns what the edit a would change if it was applied now, with absolute paths, so that a
// person sees it before the answer. It reads files only as far as p allows, and changes none. It
// returns nil for other actions, and for an edit that cannot be applied or whose paths lead elsewhere
// than they did when the gate judged it.
func Preview(ctx context.Context, r *exec.Runner, files sandbox.FileSystem, p sandbox.Policy, a approvals.Action) (out []event.FileChange) {
	if a.Kind != word.KindEdit {
		return nil
	}
	from := paths{files: files, workspace: a.Folder}
	parsed, err := patch.Parse(a.Command)
	if err == nil {
		parsed, err = parsed.Map(from.canonical)
	}
	if err != nil || !slices.Equal(parsed.Paths(), a.Paths) {
		return nil
	}
	if slices.ContainsFunc(a.Paths, func(path string) bool { return !p.JudgeRead(path).Allowed }) {
		return nil // the kernel denies it too
	}
	ctx, cancel := context.WithTimeout(ctx, previewTime)
	defer cancel()
	worker, err := r.Files(ctx, p.OnlyRead(), nil)
	if err != nil {
		return nil
	}
	defer worker.Close()
	changes, err := patch.Apply(parsed, workerTree{worker})
	if err != nil {
		return nil
	}
	for _, c := range changes {
		out = append(out, changeOf(c, func(path string) string { return path }))
	}
	return out
}
