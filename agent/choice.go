package agent

import "codeagent/model"

// Choice is what answers: a model and what is known of it.
type Choice struct {
	Model Model
	// ModelName and Effort are as in model.Request.
	ModelName, Effort string
	// MaxOutputTokens is the model's limit for an answer, 0 for the provider's own.
	MaxOutputTokens int
	// ContextLimit is how many tokens the model takes; 0: not known.
	ContextLimit int
	// Blind: it cannot see images.
	Blind bool
}

// Use has another model answer from the next turn on. The conversation stays as
// it is: what belongs to the provider before is not sent to another one. The
// error is ErrBusy while a turn runs.
func (a *Agent) Use(c Choice) error {
	if !a.turning.TryLock() {
		return ErrBusy
	}
	defer a.turning.Unlock()
	a.use(c)
	a.spent(model.Usage{}) // the limit is another one
	return nil
}

func (a *Agent) use(c Choice) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cfg.Model, a.cfg.ModelName, a.cfg.Effort = c.Model, c.ModelName, c.Effort
	a.cfg.MaxOutputTokens, a.cfg.ContextLimit, a.cfg.Blind = c.MaxOutputTokens, c.ContextLimit, c.Blind
	a.doubted = false
	fixed := a.budget.fixed
	a.budget = newBudget(c.ContextLimit, c.MaxOutputTokens, a.cfg.CompactAt)
	a.budget.fixed = fixed
	a.budget.replaced(weighAll(a.items))
}
