package agent

import (
	"errors"
	"fmt"
	"slices"

	"codeagent/event"
	"codeagent/model"
)

// Bounds end a turn that uses too much. They are checked before each request: the calls of the
// last answer have run by then. A request of a helper that reaches one ends all helpers with their commands: the turn
// could not read their reports.
type Bounds struct {
	// Requests bounds the requests of one turn; 0 is DefaultRequests.
	Requests int
	// Tokens bounds the input and output of all requests together, Cost their cost by Price; 0:
	// unbounded.
	Tokens int
	Cost   float64
	Price  model.Price
	// Refused: the first permission that nobody can grant ends the turn, whether the model asked
	// for it or the sandbox denied it to a command that needed it.
	Refused bool
}

// DefaultRequests is how many requests a turn may make.
const DefaultRequests = 200

// Errors of a turn that reached a bound.
var (
	ErrOutOfRequests = errors.New("reached the limit of requests to the model")
	ErrOutOfTokens   = errors.New("reached the limit of tokens")
	ErrOutOfCost     = errors.New("reached the limit of cost")
	ErrRefused       = errors.New("stopped at a refused permission")
)

// bounded reports whether cause is that a turn reached one of its bounds.
func bounded(cause error) bool {
	return slices.ContainsFunc([]error{ErrOutOfRequests, ErrOutOfTokens, ErrOutOfCost, ErrRefused}, func(e error) bool { return errors.Is(cause, e) })
}

// take counts one more request, here and in the turn that this is a helper of. It returns an error if
// either has made all of its requests.
func (t *turn) take() error {
	if p := t.agent.parent; p != nil {
		if err := p.take(); err != nil {
			p.stop(err)
			return err
		}
	}
	t.agent.mu.Lock()
	defer t.agent.mu.Unlock()
	if t.requests == t.agent.cfg.Bounds.Requests {
		return t.outOfRequests()
	}
	t.requests++
	return nil
}

// outOfRequests returns the error of a turn that has made all its requests.
func (t *turn) outOfRequests() error {
	err := fmt.Errorf("%w (%d)", ErrOutOfRequests, t.agent.cfg.Bounds.Requests)
	if t.same.count >= roundsNamed {
		err = fmt.Errorf("%w; the last %d repeated the same call with the same result", err, t.same.count)
	}
	return err
}

// spentAll returns an error if the tokens or the cost so far forbid another request.
func (t *turn) spentAll() error {
	a, b := t.agent, t.agent.cfg.Bounds
	if a.parent != nil {
		if err := a.parent.spentAll(); err != nil {
			a.parent.stop(err)
			return err
		}
	}
	a.mu.Lock()
	used := a.total.Add(a.guessed)
	a.mu.Unlock()
	if n := used.Input + used.Output; b.Tokens > 0 && n >= b.Tokens {
		return fmt.Errorf("%w (%d of %d)", ErrOutOfTokens, n, b.Tokens)
	}
	if cost := b.Price.Of(used); b.Cost > 0 && cost >= b.Cost {
		return fmt.Errorf("%w (%.4g of %.4g)", ErrOutOfCost, cost, b.Cost)
	}
	return nil
}

// guess counts estimated tokens for an answer if the provider reported no tokens, so that the
// bounds hold for such a provider too. weight is the estimate for the answer.
func (a *Agent) guess(reported model.Usage, weight int) {
	if reported.Input > 0 || reported.Output > 0 || weight == 0 {
		return
	}
	a.mu.Lock()
	u := model.Usage{Input: a.budget.asked, Output: weight}
	a.mu.Unlock()
	for ; a != nil; a = a.above() {
		a.mu.Lock()
		a.guessed = a.guessed.Add(u)
		a.mu.Unlock()
	}
}

// above is the agent that a is a helper of, or nil.
func (a *Agent) above() *Agent {
	if a.parent == nil {
		return nil
	}
	return a.parent.agent
}

// refused records a permission that nobody could grant. It may end the turn.
func (t *turn) refused(r event.Refusal) {
	if p := t.agent.parent; p != nil {
		p.refused(r)
	}
	t.agent.refuse(r)
	if t.agent.cfg.Bounds.Refused {
		t.stop(ErrRefused)
	}
}
