package exec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"codeagent/sandbox"
)

// Trees are the process trees that run for a session, whichever Runner started them, and what they
// changed. The zero value is ready.
//
// Threat: a command outside the sandbox runs and reads files that confined ones can change. A person's
// yes to what they saw in such files is void once something writes there: a later call, which the
// backend reports (sandbox.Command.Changed), or a descriptor or mapping that was opened before.
type Trees struct {
	trail trail

	looking sync.Mutex // held by Writers while it looks; it is taken before mu
	mu      sync.Mutex
	list    []*execution // in the order of their starts; guarded by mu
}

// Writer is a running command that may write files. Holds are those that it holds open.
type Writer struct {
	By    string
	Holds []string
}

// Mark returns the present moment, for Since.
func (t *Trees) Mark() int64 { return t.trail.mark() }

// Since returns what commands, servers and edits changed after mark, in the order of the latest
// change of each path. A mark of 0 is the start of the session. all is false if some are forgotten.
func (t *Trees) Since(mark int64) (changes []Change, all bool) { return t.trail.since(mark) }

// begin adds a command that starts. It waits while others are stopped.
func (t *Trees) begin(run *execution) {
	t.looking.Lock()
	defer t.looking.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(t.list, run)
}

func (t *Trees) end(run *execution) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = slices.DeleteFunc(t.list, func(r *execution) bool { return r == run })
}

// stop stops the trees of list until no process of them runs. resume continues the processes that were stopped here,
// and no others. On an error nothing stays stopped. If codeagent ends meanwhile, the keepers kill what is stopped.
func stop(list []*execution) (resume func(), err error) {
	var again []func()
	resume = func() {
		for _, resume := range again {
			resume()
		}
	}
	for _, run := range list {
		tree, ok := run.process().(sandbox.Tree)
		if !ok {
			err = errors.New("it runs outside the sandbox or is about to start")
		} else if resume, stopped := tree.Stop(); stopped == nil {
			again = append(again, resume)
		} else {
			err = stopped
		}
		if err != nil {
			resume()
			return nil, fmt.Errorf("%s cannot be stopped: %w", run.command.by(), err)
		}
	}
	return resume, nil
}

// Writers lists the trees that may write where below holds, with the files there that they hold open for
// writing, or have mapped so that writes are seen in the file. One that does nothing now counts: it could
// write what a command reads after its start. The trees are stopped for that moment: a running one could
// hand its descriptors to a process that was looked at already. A tree that cannot be examined is a writer.
func (t *Trees) Writers(below func(path string) bool) (out []Writer) {
	t.looking.Lock()
	defer t.looking.Unlock()
	t.mu.Lock()
	list := slices.Clone(t.list)
	t.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	resume, err := stop(list)
	if err == nil {
		defer resume()
	}
	for _, run := range list {
		w := Writer{By: run.command.by()}
		known := err == nil && run.runner.Observes(run.policy) // without reports, an open after the look is not seen
		if tree, ok := run.process().(sandbox.Tree); known && ok {
			w.Holds, known = tree.Holds(below)
		} else {
			known = false
		}
		may := slices.ContainsFunc(run.policy.Roots(), func(r sandbox.Root) bool { return below(r.Path) })
		if !known || may || len(w.Holds) > 0 {
			out = append(out, w)
		}
	}
	return out
}

// changes returns what a backend calls for each change of a command.
func (t *Trees) changes(p sandbox.Policy, by string) func(path string) {
	if p.Unconfined {
		return nil // a person let it
	}
	return func(path string) { t.trail.add(path, by) }
}

// unseen counts a command whose changes the backend does not see: it may have changed all that it can
// write.
func (r *Runner) unseen(p sandbox.Policy, by string) {
	roots := p.Roots()
	if p.Unconfined || len(roots) == 0 || r.Observes(p) {
		return
	}
	for _, root := range roots {
		r.options.Trees.trail.add(root.Path, by)
	}
}

// process returns the process, or nil while it starts.
func (run *execution) process() sandbox.Process {
	run.runner.live.mu.Lock()
	defer run.runner.live.mu.Unlock()
	return run.proc
}

// by names the command in words for a question.
func (c Command) by() string { return cmp.Or(c.By, "a command") }
