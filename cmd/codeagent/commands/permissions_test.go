package commands

import (
	"testing"
	"time"

	"codeagent/approvals/ledger"
	"codeagent/sandbox"
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
		{ledger.Entry{ID: "s1", Traffic: sandbox.Traffic{Count: 2, Last: made, Bytes: &sandbox.Bytes{Sent: 2048, Received: 3}}, Title: "npm install"},
			"s1  2 connections, last 03:04, sent 2 KiB, received 3 bytes  npm install"},
		{ledger.Entry{ID: "s1", Traffic: sandbox.Traffic{Count: 1, Last: made, Unmeasured: 1}, Title: "x"}, "s1  1 connection, last 03:04, bytes unknown  x"},
		{ledger.Entry{ID: "s1", Traffic: sandbox.Traffic{Count: 9, Last: made, Bytes: &sandbox.Bytes{}, Unmeasured: 4}, Title: "x"},
			"s1  9 connections, last 03:04, sent 0 bytes, received 0 bytes, bytes of 4 unknown  x"},
	} {
		if got := more(c.entry); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
