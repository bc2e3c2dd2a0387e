package conversation

import (
	"sync"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/cmd/codeagent/workspace"
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
	if a.started() != nil {
		a.over()
	}
	return nil
}

// started returns the runner, or nil before the first helper.
func (a *apart) started() *exec.Runner {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.runner
}

// helper sets up helper n of a call of delegate. It gets a folder for temporary files that ends with it.
func (ses *Session) helper(n int, kind string, o tools.Options, prompt func(*approvals.Gate, *exec.Runner, *tools.Set) string) (agent.Helper, error) {
	runner, err := ses.apart.of(ses.Workspace)
	if err != nil {
		return agent.Helper{}, err
	}
	temp, remove, err := ses.Workspace.Paths.NewTemp()
	if err != nil {
		return agent.Helper{}, err
	}
	gate := ses.Gate.Helper(approvals.Helper{Name: event.HelperName(n, kind), Temp: temp})
	seen := Temp(ses)
	seen.Policy = gate.Open
	o.Temp = seen.Path
	set := tools.Reading(o)
	return agent.Helper{
		Tools: set, Gate: gate, Stage: tools.Stage{Exec: runner, Fetch: egress.New(ses.Workspace.Process.Version)},
		Instructions: func() string { return prompt(gate, runner, set) },
		Close:        func() { _ = remove() }, // what is left is swept later
	}, nil
}
