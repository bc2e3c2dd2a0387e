package agent

import (
	"slices"

	"codeagent/event"
	"codeagent/tools"
)

// A command can hide a refusal behind a status of 0. Where nobody can be asked, the turn reports what
// the command itself names like any other permission that nobody could grant. A command that failed
// for a refusal hides nothing: the model asks, finds another way or says so.

// note records what a command that passed needed and was refused.
func (c *toolCall) note(res tools.Result) {
	a := c.turn.agent
	if a.cfg.Attended || res.Running {
		return
	}
	if refusal := a.cfg.Gate.Unmet(c.action, res.Verdict); refusal != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.unmet = append(a.unmet, event.Refusal{Title: refusal.Request.Title, Grant: refusal.Request.Grant, Hint: refusal.Hint})
	}
}

// refuseUnmet adds these needs to the turn's refusals, unless the model asked for the same or more.
func (a *Agent) refuseUnmet() {
	a.mu.Lock()
	left := slices.DeleteFunc(a.unmet, func(u event.Refusal) bool {
		return slices.ContainsFunc(a.refused, func(r event.Refusal) bool { return r.Grant.Covers(u.Grant) })
	})
	a.unmet = nil
	a.mu.Unlock()
	for _, u := range left {
		a.refuse(u)
	}
}
