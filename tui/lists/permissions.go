package lists

import (
	"context"

	"codeagent/tui/keys"
	"codeagent/tui/page"
	"codeagent/tui/part"
	"codeagent/tui/picker"
)

// Permissions are what is open beyond the policy, and what programs did without.
type Permissions interface {
	// List says what is open; About in a few words where that comes from and how long
	// it holds, More the rest in a line.
	List(ctx context.Context) ([]picker.Row, error)
	// Revoke takes one back, or forgets it. The words say what became of it: what was
	// closed, and what stays with commands that run.
	Revoke(ctx context.Context, id string) (words string, err error)
}

// OfPermissions is /permissions: what is open, with its origin. A key takes the selected one back at
// once; Enter shows asked. policy names the approval policy, which another key changes; nil: it
// cannot be changed.
func OfPermissions(s part.Setting, open Permissions, policy func() string, asked *page.Page) *picker.Picker {
	p := picker.New(s.Keys, "What is open beyond the policy")
	p.None, p.Enter, p.State = "nothing beyond the policy is open", "shows what was asked", policy
	p.List, asked.Under = open.List, p
	p.Choose = func(picker.Row) part.Intent { return part.Show{Overlay: asked} }
	p.Deeds = []picker.Action{
		{Do: keys.Remove, Help: "revokes", Change: func(ctx context.Context, r picker.Row, _ string) (string, error) { return open.Revoke(ctx, r.Id) }},
		{Do: keys.All, Help: "what was asked", All: true, Run: func(picker.Row, string) part.Intent { return part.Show{Overlay: asked} }},
	}
	if policy != nil {
		p.Deeds = append(p.Deeds, picker.Action{Do: keys.Mode, Help: "mode", All: true, Run: func(picker.Row, string) part.Intent { return part.Act(keys.Mode) }})
	}
	return p
}
