package agent

import "codeagent/model"

// Choice is a model and what is known about it.
type Choice struct {
	Model Model
	// ModelName and Effort are as in model.Request.
	ModelName, Effort string
	// MaxOutputTokens is the model's output limit; 0: the provider's default.
	MaxOutputTokens int
	// ContextLimit is the model's context in tokens; 0: not known.
	ContextLimit int
	// Blind: it cannot see images.
	Blind bool
}

// Use makes c the model from the next turn on. The conversation stays as it is; what only
// the previous provider can read is not sent. The error is ErrBusy while a turn runs.
func (a *Agent) Use(c Choice) error {
	if !a.turning.TryLock() {
		return ErrBusy
	}
	defer a.turning.Unlock()
	a.use(c)
	a.spent(model.Usage{}) // the limit has changed
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
	a.budget.items = weighAll(a.items)
}
