package screen

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"codeagent/approvals/ledger"
	"codeagent/approvals/without"
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
	for _, e := range p.ses.OfJobs() {
		out = append(out, tui.Permission{ID: e.ID, Text: strings.Join(e.Lines(nil), ", "), About: "only " + e.Source, More: e.ID + "  " + e.Title})
	}
	for _, e := range p.ses.Without.List() {
		out = append(out, tui.Permission{
			ID: e.ID(), Text: fmt.Sprintf("not asked: %s %s, by %s", e.Kind, e.Target, e.Program), About: didWithout(e),
			More: fmt.Sprintf("%s  last %s  revoking forgets it", e.ID(), e.When.Format("2006-01-02 15:04")),
		})
	}
	return out, nil
}

// didWithout describes what is remembered of a refusal.
func didWithout(e without.Entry) string {
	if e.Last == without.Mattered {
		return "needed " + short.Count(e.Mattered, "time") + ": you are asked"
	}
	return "did without it " + short.Count(e.Survived, "time")
}

// about says where an entry comes from, and when it ends.
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

// Revoke ends a ledger entry, or forgets what a program did without.
func (p permissions) Revoke(ctx context.Context, id string) (string, error) {
	if strings.HasPrefix(id, "w-") {
		n, err := p.ses.Without.Clear(id)
		return "forgotten: " + short.Count(n, "entry"), err
	}
	return p.ses.Revoke(ctx, id)
}
