package exec

import (
	"context"

	"codeagent/exec/worker"
	"codeagent/hostfile"
	"codeagent/sandbox"
)

// Files starts a file worker under p. The caller closes it; the end of ctx kills it. k is
// as in sandbox.Command.
func (r *Runner) Files(ctx context.Context, p sandbox.Policy, k sandbox.ChangeObserver) (*worker.Client, error) {
	if r.options.apart {
		p = draftPolicy(p, hostfile.OS{})
	}
	backend, exact, err := r.resolve(workerPolicy(p))
	if err != nil {
		return nil, err
	}
	theirIn, in, err := newPipe(1)
	if err != nil {
		return nil, cannot("file worker", err)
	}
	defer theirIn.Close()
	out, theirOut, err := newPipe(0)
	if err != nil {
		in.Close()
		return nil, cannot("file worker", err)
	}
	defer theirOut.Close()
	on, changed := r.changes(p, anEdit)
	cmd := sandbox.Command{
		Path: sandbox.FileWorker, Args: []string{"file-worker"}, Dir: "/", Env: []string{},
		Stdin: theirIn, Stdout: theirOut, Observer: k,
		Draft: on, Changed: changed, Alive: r.alive(), Looked: r.options.looked, Idle: r.options.idle,
	}
	defer cmd.Alive.Close()
	r.unseen(p, anEdit)
	process, err := backend.Start(ctx, exact, cmd, nil)
	if err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	return worker.New(ctx, process, in, out), nil
}

// FilesOn starts one that works on the draft d, and reports its changes there alone.
func (r *Runner) FilesOn(ctx context.Context, p sandbox.Policy, d Draft) (*worker.Client, error) {
	o := r.options
	o.Draft, o.Trees, o.apart = d, nil, true
	return New(o).Files(ctx, p, nil)
}

// Ahead returns a Runner whose commands and file workers run on the draft d at the lowest priority, and pass to looked
// what they look up, as Command.Looked.
func (r *Runner) Ahead(d Draft, looked func(path string, opened bool)) *Runner {
	o := r.options
	o.Draft, o.Trees, o.apart, o.looked, o.idle = d, nil, true, looked, true
	return New(o)
}

// anEdit names the changes of file workers.
const anEdit = "an edit"

// workerPolicy returns p for the worker: without network, and without limits, since limits
// meant for commands could end it in the middle of a file.
func workerPolicy(p sandbox.Policy) sandbox.Policy {
	q := p.Clone()
	q.Limits = sandbox.Limits{}
	q.Network = sandbox.Network{}
	q.Sockets = nil
	return q
}
