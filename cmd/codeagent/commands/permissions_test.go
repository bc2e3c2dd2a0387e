package commands

import (
	"testing"
	"time"

	"codeagent/approvals/ledger"
)

// TestUses: an entry says how often it was used, and never zero times.
func TestUses(t *testing.T) {
	made := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	for _, c := range []struct {
		entry ledger.Entry
		want  string
	}{
		{ledger.Entry{ID: "s1", Title: "npm install"}, "s1  npm install"},
		{ledger.Entry{ID: "s1", Uses: 1, Source: "rules.toml:3", Made: made}, "s1  used 1 time  since 03:04  rules.toml:3"},
		{ledger.Entry{ID: "s1", Uses: 2, Title: "npm install"}, "s1  used 2 times  npm install"},
	} {
		if got := more(c.entry); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
