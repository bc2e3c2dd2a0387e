package tools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/exec"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

const backgroundExample = `{"action": "kill", "session_id": 1}`

// Actions of the tool.
const (
	listAction = "list"
	killAction = "kill"
)

type backgroundArguments struct {
	Action string `json:"action" jsonschema:"list shows every job; kill ends one with all it started."`
	Job    int    `json:"session_id,omitempty" jsonschema:"For kill: the job number that shell gave."`
}

// backgroundTool lists and ends background commands.
type backgroundTool struct{ jobs *exec.Jobs }

func (t *backgroundTool) plan(a backgroundArguments) (*call, error) {
	switch a.Action {
	case listAction:
		if t.jobs == nil {
			return nil, errNoJobs
		}
		action := approvals.Action{Tool: "background", Kind: word.KindWatch, Title: "list background commands"}
		return &call{action: action, run: func(context.Context, sandbox.Policy, Stage) (Result, error) { return listed(t.jobs.List()), nil }}, nil
	case killAction:
		job, err := find(t.jobs, a.Job)
		if err != nil {
			return nil, err
		}
		info := job.Info()
		action := watching("background", fmt.Sprintf("end job %d: $ %s", info.ID, oneLine(info.Text)), info)
		return &call{action: action, run: func(ctx context.Context, _ sandbox.Policy, s Stage) (Result, error) {
			t.jobs.Kill(info.ID)
			return read(ctx, s, job, exec.Wait{}), nil
		}}, nil
	}
	return nil, fmt.Errorf("the argument \"action\" must be %q or %q, not %s. Example: %s", listAction, killAction, show(a.Action), backgroundExample)
}

func listed(list []exec.Info) Result {
	if len(list) == 0 {
		return done("Nothing runs in the background.", "nothing runs")
	}
	var b strings.Builder
	running := 0
	for _, info := range list {
		state := "ended: " + ending(info.Outcome)
		if info.Running {
			running++
			state = "running for " + short.Duration(time.Since(info.Started))
		}
		fmt.Fprintf(&b, "job %d: %s; %d bytes of output; in %s: $ %s\n", info.ID, state, info.Printed, info.Dir, oneLine(info.Text))
	}
	return done(strings.TrimRight(b.String(), "\n"), fmt.Sprintf("%d running", running))
}
