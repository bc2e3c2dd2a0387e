package commands

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/approvals/ledger"
	"codeagent/approvals/without"
	"codeagent/cmd/codeagent/conversation"
	"codeagent/internal/short"
)

// Modes returns the approval policies to choose from: granular only if the settings say what it
// refuses.
func Modes(ses *conversation.Session) []approvals.Mode {
	return slices.DeleteFunc(approvals.Modes(), func(m approvals.Mode) bool {
		return m == approvals.Granular && len(ses.Workspace.Config.Refuse) == 0 && ses.Gate.Mode() != m
	})
}

// Permission is one thing that is open, or that programs did without. Text says what is open, About
// in a few words where that comes from and how long it holds, More the rest in a line.
type Permission struct{ ID, Text, About, More string }

// Permissions lists what is open: settings, answers, rules, and what running jobs got.
func Permissions(ses *conversation.Session) []Permission {
	var out []Permission
	for _, e := range ses.Gate.Ledger().List() {
		out = append(out, Permission{ID: e.ID, Text: strings.Join(e.Lines(nil), ", "), About: about(e), More: more(e)})
	}
	for _, e := range ses.OfJobs() {
		out = append(out, Permission{ID: e.ID, Text: strings.Join(e.Lines(nil), ", "), About: "only " + e.Source, More: e.ID + "  " + e.Title})
	}
	for _, e := range ses.Without.List() {
		out = append(out, Permission{
			ID: e.ID(), Text: fmt.Sprintf("not asked: %s %s, by %s", e.Kind, e.Target, e.Program), About: didWithout(e),
			More: fmt.Sprintf("%s  last %s  revoking forgets it", e.ID(), e.When.Format("2006-01-02 15:04")),
		})
	}
	return out
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
	out := e.ID
	if used := e.Used(); used != "" {
		out += "  " + used
	}
	if !e.Made.IsZero() {
		out += "  since " + e.Made.Format("15:04")
	}
	return out + "  " + cmp.Or(e.Title, e.Source)
}

// Revoke ends a ledger entry, or forgets what a program did without.
func Revoke(ctx context.Context, ses *conversation.Session, id string) (string, error) {
	if strings.HasPrefix(id, "w-") {
		n, err := ses.Without.Clear(id)
		return "forgotten: " + short.Count(n, "entry"), err
	}
	return ses.Revoke(ctx, id)
}
