package conversation

import (
	"fmt"
	"slices"
	"sync"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/draft"
	"codeagent/egress"
	"codeagent/event"
	"codeagent/exec"
	"codeagent/tools"
)

// apart is the runner of the helpers' commands. They share no network with those of the session: a server
// that the session started would write for a helper what it may not write itself.
type apart struct {
	mu     sync.Mutex
	runner *exec.Runner // nil until the first helper
	over   func()
	drafts []*exec.Runner          // of the helpers that work on drafts now
	made   map[string]*draft.Draft // with changes, by ID; of helpers that have ended
}

// of returns the runner. Without a sandbox it is the session's: the gate then refuses every command.
func (a *apart) of(ws *workspace.Workspace) (_ *exec.Runner, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.runner != nil:
	case ws.Policy.Unconfined:
		a.runner, a.over = ws.Runner, func() {}
	default:
		a.runner, a.over, err = ws.Apart()
	}
	return a.runner, err
}

func (a *apart) close() error {
	if a.over != nil {
		a.over()
	}
	return nil
}

// on notes a runner of a helper on a draft, until over.
func (a *apart) on(r *exec.Runner) (over func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drafts = append(a.drafts, r)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.drafts = slices.DeleteFunc(a.drafts, func(x *exec.Runner) bool { return x == r })
	}
}

// ended keeps a draft for keep_draft.
func (a *apart) ended(d *draft.Draft) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.made == nil {
		a.made = map[string]*draft.Draft{}
	}
	a.made[d.ID()] = d
}

// draft returns the draft with that ID of a helper that has ended, or nil.
func (a *apart) draft(id string) *draft.Draft {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.made[id]
}

// others returns the runners of helpers that are not own, that of the session.
func (a *apart) others(own *exec.Runner) []*exec.Runner {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.DeleteFunc(append(slices.Clone(a.drafts), a.runner), func(r *exec.Runner) bool { return r == nil || r == own })
}

// prompter writes the system text of a helper.
type prompter func(*approvals.Gate, *exec.Runner, *tools.Set) string

// helper sets up helper n of a call of delegate.
func (ses *Session) helper(n int, kind string, o tools.Options, prompt prompter) (agent.Helper, error) {
	if kind == tools.Change {
		return ses.changer(n, o, prompt)
	}
	runner, err := ses.apart.of(ses.Workspace)
	if err != nil {
		return agent.Helper{}, err
	}
	return ses.helping(approvals.Helper{Name: event.HelperName(n, kind)}, kind, runner, o, prompt)
}

// changer sets up a helper that works on a draft of its own, which stays as data when it ends if it changed something.
// It writes what the session may write now, without what answers opened.
func (ses *Session) changer(n int, o tools.Options, prompt prompter) (agent.Helper, error) {
	d, runner, roots, over, err := ses.Workspace.DraftApart(ses.Gate.Ungranted(), event.HelperName(n, tools.Change))
	if err != nil {
		return agent.Helper{}, fmt.Errorf("it needs a draft: %w; a helper of another kind reads", err)
	}
	forget := ses.apart.on(runner)
	h, err := ses.helping(approvals.Helper{Name: event.HelperName(n, tools.Change), Draft: roots}, tools.Change, runner, o, prompt)
	if err != nil {
		forget()
		over()
		return h, err
	}
	remove := h.Close
	h.Close = func(r *tools.Report) {
		if list, err := d.Changes(); err != nil {
			r.Draft, r.Unlisted = d.ID(), err.Error()
		} else if r.Changes = list; len(list) > 0 {
			r.Draft = d.ID()
		}
		remove(r)
		forget()
		over()
		if r.Draft != "" {
			ses.apart.ended(d)
		}
	}
	return h, nil
}

// helping sets up h. It gets a folder for temporary files that ends with it.
func (ses *Session) helping(h approvals.Helper, kind string, runner *exec.Runner, o tools.Options, prompt prompter) (agent.Helper, error) {
	temp, remove, err := ses.Workspace.Paths.NewTemp()
	if err != nil {
		return agent.Helper{}, err
	}
	h.Temp = temp
	gate := ses.Gate.Helper(h)
	seen := Temp(ses)
	seen.Policy = gate.Open
	o.Temp = seen.Path
	set := tools.Helping(o, kind)
	return agent.Helper{
		Tools: set, Gate: gate, Stage: tools.Stage{Exec: runner, Fetch: egress.New(ses.Workspace.Process.Version)},
		Instructions: func() string { return prompt(gate, runner, set) },
		Close:        func(*tools.Report) { _ = remove() }, // what is left is swept later
	}, nil
}
