package acpcmd

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"codeagent/acp"
	"codeagent/approvals"
	"codeagent/cmd/codeagent/commands"
	"codeagent/config"
)

// The choices of a session.
const (
	choiceMode      = "mode"
	choiceApprovals = "approvals"
	choiceSandbox   = "sandbox"
	choiceModel     = "model"
	choiceEffort    = "effort"
)

// planMode is the mode in which nothing is changed until the user chooses another one.
const planMode = "plan"

// unset is the value of a model or an effort that the provider chooses.
const unset = "default"

// Settings returns what can be chosen. Mode has the approval policies and, as two more, read-only and
// plan: an editor that knows modes alone can then close the sandbox for writing too.
func (o *open) Settings() acp.Settings {
	gate, preset := o.ses.Gate, o.ses.Workspace.Config.Sandbox.Mode
	policies := acp.Choice{
		ID: choiceApprovals, Name: "Approvals", About: "When codeagent asks you", Category: "mode", Value: string(gate.Mode()),
	}
	for _, m := range commands.Modes(o.ses) {
		policies.Values = append(policies.Values, acp.Value{ID: string(m), Name: m.Short(), About: m.Means()})
	}
	mode := policies
	mode.ID, mode.Name, mode.Values = choiceMode, "Mode", slices.Clone(policies.Values)
	out := acp.Settings{Mode: mode, Choices: []acp.Choice{policies}}
	if !gate.Base().Unconfined && preset != config.ReadOnly {
		readOnly := acp.Value{ID: config.ReadOnly, Name: config.ReadOnly, About: "a file is written only after an answer of yours; commands may write temporary files"}
		sandbox := acp.Choice{
			ID: choiceSandbox, Name: "Sandbox", About: "What commands may write without a question", Value: preset,
			Values: []acp.Value{{ID: preset, Name: preset, About: "what your settings open; /sandbox lists it"}, readOnly},
		}
		out.Mode.Values = append(out.Mode.Values, readOnly)
		if gate.ReadOnly() {
			out.Mode.Value, sandbox.Value = config.ReadOnly, config.ReadOnly
		}
		out.Choices = append(out.Choices, sandbox)
	}
	out.Mode.Values = append(out.Mode.Values, acp.Value{ID: planMode, Name: planMode, About: "the model reads and plans; what would change something is refused until you choose another mode"})
	if gate.Plan() {
		out.Mode.Value = planMode
	}
	out.Choices = append(out.Choices, o.models(), o.effortChoice())
	return out
}

// models is the choice of the model: the one in use, and those that the providers listed.
func (o *open) models() acp.Choice {
	now := o.ses.Asked()
	c := acp.Choice{ID: choiceModel, Name: "Model", Category: "model", Value: cmp.Or(now.Title(now.Name), unset), Between: true}
	for _, m := range o.listed.Last() {
		c.Values = append(c.Values, acp.Value{ID: m.Name, Name: m.Name, About: m.About})
	}
	if !slices.ContainsFunc(c.Values, func(v acp.Value) bool { return v.ID == c.Value }) {
		c.Values = slices.Insert(c.Values, 0, acp.Value{ID: c.Value, Name: cmp.Or(now.Title(now.Name), "the provider's model")})
	}
	return c
}

// efforts are the values of the setting, without the empty one.
func efforts() (out []string) {
	const key = "reasoning_effort="
	for _, c := range config.Completions(key) {
		if c != key {
			out = append(out, strings.TrimPrefix(c, key))
		}
	}
	return out
}

func (o *open) effortChoice() acp.Choice {
	o.mu.Lock()
	now := o.effort
	o.mu.Unlock()
	c := acp.Choice{
		ID: choiceEffort, Name: "Reasoning effort", About: "How long the model may think", Category: "thought_level", Between: true,
		Value: cmp.Or(now, unset), Values: []acp.Value{{ID: unset, Name: "the model's own"}},
	}
	for _, e := range efforts() {
		c.Values = append(c.Values, acp.Value{ID: e, Name: e})
	}
	return c
}

// think changes how long the model may think. No turn may run.
func (o *open) think(ctx context.Context, effort string) error {
	if err := o.ses.Think(ctx, effort); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.effort = effort
	return nil
}

// Set changes a choice. value is one of its values.
func (o *open) Set(ctx context.Context, choice, value string) error {
	gate := o.ses.Gate
	var err error
	switch choice {
	case choiceSandbox:
		gate.SetPlan(false)
		err = gate.SetReadOnly(value == config.ReadOnly)
	case choiceMode:
		if gate.SetPlan(value == planMode); value == planMode {
			break
		}
		if err = gate.SetReadOnly(value == config.ReadOnly); err == nil && value != config.ReadOnly {
			err = gate.SetMode(approvals.Mode(value))
		}
	case choiceApprovals:
		err = gate.SetMode(approvals.Mode(value))
	case choiceModel:
		if value != o.models().Value {
			err = o.listed.Use(ctx, value)
		}
	case choiceEffort:
		if value == unset {
			value = ""
		}
		err = o.think(ctx, value)
	}
	if err != nil {
		return acp.Invalid(err)
	}
	return nil
}
