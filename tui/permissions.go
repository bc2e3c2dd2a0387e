package tui

import (
	tea "charm.land/bubbletea/v2"

	"codeagent/tui/footer"
	"codeagent/tui/lists"
	"codeagent/tui/page"
	"codeagent/tui/paint"
)

// showPermissions is /permissions: what is open, with its origin, and the approval policy; or only
// the questions of the session and their answers. With the name of an approval policy or a sandbox
// it changes to that.
func showPermissions(m *app, name string) tea.Cmd {
	if name != "" && m.modes.Gate != nil {
		return m.do(m.modes.Change(name))
	}
	asked := &page.Page{Title: "Permissions", Keys: m.keys, Draw: func(t *paint.Theme, w int) []string { return m.transcript.Permissions(t, w, m.facts.Home) }}
	if m.offers.Permissions == nil {
		return open(m, asked)
	}
	var policy func() string
	if m.modes.Gate != nil {
		policy = func() string { return footer.Approvals(m.modes.Approvals()) }
	}
	return open(m, lists.OfPermissions(m.setting(), m.offers.Permissions, policy, asked))
}
