package commands

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"codeagent/approvals"
	"codeagent/approvals/ledger"
	"codeagent/cmd/codeagent/conversation"
)

// Modes returns the approval policies to choose from: granular only if the settings say what it
// refuses.
func Modes(ses *conversation.Session) []approvals.Mode {
	return slices.DeleteFunc(approvals.Modes(), func(m approvals.Mode) bool {
		return m == approvals.Granular && len(ses.Workspace.Config.Refuse) == 0 && ses.Gate.Mode() != m
	})
}

// Permission is one thing that is open. Text says what is open, About
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
	return out
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
