package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/exec/worker"
	"codeagent/internal/short"
	"codeagent/patch"
	"codeagent/sandbox"
)

const applyPatchExample = `{"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n-old line\n+new line\n*** End Patch"}`

type applyPatchArguments struct {
	Patch         string `json:"patch" jsonschema:"The patch, from *** Begin Patch to *** End Patch."`
	Justification string `json:"justification,omitempty" jsonschema:"One sentence for the user, only needed when a file outside the writable folders is changed: why."`
}

type applyPatchTool struct{ paths }

func (t *applyPatchTool) plan(a applyPatchArguments) (*call, error) {
	return t.planIn(a.Patch, t.workspace, a.Justification)
}

// planIn plans the patch in text; relative paths in it start at folder. It names every file
// by its canonical path, so that the gate can judge each. A protected file, or one outside
// the write roots, becomes a question or a refusal.
func (t *applyPatchTool) planIn(text, folder, justification string) (*call, error) {
	from := t.in(folder)
	p, err := patch.Parse(text)
	if err == nil {
		err = from.noLinks(p)
	}
	if err == nil {
		p, err = p.Map(from.canonical)
	}
	if err != nil {
		return nil, err
	}
	names := p.Paths()
	action := approvals.Action{
		Tool: "apply_patch", Kind: word.KindEdit, Title: t.title(names), Folder: folder, Paths: names,
		// The person approves the whole patch, so a permit is bound to its text.
		Command: text,
		Wish:    approvals.Wish{Justification: strings.TrimSpace(justification)},
	}
	return &call{action: action, run: func(ctx context.Context, policy sandbox.Policy, s Stage) (Result, error) {
		return t.run(ctx, policy, s, p)
	}}, nil
}

// noLinks refuses to delete or move a file through a symbolic link: the link would stay,
// and its target would be gone.
func (ps paths) noLinks(p patch.Patch) error {
	for _, f := range p.Files {
		if f.Op != patch.Delete && f.MoveTo == "" {
			continue
		}
		dir, err := ps.resolve(path.Dir(f.Path))
		if err != nil {
			return &patch.Error{Line: f.Line, Msg: err.Error()}
		}
		mode, err := ps.files.Lstat(path.Join(dir, path.Base(f.Path)))
		if err == nil && mode&fs.ModeSymlink != 0 {
			return &patch.Error{Line: f.Line, Path: f.Path, Msg: "this is a symbolic link, which a patch does not delete or move; use a command, or name the file it leads to"}
		}
	}
	return nil
}

func (t *applyPatchTool) title(names []string) string {
	var shown []string
	for _, n := range names {
		shown = append(shown, t.show(n))
	}
	return oneLine("edit " + short.List(shown, 3))
}

func (t *applyPatchTool) run(ctx context.Context, policy sandbox.Policy, s Stage, p patch.Patch) (Result, error) {
	if r, ok := t.refuse(policy, s, p); !ok {
		return r, nil
	}
	if !s.observed(policy) {
		s.kept.Watch(p.Paths())
	}
	// An interrupt must not leave half a patch: the worker keeps running until the patch is
	// applied or undone.
	whole, stop := context.WithTimeout(context.WithoutCancel(ctx), patchTime)
	defer stop()
	files, err := s.Exec.Files(whole, policy, s.Observer())
	if err != nil {
		return Result{}, err
	}
	defer files.Close()
	tree := workerTree{files}
	changes, err := patch.Apply(p, tree)
	if err != nil {
		return t.explain(err, "the patch was not applied, no file was changed"), nil
	}
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	if err := files.Explained(patch.Commit(tree, changes)); err != nil {
		var left *patch.RollbackError
		if errors.As(err, &left) {
			return t.explain(err, "the patch failed half way and could not be undone everywhere; read these files again"), nil
		}
		return t.explain(err, "the patch was not applied: what had been changed was put back"), nil
	}
	return t.report(changes), nil
}

