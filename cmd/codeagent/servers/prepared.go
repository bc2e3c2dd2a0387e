package servers

import (
	"codeagent/config/server"
	"codeagent/sandbox"
)

// Prepared is a server before its start, by its settings alone.
type Prepared struct {
	// Argv is its command line, and Policy what it may do.
	Argv   []string
	Policy sandbox.Policy

	member *member
}

// Prepare finds out what a server would run and may do. o.Configured and o.Ledger have no effect.
func Prepare(o Options, name string, set server.Settings) (Prepared, error) {
	s := &Servers{options: o}
	m := newMember(s, name, set)
	s.members = []*member{m}
	err := s.makeFolders()
	if err == nil {
		err = m.prepare()
	}
	return Prepared{m.box.argv, m.box.policy, m}, err
}

// Settings returns needs as elements of the lists of the server's table sandbox, and what no setting
// opens. See config.Place.ServerNeeds.
func (p Prepared) Settings(needs sandbox.Grant) (lists map[string][]string, left []string, err error) {
	ws := p.member.all.options.Workspace
	others, err := p.member.all.others(p.member.box.own)
	if err != nil {
		return nil, nil, err
	}
	place := ws.Place
	place.Temp = ""
	lists, left = place.ServerNeeds(ws.Config, p.member.settings, p.member.box.own, others, needs)
	return lists, left, nil
}
