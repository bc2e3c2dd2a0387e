// Package experiment finds out by trying whether a command failed because of the sandbox. The command runs
// again on drafts of the state from before it: under the same policy, and with the writes lifted that it was
// refused. decide.go compares the runs and performs no IO; this file makes them. Start at Trial.Verdict.
//
// Threat: the command is hostile, and learns or changes by its further runs what it must not. Each run writes to
// drafts alone: a refused write is lifted by a write root, and a draft has a layer over each of these, or the command
// does not start. What is closed to reading, protected or codeagent's own stays refused. So a further run can
// read nothing that the first could not, has no network, and nothing of it is kept or shown.
package experiment

import (
	"context"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"codeagent/draft"
	"codeagent/exec"
	"codeagent/exec/worker"
	"codeagent/hostfile"
	"codeagent/sandbox"
	"codeagent/undo"
)

// Bounds of all runs of a trial together, and of the changes of each.
const (
	maxTime    = 10 * time.Second
	maxChanges = 256 << 20
	// spare is what starting takes, beside twice the time of the command.
	spare = 2 * time.Second
)

// Lab is where commands run again.
type Lab struct {
	// Runner returns one whose commands run on drafts, and share nothing with those of the session.
	Runner func() (r *exec.Runner, over func(), err error)
	// Drafts is the folder for drafts.
	Drafts string
	Trees  *exec.Trees
	Files  sandbox.FileSystem
}

// Trial is about one command. Begin it before the command starts.
type Trial struct {
	lab   *Lab
	mark  int64
	began time.Time
}

// Begin begins a trial. A nil Lab makes none.
func (l *Lab) Begin() *Trial {
	if l == nil {
		return nil
	}
	return &Trial{l, l.Trees.Mark(), time.Now()}
}

// Verdict returns the verdict on the command c, which ended as o under p. before restores the state from before it. Where
// the runs show nothing, the verdict is that of o.
func (t *Trial) Verdict(ctx context.Context, p sandbox.Policy, c exec.Command, o exec.Outcome, before *undo.Plan) sandbox.Verdict {
	first := newRun(p, o.Status, o.Trace.Denials)
	if t == nil || !worth(p, o) || first.other || len(first.refused) == 0 {
		return o.Verdict
	}
	made, ok := t.leftovers(p, before)
	if !ok {
		return o.Verdict
	}
	ctx, stop := context.WithTimeout(ctx, min(maxTime, 2*o.Duration+spare))
	defer stop()
	runner, over, err := t.lab.Runner()
	if err != nil {
		return o.Verdict
	}
	defer over()
	b := &bench{lab: t.lab, runner: runner, policy: p, command: c, before: before, made: made}
	same := b.run(ctx, p)
	if same == nil {
		return o.Verdict
	}
	lifted := b.lift(ctx, first, same)
	return b.judge(o, decide(first, same, lifted...), lifted)
}

// worth reports whether the runs can say more than the verdict of o.
func worth(p sandbox.Policy, o exec.Outcome) bool {
	return o.Failed() && !o.TimedOut && !o.Interrupted && o.Limit == "" && 2*o.Duration < maxTime-spare && !p.Unconfined && !p.SharedTemp &&
		o.Verdict.Evidence == sandbox.EvidenceFull && len(o.Verdict.Unwritten()) == 0
}

// leftovers are what the command left among the temporary files, which no record restores, deepest first. ok is
// false if something was there before: its state is not known.
func (t *Trial) leftovers(p sandbox.Policy, before *undo.Plan) (made []string, ok bool) {
	changes, all := t.lab.Trees.Since(t.mark)
	if !all {
		return nil, false
	}
	for _, c := range changes {
		origin, in := p.Origin(c.Path)
		if before == nil && in && p.Observes(c.Path) {
			return nil, false
		}
		if origin != sandbox.FromTemp {
			continue
		}
		is, err := undo.MadeSince(c.Path, t.began)
		if err != nil {
			return nil, false
		}
		if is {
			made = append(made, c.Path)
		}
	}
	slices.Sort(made)
	slices.Reverse(made)
	return made, true
}

// bench makes the runs of one trial.
type bench struct {
	lab     *Lab
	runner  *exec.Runner
	policy  sandbox.Policy
	command exec.Command
	before  *undo.Plan
	made    []string
}

// lift runs the command with the writes lifted that it was refused, and again where it is refused more. The last two
// runs are alike but for what the command chooses.
func (b *bench) lift(ctx context.Context, first, same *run) (lifted []*run) {
	targets := map[string]bool{}
	maps.Copy(targets, first.refused)
	maps.Copy(targets, same.refused)
	for range 4 {
		roots := layers(targets, b.folder)
		q := b.policy.Clone()
		for _, at := range roots {
			if !b.mayCover(at) {
				return nil
			}
			q.Write = append(q.Write, sandbox.Root{Path: at})
		}
		r := b.run(ctx, q)
		if r == nil {
			return nil
		}
		if len(r.refused) == 0 {
			if again := b.run(ctx, q); again != nil {
				return []*run{r, again}
			}
			return []*run{r}
		}
		maps.Copy(targets, r.refused)
	}
	return nil
}

func (b *bench) folder(path string) bool {
	mode, err := b.lab.Files.Lstat(path)
	return err == nil && mode.IsDir()
}

