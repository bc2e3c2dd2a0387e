// Package experiment finds out by trying whether a command failed because of the sandbox. The command runs
// again on drafts of the state from before it: under the same policy, and with the writes lifted that it was
// refused. decide.go compares the runs without IO, this file makes them. Start at Trial.Verdict.
//
// Threat: the command is hostile, and learns or changes by its further runs what it must not. Each run writes to
// drafts alone: a refused write is lifted by a write root, and a draft has a layer over each of these, or the command
// does not start. What is closed to reading, protected or codeagent's own stays refused. So a further run can
// read nothing that the first could not, has no network, and nothing of it is kept or shown.
package experiment

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"

	"codeagent/draft"
	"codeagent/exec"
	"codeagent/exec/worker"
	"codeagent/hostfile"
	"codeagent/internal/git/dotgit"
	"codeagent/sandbox"
	"codeagent/undo"
)

// Bounds of all runs of a trial together, and of the changes of each. spare is for their starts, beside twice the time
// of the command.
const (
	maxTime    = 10 * time.Second
	spare      = 2 * time.Second
	maxChanges = 256 << 20
	// maxFile bounds each file that a run writes. A run can reserve space faster than it is watched, so nothing is tried
	// unless spaceLeft is free.
	maxFile   = 64 << 20
	spaceLeft = 4 * maxChanges
)

// Lab is where commands run again.
type Lab struct {
	// Runner returns one whose commands run on drafts, and share nothing with those of the session.
	Runner func() (r *exec.Runner, over func(), err error)
	// Drafts is the folder for drafts.
	Drafts string
	Trees  *exec.Trees
	Files  sandbox.FileSystem
	// Patience, if it is not 0, bounds all runs of a trial in place of the usual bound, and they have the priority of other
	// commands: the verdicts of tests must not depend on what else the machine does.
	Patience time.Duration
}

// Record is what undo keeps of a command; it is an undo.Call.
type Record interface {
	// Settle records what the command left. Before returns what restores the state from before it on a draft; ok is
	// false if that is not known.
	Settle()
	Before() (p *undo.Plan, ok bool)
}

// Trial is about one command.
type Trial struct {
	lab     *Lab
	mark    int64
	began   time.Time
	runner  *exec.Runner
	policy  sandbox.Policy
	command exec.Command
	// before restores the state from before the command, but for what it made among the temporary files.
	before *undo.Plan
	made   []string
}

// Begin begins a trial, before the command starts. A nil Lab makes none.
func (l *Lab) Begin() *Trial {
	if l == nil {
		return nil
	}
	return &Trial{lab: l, mark: l.Trees.Mark(), began: time.Now()}
}

// Verdict returns the verdict on the command c, which ended as o under p. kept is nil if nothing is recorded. Where the
// runs show nothing, the verdict is that of o.
func (t *Trial) Verdict(ctx context.Context, p sandbox.Policy, c exec.Command, o exec.Outcome, kept Record) sandbox.Verdict {
	first := newRun(p, o.Status, o.Trace.Denials)
	if t == nil || !worth(p, o) || first.other || len(first.refused) == 0 {
		return o.Verdict
	}
	if t.policy, t.command = p, c; !t.known(kept) {
		return o.Verdict
	}
	ctx, stop := context.WithTimeout(ctx, cmp.Or(t.lab.Patience, min(maxTime, 2*o.Duration+spare)))
	defer stop()
	runner, over, err := t.lab.Runner()
	if err != nil {
		return o.Verdict
	}
	defer over()
	t.runner = runner
	same := t.run(ctx, p)
	if same == nil {
		return o.Verdict
	}
	lifted := t.lift(ctx, first, same)
	f := decide(first, same, lifted...)
	if f == sandboxed && !o.Verdict.Denied { // perhaps its failure comes and goes
		if same = t.run(ctx, p); same == nil {
			return o.Verdict
		}
		f = decide(first, same, lifted...)
	}
	return t.judge(o, first, f, lifted)
}

// worth reports whether the runs can say more than the verdict of o. What a glob closes is found by a search, which may not
// have ended when a run with another root starts.
func worth(p sandbox.Policy, o exec.Outcome) bool {
	return o.Failed() && !o.TimedOut && !o.Interrupted && o.Limit == "" && 2*o.Duration < maxTime-spare && !p.Unconfined && !p.SharedTemp && len(p.DenyGlobs) == 0 &&
		o.Verdict.Evidence == sandbox.EvidenceFull && len(o.Verdict.Unwritten()) == 0
}

// known reports whether the state from before the command is known: nobody else changed anything meanwhile, and of
// temporary files, which nothing records, it changed those that it made. Caches do not count.
func (t *Trial) known(kept Record) bool {
	if kept != nil {
		var ok bool
		kept.Settle()
		if t.before, ok = kept.Before(); !ok {
			return false
		}
	}
	changes, all := t.lab.Trees.Since(t.mark)
	for _, c := range changes {
		origin, _ := t.policy.Origin(c.Path)
		if c.By != t.command.By || kept == nil && t.policy.Observes(c.Path) {
			return false
		}
		if there, since := undo.MadeSince(c.Path, t.began); origin == sandbox.FromTemp && there {
			t.made = append(t.made, c.Path)
			all = all && since
		}
	}
	slices.Sort(t.made)
	slices.Reverse(t.made) // what is in a folder first
	return all
}

