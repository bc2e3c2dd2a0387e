package tools

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"codeagent/approvals"
	"codeagent/event/word"
	"codeagent/exec"
	"codeagent/sandbox"
)

const writeStdinExample = `{"session_id": 1, "chars": "print(1 + 1)\n"}`

type writeStdinArguments struct {
	Job     int    `json:"session_id" jsonschema:"The job number that shell gave."`
	Chars   string `json:"chars,omitempty" jsonschema:"What to type, with its line ends: \"ls\\n\". \"\\u0003\" is Ctrl+C, \"\\u0004\" Ctrl+D (the end of stdin). Leave it out to read only."`
	YieldMS int    `json:"yield_time_ms,omitempty" jsonschema:"How many milliseconds to wait for output at most. Default 1000 after typing, 5000 without; at most 600000."`
	WaitFor string `json:"wait_for,omitempty" jsonschema:"Wait until this text appears in the new output. Without it until there is output and then silence for a tenth of yield_time_ms."`
}

// maxChars is the most that is typed at once: as much as a person can review.
const maxChars = 64 << 10

// writeStdinTool types to background commands and reads them.
type writeStdinTool struct{ jobs *exec.Jobs }

func (t *writeStdinTool) plan(a writeStdinArguments) (*call, error) {
	if len(a.Chars) > maxChars {
		return nil, fmt.Errorf("the argument \"chars\" has %d bytes; at most %d are typed at once: write a file and let the command read that", len(a.Chars), maxChars)
	}
	unsaid := pollYield
	if a.Chars != "" {
		unsaid = typedYield
	}
	wait, err := waitFor(a.YieldMS, a.WaitFor, unsaid)
	if err != nil {
		return nil, err
	}
	job, err := find(t.jobs, a.Job)
	if err != nil {
		return nil, err
	}
	info := job.Info()
	if a.Chars == "" {
		return &call{action: watching("write_stdin", fmt.Sprintf("wait for job %d: $ %s", info.ID, oneLine(info.Text)), info), run: func(ctx context.Context, _ sandbox.Policy, s Stage) (Result, error) {
			return read(ctx, s, job, wait), nil
		}}, nil
	}
	if info.Starting {
		// Until then it may be granted more, which the question would not show.
		return nil, fmt.Errorf("job %d is still being started: type to it when the call of shell has returned", info.ID)
	}
	action := approvals.Action{
		Tool: "write_stdin", Kind: word.KindInput, Title: fmt.Sprintf("type %s to job %d: $ %s", show(a.Chars), info.ID, oneLine(info.Text)), Folder: info.Dir,
		Input: a.Chars, Running: approvals.Running{ID: info.ID, Command: info.Text, Policy: info.Policy, Granted: info.Granted},
	}
	return &call{action: action, run: func(ctx context.Context, _ sandbox.Policy, s Stage) (Result, error) {
		return typeTo(ctx, s, job, a.Chars, wait), nil
	}}, nil
}

// typeTo types chars and reads the answer. If the command has ended before that, the result
// says how it ended.
func typeTo(ctx context.Context, s Stage, job *exec.Job, chars string, w exec.Wait) Result {
	err := job.Type(ctx, chars)
	if err != nil && !errors.Is(err, exec.ErrEnded) {
		r := read(ctx, s, job, exec.Wait{})
		r.Failed, r.Outcome, r.Message = true, word.Failed, err.Error()
		r.Text = fmt.Sprintf("Not typed: %v.\n%s", err, r.Text)
		return r
	}
	r := read(ctx, s, job, w)
	if err != nil {
		r.Failed, r.Outcome = true, word.Failed
		r.Text = fmt.Sprintf("Not typed: %v.\n%s", err, r.Text)
	}
	return r
}

// find returns the job with that number. The error lists the existing jobs.
func find(jobs *exec.Jobs, id int) (*exec.Job, error) {
	if jobs == nil {
		return nil, errNoJobs
	}
	if s := jobs.Find(id); s != nil {
		return s, nil
	}
	var names []string
	for _, info := range jobs.List() {
		names = append(names, strconv.Itoa(info.ID))
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no job %d: nothing runs in the background. Jobs end with codeagent; start the command again with shell and \"background\": true", id)
	}
	return nil, fmt.Errorf("there is no job %d; there is %s", id, strings.Join(names, ", "))
}

// watching returns the action of reading one job, or of ending it.
func watching(tool, title string, info exec.Info) approvals.Action {
	return approvals.Action{Tool: tool, Kind: word.KindWatch, Title: title, Folder: info.Dir}
}
