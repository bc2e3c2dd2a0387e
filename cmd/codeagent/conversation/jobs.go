package conversation

import (
	"fmt"

	"codeagent/event"
	"codeagent/exec"
	"codeagent/tools"
)

// news returns the background commands that ended since its last call.
func (ses *Session) news() []event.BackgroundEnded {
	var out []event.BackgroundEnded
	for _, info := range ses.Jobs.News() {
		out = append(out, ses.over(info, tools.Ended(info)))
	}
	return out
}

// over returns the event for the end of a background command, with this message.
func (ses *Session) over(info exec.Info, words string) event.BackgroundEnded {
	o := info.Outcome
	return event.BackgroundEnded{
		Job: info.ID, Command: info.Text, Folder: info.Dir, Message: words,
		Exit: o.Status.Exit, Signal: o.SignalName(), Limit: o.Limit, Duration: o.Duration,
		Output: tools.Unread(info, ses.Jobs.Output(info.ID)), Verdict: o.Verdict, Changed: o.Changed,
	}
}

// EndJobs ends the running background commands and reports each.
func (ses *Session) EndJobs(tell func(event.BackgroundEnded)) {
	if ses.Jobs == nil {
		return
	}
	for _, info := range ses.Jobs.Close() {
		e := ses.over(info, fmt.Sprintf("ended with codeagent: background command %d in %s: %s", info.ID, info.Dir, info.Text))
		e.Killed = true
		tell(e)
	}
}
