package servers

import (
	"context"
	"path/filepath"

	"codeagent/cmd/codeagent/workspace"
	"codeagent/config/server"
	"codeagent/hostfile"
	"codeagent/sandbox"
)

// ServerPlan is a server before its start, by its settings alone.
type ServerPlan struct {
	// Argv is its command line, and Policy what it may do.
	Argv   []string
	Policy sandbox.Policy

	member *member
}

// Prepare finds out what a server would run and may do. o.Configured and o.Ledger have no effect.
func Prepare(o Options, name string, set server.Settings) (ServerPlan, error) {
	m := newMember(&Servers{options: o, life: context.Background()}, name, set)
	err := m.prepare()
	return ServerPlan{m.box.argv, m.box.policy, m}, err
}

// Private is the private folder of a program that serves codeagent alone, such as a language server. No
// MCP server shares it: their names have no dot. Each workspace has its own: what one makes it keep, it
// would use in the others.
func Private(ws *workspace.Workspace, name string) string {
	return filepath.Join(ws.Paths.Servers, name+".own", digest(ws.Folder))
}

// PrepareProgram is Prepare for a program whose private folder is own. No variable in set is replaced.
func PrepareProgram(ctx context.Context, o Options, set server.Settings, own string) (ServerPlan, error) {
	if err := hostfile.MkdirAll(own, 0o700); err != nil {
		return ServerPlan{}, err
	}
	b, err := (&Servers{options: o, life: ctx}).boxOf(set, own)
	return ServerPlan{Argv: b.argv, Policy: b.policy}, err
}

// Settings returns needs as elements of the lists of the server's table sandbox, and what no setting
// opens. See config.Place.ServerNeeds.
func (p ServerPlan) Settings(needs sandbox.Grant, denials []sandbox.Denial) (lists map[string][]string, left []string) {
	ws := p.member.all.options.Workspace
	place := ws.Place
	place.Temp = ""
	return place.ServerNeeds(ws.Config, p.member.settings, p.member.box.own, needs, denials)
}
