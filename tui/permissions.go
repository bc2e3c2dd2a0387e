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
	if name != "" && m.offers.Approvals != nil {
		return change(m, name)
	}
	asked := &page.Page{Title: "Permissions", Keys: m.keys, Draw: func(t *paint.Theme, w int) []string { return m.transcript.Permissions(t, w, m.facts.Home) }}
	if m.offers.Permissions == nil {
		return open(m, asked)
	}
	var policy func() string
	if m.offers.Approvals != nil {
		policy = func() string { return footer.Approvals(modeOf(m)) }
	}
	return open(m, lists.OfPermissions(m.setting(), m.offers.Permissions, policy, asked))
}
