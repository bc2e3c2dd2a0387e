package commands

import (
	"testing"
	"time"

	"codeagent/approvals/ledger"
)

// TestMore: an entry says when and for what it was made.
func TestMore(t *testing.T) {
	made := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	for _, c := range []struct {
		entry ledger.Entry
		want  string
	}{
		{ledger.Entry{ID: "s1", Title: "npm install"}, "s1  npm install"},
		{ledger.Entry{ID: "s1", Source: "rules.toml:3", Made: made}, "s1  since 03:04  rules.toml:3"},
	} {
		if got := more(c.entry); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
