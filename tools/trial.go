package tools

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/draft"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/exec"
	"codeagent/exec/experiment"
	"codeagent/sandbox"
)

// Trial is a run of a call on a draft while a question about it is open, or before a model makes it. A yes or the call
// keeps what it did, and does not run it again, if that would do the same.
//
// Threat: the command is not trusted, and the person decides by what is shown of its run. So exactly these changes are
// kept, under the permit's policy and by the file worker, and on any doubt the command runs.
type Trial struct {
	draft   *draft.Draft
	policy  sandbox.Policy
	command exec.Command
	outcome exec.Outcome
	changes []draft.Change
	// read is the result of a call of a tool that only reads. ahead: nobody has seen the run.
	read  Result
	ahead bool
}

// Drafts makes drafts in Folder for commands of Runner, which over releases. Can reports whether that works.
type Drafts struct {
	Folder string
	Runner func() (r *exec.Runner, over func(), err error)
	Can    func() bool
}

// CanTry reports whether c is a command that Try can run.
func (s Stage) CanTry(c Call) bool {
	own, ok := c.(*call)
	return ok && own.command != nil && own.action.Backend == "" && s.Drafts != nil && s.Drafts.Can()
}

// Try runs the command of c on a draft under p.
func (s Stage) Try(ctx context.Context, c Call, p sandbox.Policy) (*Trial, error) {
	own := c.(*call)
	return s.try(&Trial{policy: p, command: own.command(Stage{})}, func(r *exec.Runner, t *Trial) (err error) {
		run := t.command
		run.Draft, run.Looked = t.draft, t.draft.Looked
		t.outcome, err = r.Run(ctx, p, run, nil)
		return err
	})
}

// CanRunAhead reports whether c is a call that RunAhead can run: of a tool that only reads, or of a command that does
// not go on after it.
func (s Stage) CanRunAhead(c Call) bool {
	own, ok := c.(*call)
	return ok && (own.repeats || own.command != nil && !own.action.Background && own.action.Wish.Empty() && own.action.Backend == "") && s.Drafts != nil && s.Drafts.Can()
}

// RunAhead runs c on a draft under p at the lowest priority, before anybody makes the call. most bounds its time.
func (s Stage) RunAhead(ctx context.Context, c Call, p sandbox.Policy, most time.Duration) (*Trial, error) {
	own := c.(*call)
	t := &Trial{policy: p, ahead: true, command: exec.Command{Dir: own.action.Folder}}
	if own.command != nil {
		t.command = own.command(Stage{})
	}
	ctx, full := context.WithTimeout(ctx, most)
	defer full()
	return s.try(t, func(r *exec.Runner, t *Trial) (err error) {
		experiment.Watch(ctx, t.draft, t.draft.Free(), full)
		r = r.Ahead(t.draft, t.draft.Looked)
		if own.command != nil {
			t.outcome, err = r.Run(ctx, p, t.command, nil)
		} else {
			begun := time.Now()
			t.read, err = own.run(ctx, p, Stage{Exec: r, Mode: s.Mode, Blind: s.Blind, Asking: s.Asking})
			t.read.Duration = time.Since(begun)
		}
		return errors.Join(err, context.Cause(ctx))
	})
}

// try makes the draft of t, and calls run.
func (s Stage) try(t *Trial, run func(*exec.Runner, *Trial) error) (*Trial, error) {
	runner, over, err := s.Drafts.Runner()
	if err != nil {
		return nil, err
	}
	defer over()
	if t.draft, err = draft.New(s.Drafts.Folder, t.command.Dir, t.command.Argv, t.policy); err != nil {
		return nil, err
	}
	if err = run(runner, t); err == nil {
		t.changes, err = t.draft.Changes()
	}
	if err != nil {
		t.Drop()
		return nil, err
	}
	return t, nil
}

// Drop removes the draft. t may be nil.
func (t *Trial) Drop() {
	if t != nil {
		_ = t.draft.Drop() // the sweep of old drafts tries again
	}
}

