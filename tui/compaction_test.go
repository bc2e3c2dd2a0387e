package tui

import (
	"testing"

	"codeagent/event"
	"codeagent/event/word"
	"codeagent/model"
)

func TestCompactionIsALineThatOpens(t *testing.T) {
	r := newRig(t, 100, 24)
	r.emit(event.SessionStarted{ID: "1"}, event.TurnStarted{Text: "go"}, event.UsageUpdated{Last: model.Usage{Input: 900}, Context: 900, Limit: 1000},
		event.Compacting{Reason: word.CompactNear})
	r.has("Writing a summary of the conversation")
	r.has("the context is nearly full")
	r.has("ctx 900/1k")
	r.emit(event.Compacted{Reason: word.CompactNear, Before: 182900, After: 300, Summary: "# Summary\nwe fixed it\u202e\x1b[2J"})
	r.has("≡ Compacted: 182k → 300 tokens")
	r.has("ctx 300/1k")
	r.lacks("Writing a summary")
	r.lacks("we fixed it")
	r.press("ctrl+o")
	r.has("we fixed it")
	r.emit(event.Compacting{Reason: word.CompactFull}, event.Compacted{Reason: word.CompactFull, Err: "the provider is gone"})
	r.has("compaction failed: the provider is gone")
	// One of an earlier run was begun before.
	r.emit(event.Compacted{Summary: "of an earlier run"})
	r.press("ctrl+o")
	r.has("of an earlier run")
}

// An assumed limit is never shown as a known one, nor sometimes
// as one and sometimes not.
func TestAssumedLimitIsCalledThat(t *testing.T) {
	r := newRig(t, 110, 30)
	s := session()
	s.Model, s.Window, s.Assumed = "m1", 128_000, true
	r.emit(s)
	status := func(footer string) {
		t.Helper()
		r.has(footer)
		r.slash("/status")
		r.has("of an assumed 128k tokens")
		r.press("esc")
		r.lacks("of an assumed 128k tokens")
	}
	r.emit(event.UsageUpdated{Last: model.Usage{Input: 4400}, Context: 4400, Limit: 128_000, Assumed: true})
	status("ctx 4.4k/128k?")
	s.Model = "m2"
	r.emit(event.UsageUpdated{Context: 5000, Limit: 128_000, Assumed: true}, s) // as /model m2 does
	status("ctx 5k/128k?")
	r.emit(event.UsageUpdated{Last: model.Usage{Input: 6500}, Context: 6500, Limit: 128_000, Assumed: true})
	status("ctx 6.5k/128k?")
	s.Model, s.Window, s.Assumed = "m3", 65_000, false
	r.emit(event.UsageUpdated{Context: 6500, Limit: 65_000}, s)
	r.has("ctx 6.5k/65k")
}
