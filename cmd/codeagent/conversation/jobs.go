package conversation

import (
	"crypto/sha256"
	"fmt"
	"net/netip"

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

// addresses are the addresses at which the person reaches ports of jobs.
func addresses(jobs *exec.Jobs) (out []string) {
	for _, p := range jobs.Ports() {
		out = append(out, "http://"+p.At.String())
	}
	return out
}

// publishAt returns where ports of a session are served: an address of the loopback for each session, so
// that no other local server gets its cookies. 127.0 and 127.1 are left to others.
func publishAt(session string) netip.Addr {
	sum := sha256.Sum256([]byte(session))
	return netip.AddrFrom4([4]byte{127, 64 + sum[0]%64, sum[1], 1 + sum[2]%254})
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
		e := ses.over(info, fmt.Sprintf("ended with codeagent: job %d in %s: %s", info.ID, info.Dir, info.Text))
		e.Killed = true
		tell(e)
	}
}