// Again says why the command has to run; "": what it did on the draft can be kept.
func (t *Trial) Again() string {
	switch o := t.outcome; {
	case o.TimedOut, o.Interrupted, o.Limit != "":
		return "it reached a limit"
	case o.Trace.Evidence != sandbox.EvidenceFull:
		return "not everything that it did was seen"
	case len(o.Trace.Denials) > 0:
		return "a draft refused it to " + o.Trace.Denials[0].Verb() + " " + o.Trace.Denials[0].Target
	}
	return t.draft.Stale(t.changes)
}

// kept is the result of c, which only reads, under p; ok is false if it has to run.
func (t *Trial) kept(c *call, p sandbox.Policy) (r Result, ok bool) {
	ok = t != nil && c.repeats && !t.read.Failed && reflect.DeepEqual(p, t.policy) && t.draft.Stale(t.changes) == ""
	if ok {
		r = t.read
		r.Kept = true
	}
	return r, ok
}

// differs says why c has to run under p.
func (t *Trial) differs(p sandbox.Policy, c exec.Command) string {
	if was := t.command; c.Dir != was.Dir || c.Timeout != was.Timeout || !slices.Equal(c.Argv, was.Argv) || !reflect.DeepEqual(p, t.policy) {
		return "it has other permissions now"
	}
	return t.Again()
}

// keep makes the changes in the files under p, for c. again says why c has to run.
func (t *Trial) keep(ctx context.Context, p sandbox.Policy, s Stage, c exec.Command) (r Result, again string, err error) {
	if again = t.differs(p, c); again != "" {
		return r, again, nil
	}
	if c.Check != nil {
		if err = c.Check(); err != nil {
			return r, "", err
		}
	}
	files, err := s.Exec.Files(ctx, p, s.Observer())
	if err != nil {
		return r, "", err
	}
	defer files.Close()
	_, left, err := t.draft.Keep(ctx, files, t.changes)
	r = ran(t.outcome, t.outcome.Output.Text())
	if r.Kept = true; s.Output != nil {
		s.Output(0, []byte(r.Output))
	}
	for _, l := range left { // something came between; to run it now would do the rest twice
		r.Failed, r.Outcome = true, word.Failed
		r.Text += "\n(not written: " + l.Path + ": " + l.Why + ")"
	}
	return r, "", err
}

// Tried is what the person sees of it.
func (t *Trial) Tried() approvals.Tried {
	how, _, _ := strings.Cut(ran(t.outcome, "").Text, "\n")
	x, room := approvals.Tried{Said: how, Again: t.Again()}, 4<<20
	draft.Chosen(t.changes, func(c draft.Change) (draft.Change, bool) { // without folders that have changes in them
		shown, _, _ := DraftChange(c, &room)
		x.Changes = append(x.Changes, shown)
		return c, false
	})
	return x
}

// maxCompared is the size of the largest file that is compared, in bytes.
const maxCompared = 256 << 10

// DraftChange returns c as it is shown, and the contents that were compared, which it takes from room.
func DraftChange(c draft.Change, room *int) (shown approvals.TriedChange, old, now []byte) {
	shown = approvals.TriedChange{FileChange: event.FileChange{Path: c.Path, Kind: c.Kind}, Why: c.Why}
	switch before, after := c.Mode(); {
	case c.Type == "link" && c.Kind != sandbox.Deleted:
		shown.Note = "link to " + c.Target()
	case c.Type != "file":
		shown.Note = c.Type
	case c.Kind == sandbox.Updated && before != after:
		shown.Note = fmt.Sprintf("mode %04o to %04o", before, after)
	}
	old, now, ok := c.Contents(maxCompared)
	if !ok || *room <= 0 || c.OnlyMode() {
		return shown, nil, nil
	}
	*room -= len(old) + len(now)
	shown.FileChange = Compare(c.Path, old, now)
	return shown, old, now
}
