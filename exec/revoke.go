package exec

import (
	"slices"
	"sync"

	"codeagent/sandbox"
)

// commands are the running commands, so that grants can be revoked from them.
type commands struct {
	mu   sync.Mutex
	list map[*execution]bool // guarded by mu
	// revoked lists what was revoked from all commands, oldest first; guarded by mu.
	revoked []sandbox.Revocation
}

// add adds a command that starts. Revocations since the decision about it will be applied to it.
func (c *commands) add(run *execution) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil {
		c.list = map[*execution]bool{}
	}
	c.list[run] = true
	for _, back := range c.revoked {
		if run.serves() {
			break
		}
		if back.Number > run.policy.Revision && !run.policy.Unconfined {
			run.taken, run.revoked = append(run.taken, back), append(run.revoked, back)
		}
	}
}

func (c *commands) remove(run *execution) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.list, run)
}

// started sets the process of a command, and applies the revocations that were made while it
// started.
func (c *commands) started(run *execution, proc sandbox.Process) {
	c.mu.Lock()
	run.proc = proc
	late := run.revoked
	run.revoked = nil
	c.mu.Unlock()
	for _, c := range late {
		_ = proc.Revoke(c) // already counted as a running command, by Runner.Revoke
	}
}

// serves reports whether run is that of a Service, which has a policy of its own: see
// Service.Revoke.
func (run *execution) serves() bool { return run.command.served != nil }

// Revoke takes back what back lists from every running command, including jobs, if possible. It
// leaves services alone. It returns the number of affected commands, and the combined result.
func (r *Runner) Revoke(back sandbox.Revocation) (running int, out sandbox.RevokeResult) {
	if back.Empty() {
		return 0, out
	}
	inside := len(back.Write)+len(back.Read)+len(back.Hosts)+len(back.Sockets) > 0
	r.live.mu.Lock()
	r.live.revoked = append(r.live.revoked, back)
	var procs []sandbox.Process
	for run := range r.live.list {
		if run.serves() {
			continue
		}
		run.taken = append(run.taken, back)
		switch {
		case run.policy.Unconfined && back.Unsandboxed:
			running++
			out.Stays = []string{"everything, in commands that run outside the sandbox"}
		case run.policy.Unconfined, !inside:
			// Nothing can be revoked from an unconfined command, and a grant to run outside does not affect
			// a sandboxed one.
		case run.proc == nil:
			run.revoked = append(run.revoked, back)
			running++
		default:
			procs = append(procs, run.proc)
		}
	}
	r.live.mu.Unlock()
	for _, proc := range procs {
		one := proc.Revoke(back)
		out.Cut += one.Cut
		for _, words := range one.Stays {
			if !slices.Contains(out.Stays, words) {
				out.Stays = append(out.Stays, words)
			}
		}
	}
	slices.Sort(out.Stays)
	return running + len(procs), out
}

// Revoke takes back what back lists from one job. It returns false if the job does not exist or has ended.
func (l *Jobs) Revoke(id int, back sandbox.Revocation) (sandbox.RevokeResult, bool) {
	j := l.Find(id)
	if j == nil || !j.lives() {
		return sandbox.RevokeResult{}, false
	}
	live := l.runner.live
	live.mu.Lock()
	j.running.taken = append(j.running.taken, back)
	live.mu.Unlock()
	return j.running.proc.Revoke(back), true
}

// takenFrom returns what was revoked from a command.
func (c *commands) takenFrom(run *execution) []sandbox.Revocation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(run.taken)
}
