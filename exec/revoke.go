package exec

import (
	"slices"
	"sync"

	"codeagent/sandbox"
)

// commands lists the running commands, so that grants can be revoked from them.
type commands struct {
	mu   sync.Mutex
	list map[*execution]bool // guarded by mu
	// revoked lists every revocation by Runner.Revoke, oldest first; guarded by mu.
	revoked []sandbox.Revocation
}

// add adds a command that is about to start. Revocations made after its policy was decided become
// pending, and started applies them.
func (c *commands) add(run *execution) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil {
		c.list = map[*execution]bool{}
	}
	c.list[run] = true
	for _, back := range c.revoked {
		if run.isService() {
			break
		}
		if back.Number > run.policy.Revision && !run.policy.Unconfined {
			run.revoked, run.pending = append(run.revoked, back), append(run.pending, back)
		}
	}
}

func (c *commands) remove(run *execution) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.list, run)
}

// started sets the process of a command, and applies its pending revocations.
func (c *commands) started(run *execution, proc sandbox.Process) {
	c.mu.Lock()
	run.proc = proc
	pending := run.pending
	run.pending = nil
	c.mu.Unlock()
	for _, back := range pending {
		_ = proc.Revoke(back) // Runner.Revoke has returned, so nobody waits for the result
	}
}

// isService reports whether run belongs to a Service, which has its own policy: see Service.Revoke.
func (run *execution) isService() bool { return run.command.served != nil }

// Revoke revokes back from every running command and job, as far as their sandboxes can, but not
// from services. It returns the number of affected commands and the sum of their results.
func (r *Runner) Revoke(back sandbox.Revocation) (running int, out sandbox.RevokeResult) {
	if back.Empty() {
		return 0, out
	}
	inSandbox := len(back.Write)+len(back.Read)+len(back.Hosts)+len(back.Sockets) > 0
	r.live.mu.Lock()
	r.live.revoked = append(r.live.revoked, back)
	var procs []sandbox.Process
	for run := range r.live.list {
		if run.isService() {
			continue
		}
		run.revoked = append(run.revoked, back)
		switch {
		case run.policy.Unconfined && back.Unsandboxed:
			running++
			out.Stays = []string{"everything, in commands that run outside the sandbox"}
		case run.policy.Unconfined, !inSandbox:
			// An unconfined command has nothing that could be revoked, and a sandboxed one does not use a
			// grant to run outside.
		case run.proc == nil:
			run.pending = append(run.pending, back)
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

// Revoke revokes back from one job. It returns false if the job does not exist or has ended.
func (l *Jobs) Revoke(id int, back sandbox.Revocation) (sandbox.RevokeResult, bool) {
	j := l.Find(id)
	if j == nil || !j.lives() {
		return sandbox.RevokeResult{}, false
	}
	live := l.runner.live
	live.mu.Lock()
	j.running.revoked = append(j.running.revoked, back)
	live.mu.Unlock()
	return j.running.proc.Revoke(back), true
}

// revokedFrom returns everything that was revoked from a command.
func (c *commands) revokedFrom(run *execution) []sandbox.Revocation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(run.revoked)
}
