package servers

import (
	"context"

	"codeagent/config/server"
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

// Settings returns needs as elements of the lists of the server's table sandbox, and what no setting
// opens. See config.Place.ServerNeeds.
func (p ServerPlan) Settings(needs sandbox.Grant, denials []sandbox.Denial) (lists map[string][]string, left []string) {
	ws := p.member.all.options.Workspace
	place := ws.Place
	place.Temp = ""
	return place.ServerNeeds(ws.Config, p.member.settings, p.member.box.own, needs, denials)
}
