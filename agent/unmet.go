package agent

import (
	"slices"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/sandbox"
	"codeagent/tools"
)

// A command can fail because of a refusal, or hide one behind a status of 0. In a run without a
// person, the turn reports what the command needed, like any other permission that nobody could
// grant. It does not if the model achieved the same in another way before the turn ended.

// need is a refusal of something that a command needed.
type need struct {
	action  approvals.Action
	verdict sandbox.Verdict
	refusal event.Refusal
}

// note records which connections a call made, and what a command needed and was refused. A command that passed
// removes the needs that it met. With Bounds.Refused the first need ends the turn.
func (c *toolCall) note(res tools.Result) {
	a, v := c.turn.agent, res.Verdict
	server := ""
	if s := c.action.Server; s != nil {
		server = s.Server
	}
	if l := v.Connections; res.Job == 0 && !l.IsZero() { // those of a job come once, when it ends
		a.cfg.Gate.Ledger().Connected(server, l)
	}
	if a.cfg.Attended || res.Running {
		return
	}
	gate := a.cfg.Gate
	refusal := gate.Unmet(c.action, v)
	if refusal != nil && v.Denied && v.Confidence != sandbox.Certain && a.cfg.Without.Unasked().Known(v.Needs()) {
		refusal = nil // its programs usually survive that
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case refusal != nil:
		q := refusal.Request
		a.unmet = append(a.unmet, need{c.action, v, event.Refusal{Title: q.Title, Grant: q.Grant, Hint: refusal.Hint}})
		if a.cfg.Bounds.Refused {
			c.turn.stop(ErrRefused)
		}
	case !res.Failed:
		a.unmet = slices.DeleteFunc(a.unmet, func(n need) bool { return gate.Met(n.action, n.verdict, c.action, v) })
	}
}

// refuseUnmet adds the remaining needs to the turn's refusals. It skips needs that the model's own
// refused requests cover.
func refuseUnmet(a *Agent) {
	a.mu.Lock()
	left := slices.DeleteFunc(a.unmet, func(n need) bool {
		return slices.ContainsFunc(a.refused, func(r event.Refusal) bool { return r.Grant.Covers(n.refusal.Grant) })
	})
	a.unmet = nil
	a.mu.Unlock()
	for _, n := range left {
		a.refuse(n.refusal)
	}
}

// refusedCall removes and returns what one call needed and was refused. It also forgets the refusals
// of calls that did not run: their results already say what would allow them.
func refusedCall(a *Agent, id string) (out []event.Refusal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unmet = slices.DeleteFunc(a.unmet, func(n need) bool {
		if n.action.CallID != id {
			return false
		}
		out = append(out, n.refusal)
		return true
	})
	a.refused = nil
	return out
}
