package tui

import (
	"testing"

	"codeagent/event"
	"codeagent/model"
)

func TestCompactionIsALineThatOpens(t *testing.T) {
	r := newRig(t, 100, 24)
	r.emit(event.SessionStarted{ID: "1"}, event.TurnStarted{Text: "go"}, event.UsageUpdated{Last: model.Usage{Input: 900}, Context: 900, Limit: 1000},
		event.Compacting{Reason: event.CompactNear})
	r.has("Writing a summary of the conversation")
	r.has("the context is nearly full")
	r.has("90% of context")
	r.emit(event.Compacted{Reason: event.CompactNear, Before: 182900, After: 300, Summary: "# Summary\nwe fixed it\u202e\x1b[2J"})
	r.has("≡ Compacted: 182,900 → 300 tokens")
	r.has("30% of context")
	r.lacks("Writing a summary")
	r.lacks("we fixed it")
	r.press("ctrl+o")
	r.has("we fixed it")
	r.emit(event.Compacting{Reason: event.CompactFull}, event.Compacted{Reason: event.CompactFull, Err: "the provider is gone"})
	r.has("No summary was made: the provider is gone")
	// One of an earlier run was begun before.
	r.emit(event.Compacted{Summary: "of an earlier run"})
	r.press("ctrl+o")
	r.has("of an earlier run")
}
