package conversation

import (
	"cmp"
	"context"
	"fmt"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/cmd/codeagent/cli"
	"codeagent/cmd/codeagent/providers"
	"codeagent/cmd/codeagent/workspace"
	"codeagent/config"
	"codeagent/event"
	"codeagent/event/word"
)

// Use switches to another model, if it answers.
func (ses *Session) Use(ctx context.Context, list []providers.ListedModel, name string, show func(event.Event)) error {
	now := ses.Asked()
	c, err := providers.Of(ses.Workspace).Switch(ctx, now, list, name)
	if err != nil {
		return fmt.Errorf("cannot use %s: %w\nstill using %s", name, cli.InWords(err), cmp.Or(now.Title(now.Name), "the provider's model"))
	}
	if err := ses.restrict(c); err != nil {
		return fmt.Errorf("cannot use %s: %w", name, err)
	}
	if err := ses.Agent.Use(ses.choice(c)); err != nil {
		_ = ses.restrict(now) // the same limits were accepted before
		return err
	}
	if r := ses.Record; r != nil {
		if err := r.Log.Asks(c.Kept()); err != nil {
			show(event.Notice{Level: word.LevelError, Text: "cannot save the model change: " + err.Error()})
		}
	}
	ses.asks(c, show)
	return nil
}

// Think changes how long the model may think, from the next turn on.
func (ses *Session) Think(_ context.Context, effort string) error {
	if err := ses.Workspace.Config.Decides("reasoning_effort", effort); err != nil {
		return err
	}
	was := ses.Workspace.Config.ReasoningEffort
	ses.Workspace.Config.ReasoningEffort = effort
	if err := ses.Agent.Use(ses.choice(ses.Asked())); err != nil {
		ses.Workspace.Config.ReasoningEffort = was
		return err
	}
	ses.Options.Effort = effort
	return nil
}

// restrict passes a model's limits from the settings to the gate. Managed settings decide about a provider's model.
func restrict(ws *workspace.Workspace, gate *approvals.Gate, c providers.Chosen, managed bool) error {
	if managed {
		if err := c.Managed(ws.Config); err != nil {
			return err
		}
	}
	return gate.SetModel(approvals.ModelRules{
		ReadOnly: c.Rules.Sandbox == config.ReadOnly, MustJustify: c.Rules.MustJustify, NoOutside: !c.Rules.MayAskOutside || ws.Draft != nil,
		Fixed: c.Rules.Sandbox == config.ReadOnly && len(ws.Config.Managed("models.")) > 0,
	})
}

func (ses *Session) restrict(c providers.Chosen) error {
	return restrict(ses.Workspace, ses.Gate, c, ses.Tour == nil && !ses.Options.ToolsOnly)
}

// preset names the policy that applies now.
func (ses *Session) preset() string {
	if ses.Gate.ReadOnly() {
		return config.ReadOnly
	}
	return ses.Workspace.Config.Sandbox.Mode
}

func (ses *Session) choice(c providers.Chosen) agent.Choice {
	return agent.Choice{
		Model: c.Model, ModelName: c.Name, Effort: ses.Workspace.Config.ReasoningEffort,
		MaxOutputTokens: int(c.Limits.Output), ContextLimit: int(c.Context()), Blind: c.Blind(),
	}
}

// Asked returns the current model.
func (ses *Session) Asked() providers.Chosen {
	ses.choosing.Lock()
	defer ses.choosing.Unlock()
	return ses.chosen
}

// asks makes c the current model, and reports it. Only a turn, or code that runs between
// turns, may call it.
func (ses *Session) asks(c providers.Chosen, tell func(event.Event)) {
	ses.choosing.Lock()
	ses.chosen = c
	ses.choosing.Unlock()
	ses.describe(c)
	tell(ses.start)
}

// describe puts what is known about the model into the event that begins the session.
func (ses *Session) describe(c providers.Chosen) {
	ses.start.Model = c.Title(c.Name)
	ses.start.Window, ses.start.Assumed = cmp.Or(c.Context(), agent.DefaultContext), c.Context() == 0
	ses.start.KeyFrom = c.KeyFrom
}