// lift runs the command with the writes lifted that it was refused, and again where it is refused more; at last twice
// in the same way.
func (t *Trial) lift(ctx context.Context, first, same *run) []*run {
	folder := func(path string) bool {
		mode, err := t.lab.Files.Lstat(path)
		return err == nil && mode.IsDir()
	}
	targets := maps.Clone(first.refused)
	maps.Copy(targets, same.refused)
	for range 4 {
		q := t.policy.Clone()
		for _, at := range layers(targets, folder) {
			if !t.mayCover(at) {
				return nil
			}
			q.Write = append(q.Write, sandbox.Root{Path: at})
		}
		switch r := t.run(ctx, q); {
		case r == nil:
			return nil
		case len(r.refused) > 0:
			maps.Copy(targets, r.refused)
		default:
			if again := t.run(ctx, q); again != nil {
				return []*run{r, again}
			}
			return []*run{r}
		}
	}
	return nil
}

// mayCover reports whether the command may have a draft of the folder at path: a write root is readable, so all in it must
// be already. A root in a protected folder would lift the protection. For root a folder of another user would bring the
// right to read that user's files.
func (t *Trial) mayCover(path string) bool {
	own := func(own string) bool { return sandbox.Covers(own, path) }
	all := t.policy.Clone()
	all.Write = []sandbox.Root{{Path: "/"}}
	git, _ := dotgit.Cut(path)
	info, err := hostfile.Lstat(path)
	if err != nil || path == "/" || git != "" || !t.policy.JudgeRead(path).Allowed || !all.JudgeWrite(path).Allowed || slices.ContainsFunc(t.policy.Protected.Own, own) {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (os.Geteuid() != 0 || st.Uid == 0)
}

// run runs the command under p on a draft of the state from before it; nil where that is not possible, or not as on
// the files themselves.
func (t *Trial) run(ctx context.Context, p sandbox.Policy) *run {
	if size := p.Limits.FileSize; size == 0 || size > maxFile {
		p.Limits.FileSize = maxFile
	}
	at := t.lab.Drafts
	if slices.ContainsFunc(p.Write, func(r sandbox.Root) bool { return sandbox.Covers(r.Path, at) }) {
		var err error // overlayfs takes no layer inside another one
		if at, err = hostfile.MkdirTemp("/var/tmp", "codeagent-"); err != nil {
			return nil
		}
		defer func() { _ = hostfile.RemoveAll(at) }()
	}
	d, err := draft.New(at, t.command.Dir, nil, p)
	if err != nil {
		return nil
	}
	defer func() { _ = d.Drop() }() // a sweep tries again
	ctx, full := context.WithCancel(ctx)
	defer full()
	free := d.Free()
	if free < spaceLeft {
		return nil
	}
	Watch(ctx, d, free, full)
	if t.restore(ctx, p, d) != nil {
		return nil
	}
	o, err := t.runner.Run(ctx, p, exec.Command{Argv: t.command.Argv, Dir: t.command.Dir, Timeout: cmp.Or(t.lab.Patience, maxTime), Draft: d, Idle: t.lab.Patience == 0}, nil)
	if err != nil || o.TimedOut || o.Interrupted || o.Limit != "" || d.Free() < spaceLeft/2 {
		return nil
	}
	touched, all := d.Touched()
	if !all {
		return nil
	}
	r := newRun(p, o.Status, o.Trace.Denials)
	for _, path := range touched {
		if !t.policy.JudgeWrite(path).Allowed {
			r.wrote[path] = true
		}
	}
	return r
}

// Watch calls full once too much is written where d is, with free bytes free before, until ctx ends.
func Watch(ctx context.Context, d *draft.Draft, free uint64, full func()) {
	if d.Free()+maxChanges < free {
		full()
	}
	if ctx.Err() == nil {
		time.AfterFunc(5*time.Millisecond, func() { Watch(ctx, d, free, full) })
	}
}

// restore brings the state from before the command to the draft, with a file worker that runs on it.
func (t *Trial) restore(ctx context.Context, p sandbox.Policy, d *draft.Draft) error {
	if len(t.made) == 0 && (t.before == nil || len(t.before.Steps) == 0) {
		return nil
	}
	files, err := t.runner.FilesOn(ctx, p, d)
	if err != nil {
		return err
	}
	defer files.Close()
	for _, path := range t.made {
		if err := files.Remove(path, worker.Expect{}); err != nil {
			return err
		}
	}
	if t.before == nil {
		return nil
	}
	return t.before.On(ctx, files)
}

// judge puts the finding into the verdict.
func (t *Trial) judge(o exec.Outcome, first *run, f finding, lifted []*run) sandbox.Verdict {
	v := o.Verdict
	if f == unknown {
		return v
	}
	v.Denied, v.Confidence, v.Experiment = f == sandboxed, sandbox.Certain, string(f)
	switch f {
	case besides, passing:
		v.Confidence = sandbox.Likely
	case sandboxed:
		places, varies := needs(lifted)
		if len(places) == 0 { // it changed nothing in the end
			places = slices.Sorted(maps.Keys(first.refused))
		}
		if varies {
			v.Experiment += "; file names differ from run to run, so their folder is suggested"
		}
		var wanted []sandbox.Denial
		for _, path := range places {
			wanted = append(wanted, sandbox.Denial{Kind: sandbox.KindWrite, Target: path, Count: 1})
		}
		home, _ := os.UserHomeDir()
		v.Suggest, v.Left = sandbox.Suggest(t.policy, t.lab.Files, home, o.Argv, wanted)
		v.Denials = slices.Clone(v.Denials)
		for i := range v.Denials {
			d := &v.Denials[i]
			if d.Lost = false; !d.Moot && !sandbox.CoveredBy(slices.Concat(places, v.Suggest.Write), d.Target) {
				d.Moot, d.MootReason = true, "the command does without it"
			}
		}
	}
	return v
}
