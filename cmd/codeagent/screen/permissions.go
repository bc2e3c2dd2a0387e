package screen

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"codeagent/approvals/ledger"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/internal/short"
	"codeagent/tui"
)

// permissions implements tui.Permissions.
type permissions struct{ ses *conversation.Session }

// List lists what is open: settings, answers, rules.
func (p permissions) List(context.Context) ([]tui.Permission, error) {
	var out []tui.Permission
	for _, e := range p.ses.Gate.Ledger().List() {
		out = append(out, tui.Permission{ID: e.ID, Text: strings.Join(e.Lines(nil), ", "), About: about(e), More: more(e)})
	}
	return out, nil
}

// about says where an entry comes from, and how long it holds.
func about(e ledger.Entry) string {
	words := map[ledger.Origin]string{ledger.Question: "you answered", ledger.Rule: "rule", ledger.FromSetting: "setting", ledger.FromExport: "--approvals"}[e.Origin]
	scope := map[ledger.Scope]string{ledger.Session: "this session", ledger.Project: "this project", ledger.Everywhere: "everywhere"}[e.Scope]
	if !e.Expires.IsZero() {
		scope += ", until " + e.Expires.Add(-time.Second).Format(time.DateOnly)
	}
	return words + " · " + scope
}

func more(e ledger.Entry) string {
	out := fmt.Sprintf("%s  used %s", e.ID, short.Count(e.Uses, "time"))
	if !e.Made.IsZero() {
		out += "  since " + e.Made.Format("15:04")
	}
	return out + "  " + cmp.Or(e.Title, e.Source)
}

func (p permissions) Revoke(ctx context.Context, id string) (string, error) {
	return p.ses.Revoke(ctx, id)
}