// mayCover reports whether the command may have a draft of the folder at path: a write root is readable, so all in it must
// be already. For root a folder of another user would bring the right to read that user's files.
func (b *bench) mayCover(path string) bool {
	own := func(own string) bool { return sandbox.Covers(path, own) || sandbox.Covers(own, path) }
	if path == "/" || !b.policy.JudgeRead(path).Allowed || slices.ContainsFunc(b.policy.Protected.Own, own) {
		return false
	}
	info, err := hostfile.Lstat(path)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (os.Geteuid() != 0 || st.Uid == 0)
}

// run runs the command under p on a draft of the state from before it; nil where that is not possible.
func (b *bench) run(ctx context.Context, p sandbox.Policy) *run {
	if size := p.Limits.FileSize; size == 0 || size > maxChanges {
		p.Limits.FileSize = maxChanges
	}
	d, err := draft.New(b.lab.Drafts, b.command.Dir, nil, sandbox.Policy{})
	if err != nil {
		return nil
	}
	defer func() { _ = d.Drop() }() // a sweep tries again
	w := &watched{Draft: d, upper: map[string]string{}, touched: map[string]bool{}}
	if err := b.restore(ctx, p, w); err != nil {
		return nil
	}
	clear(w.touched)
	ctx, full := context.WithCancel(ctx)
	defer full()
	w.watch(ctx, full)
	o, err := b.runner.Run(ctx, p, exec.Command{Argv: b.command.Argv, Dir: b.command.Dir, Timeout: maxTime, Draft: w, Idle: true}, nil)
	if err != nil || o.TimedOut || o.Interrupted || o.Limit != "" {
		return nil
	}
	r := newRun(p, o.Status, o.Trace.Denials)
	for path := range w.touched {
		if !b.policy.JudgeWrite(path).Allowed && w.changed(path) {
			r.wrote[path] = true
		}
	}
	return r
}

// restore brings the state from before the command to the draft, with a file worker that runs on it.
func (b *bench) restore(ctx context.Context, p sandbox.Policy, d exec.Draft) error {
	if (b.before == nil || len(b.before.Steps) == 0) && len(b.made) == 0 {
		return nil
	}
	files, err := b.runner.FilesOn(ctx, p, d)
	if err != nil {
		return err
	}
	defer files.Close()
	for _, path := range b.made {
		if err := files.Remove(path, worker.Expect{}); err != nil {
			return err
		}
	}
	if b.before == nil {
		return nil
	}
	return b.before.On(ctx, files)
}

// judge puts the finding into the verdict.
func (b *bench) judge(o exec.Outcome, f finding, lifted []*run) sandbox.Verdict {
	v := o.Verdict
	switch f {
	case sandboxed:
		places, varies := needs(lifted)
		if len(places) == 0 { // it changed nothing in the end
			places = slices.Sorted(maps.Keys(newRun(b.policy, o.Status, o.Trace.Denials).refused))
		}
		wanted := make([]sandbox.Denial, len(places))
		for i, path := range places {
			wanted[i] = sandbox.Denial{Kind: sandbox.KindWrite, Target: path, Count: 1}
		}
		home, _ := os.UserHomeDir()
		v.Suggest, v.Left = sandbox.Suggest(b.policy, b.lab.Files, home, o.Argv, wanted)
		v.Denied, v.Confidence = true, sandbox.Certain
		v.Experiment = "tried on a copy: with these writes it passes"
		if varies {
			v.Experiment += "; file names differ from run to run, so their folder is suggested"
		}
		v.Denials = slices.Clone(v.Denials)
		for i := range v.Denials {
			d := &v.Denials[i]
			if d.Lost = false; !sandbox.CoveredBy(places, d.Target) && !sandbox.CoveredBy(v.Suggest.Write, d.Target) && !d.Moot {
				d.Moot, d.MootReason = true, "the command does without it"
			}
		}
	case elsewhere:
		v.Denied, v.Confidence = false, sandbox.Certain
		v.Experiment = "tried on a copy: with all refused writes allowed it fails alike"
	case besides:
		v.Denied, v.Confidence = false, sandbox.Likely
		v.Experiment = "tried on a copy: with all refused writes allowed it fails too, in another way"
	case passing:
		v.Denied, v.Confidence = false, sandbox.Likely
		v.Experiment = "tried again on a copy, with the same refused: it passes"
	}
	return v
}

// watched is a draft of which it is known what changed, and where.
type watched struct {
	*draft.Draft
	mu      sync.Mutex
	upper   map[string]string // by the root
	touched map[string]bool
}

func (w *watched) Layer(root string) (upper, work string, err error) {
	upper, work, err = w.Draft.Layer(root)
	w.upper[root] = upper
	return upper, work, err
}

// maxTouched bounds the paths that are remembered.
const maxTouched = 20_000

func (w *watched) Touch(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.touched) < maxTouched {
		w.touched[path] = true
	}
}

// changed reports whether what was about to change at path did. What is there neither before nor afterwards was made
// and removed.
func (w *watched) changed(path string) bool {
	root := ""
	for at := range w.upper {
		if sandbox.Covers(at, path) && len(at) > len(root) {
			root = at
		}
	}
	was, err := hostfile.Lstat(path)
	is, gone := hostfile.Lstat(w.upper[root] + path[len(root):])
	return err != nil || gone == nil && (!was.IsDir() || !is.IsDir() || was.Mode() != is.Mode())
}

// watch calls full once too much is written where the changes go, until ctx ends.
func (w *watched) watch(ctx context.Context, full func()) {
	free := w.Free()
	var look func()
	look = func() {
		if w.Free()+maxChanges < free {
			full()
		}
		if ctx.Err() == nil {
			time.AfterFunc(50*time.Millisecond, look)
		}
	}
	look()
}