// refuse checks every file before any is read. The kernel would deny the access too; this
// names the file and the way to ask for it.
func (t *applyPatchTool) refuse(policy sandbox.Policy, s Stage, p patch.Patch) (Result, bool) {
	var words []string
	var denials []sandbox.Denial
	for _, name := range p.Paths() {
		j := policy.JudgeWrite(name)
		if j.Allowed {
			continue
		}
		denials = append(denials, sandbox.Denial{Kind: j.Kind, Operation: "write", Target: name, Program: "apply_patch", Evidence: sandbox.EvidenceBackend, Count: 1})
		why := "it lies " + j.Rule
		switch j.Kind {
		case sandbox.KindProtected:
			why = "it is protected (" + j.Why() + ")"
		case sandbox.KindRead:
			why = "the policy hides it (" + j.Rule + ")"
		}
		words = append(words, fmt.Sprintf("%s: %s", name, why))
	}
	if words == nil {
		return Result{}, true
	}
	r := failed("the sandbox does not let these files be changed; no file was:\n%s.%s", strings.Join(words, "\n"),
		asking(s, " Change a file inside the workspace instead, or call apply_patch again with a justification that says why exactly this file must change."))
	r.Outcome = word.Refused
	r.Verdict = sandbox.Verdict{Denied: true, Confidence: sandbox.Certain, Evidence: sandbox.EvidenceFull, Denials: denials}
	return r, false
}

// explain returns the result of a patch that failed.
func (t *applyPatchTool) explain(err error, what string) Result {
	r := failed("%s: %v", what, err)
	r.Message = oneLine(err.Error())
	return r
}

// report lists the changed files. It leaves the new content to the diff: a model that wants
// to see the file reads it.
func (t *applyPatchTool) report(changes []patch.Change) Result {
	var b strings.Builder
	b.WriteString("Done:\n")
	var out []event.FileChange
	added, removed := 0, 0
	for _, c := range changes {
		ch := changeOf(c, t.show)
		name := ch.Path
		if ch.From != "" {
			name = ch.From + " -> " + ch.Path
		}
		fmt.Fprintf(&b, "%s %s (+%d -%d)\n", ch.Kind, name, ch.Added, ch.Removed)
		for _, n := range c.Notes {
			fmt.Fprintf(&b, "  note: %s\n", n)
		}
		added, removed = added+ch.Added, removed+ch.Removed
		out = append(out, ch)
	}
	r := done(strings.TrimSuffix(b.String(), "\n"), fmt.Sprintf("%s changed, +%d -%d", short.Count(len(out), "file"), added, removed))
	r.Changes = out
	return r
}

// maxPatched is the largest file a patch may change.
const maxPatched = 32 << 20

// patchTime bounds the time of a patch; only a hanging file system takes longer.
const patchTime = 2 * time.Minute

// workerTree applies a patch through the file worker.
type workerTree struct{ files *worker.Client }

func (t workerTree) Read(path string) (patch.Content, error) {
	data, info, err := t.files.ReadFile(path, 0, maxPatched+1)
	if err != nil {
		return patch.Content{}, err
	}
	if len(data) > maxPatched {
		return patch.Content{}, fmt.Errorf("%s: the file has over %d MiB, too much to patch; use a command", path, maxPatched>>20)
	}
	return patch.Content{Data: data, Mode: info.Mode}, nil
}

func (t workerTree) MakeFolders(file string) (made []string, err error) {
	var missing []string
	for dir := path.Dir(file); dir != "/"; dir = path.Dir(dir) {
		if _, err := t.files.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break // Write reports other problems with the target
		}
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		err := t.files.Mkdir(dir, 0o777, false)
		switch {
		case err == nil:
			made = append(made, dir)
		case !errors.Is(err, fs.ErrExist):
			return made, err
		}
	}
	return made, nil
}

func (t workerTree) RemoveFolder(dir string) error {
	err := t.files.Remove(dir, worker.Expect{})
	if errors.Is(err, fs.ErrExist) { // ENOTEMPTY
		return nil
	}
	return err
}

func (t workerTree) Write(path string, c patch.Content, old *patch.Content) error {
	_, err := t.files.WriteFile(path, c.Data, c.Mode, expect(old))
	return err
}

func (t workerTree) Remove(path string, old patch.Content) error {
	return t.files.Remove(path, expect(&old))
}

// expect returns the condition that a file must still meet to be changed.
func expect(old *patch.Content) worker.Expect {
	if old == nil {
		return worker.Expect{Absent: true}
	}
	// nil expects nothing, so an empty content must not be nil.
	return worker.Expect{Content: append([]byte{}, old.Data...)}
}
