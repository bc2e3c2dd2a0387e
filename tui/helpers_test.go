package tui

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/golden"
	"codeagent/model"
	"codeagent/sandbox"
)

// helping is a call of delegate that runs, and what its helpers do.
func helping() []event.Event {
	of := func(n int, kind string, e event.Event) event.Event {
		return event.HelperEvent{CallID: "d", Number: n, Kind: kind, Event: e}
	}
	return []event.Event{
		event.TurnStarted{Text: "Is the retry right?"},
		event.ToolStarted{CallID: "d", Tool: "delegate", Kind: word.KindDelegate, Title: "delegate to 3 helpers: explore, review, search"},
		of(1, "explore", event.TurnStarted{Text: "Find out how requests are retried in ./client: which errors, how often."}),
		of(2, "review", event.TurnStarted{Text: "Look for faults in client/retry.go."}),
		of(3, "search", event.TurnStarted{Text: "Find the page of the provider about rate limits."}),
		of(1, "explore", event.ToolStarted{CallID: "d/1/1", Tool: "shell", Kind: word.KindCommand, Title: "$ rg -n retry client", Command: "rg -n retry client"}),
		of(1, "explore", event.UsageUpdated{Total: model.Usage{Input: 12_400, Output: 300}}),
		of(2, "review", event.MessageFinished{Text: "I read **retry.go** first."}),
		of(2, "review", event.ToolStarted{CallID: "d/2/1", Tool: "read_file", Kind: word.KindRead, Title: "read client/retry.go"}),
		of(2, "review", event.ToolFinished{CallID: "d/2/1", Tool: "read_file", Kind: word.KindRead, Title: "read client/retry.go", Outcome: word.OK, Message: "120 lines"}),
		of(3, "search", event.TurnFinished{Outcome: word.TurnFailed, Err: errors.New("the provider rejected the API key (401)")}),
	}
}

func helped() event.Event {
	return event.ToolFinished{CallID: "d", Tool: "delegate", Kind: word.KindDelegate, Outcome: word.OK, Message: "1 of 3 helpers failed", Duration: 75 * time.Second, Helpers: []event.HelperEnd{
		{Kind: "explore", Task: "Find out how requests are retried in ./client: which errors, how often.", Outcome: word.TurnDone, Tokens: 30_000, Calls: 4, Duration: 75 * time.Second},
		{Kind: "review", Task: "Look for faults in client/retry.go.", Outcome: word.TurnDone, Tokens: 9_000, Calls: 1, Duration: 20 * time.Second},
		{Kind: "search", Task: "Find the page of the provider about rate limits.", Outcome: word.TurnFailed, Duration: 2 * time.Second},
	}}
}

// askedByHelper is a question of a helper, which its title names.
func askedByHelper() approvals.Request {
	action := approvals.Action{CallID: "d/3/1", Tool: "fetch_url", Kind: word.KindFetch, Title: "fetch https://docs.example/limits", Command: "https://docs.example/limits"}
	return approvals.Request{
		ID: "q", CallID: action.CallID, Title: "helper 3 (search): fetch_url wants to reach docs.example:443", Action: action,
		Grant:   sandbox.Grant{Hosts: []sandbox.HostPort{{Host: "docs.example", Port: 443}}},
		Options: []approvals.Option{{Key: "1", Decision: approvals.Once, Label: "this once"}, {Key: "2", Decision: approvals.Session, Label: "this session"}, {Key: "n", Decision: approvals.Deny, Label: "no, because …"}, {Key: "s", Decision: approvals.Stop, Label: "stop"}},
	}
}

// TestHelpersOnTheScreen: each helper has one line below the call, Enter on it reads what they do, Tab the
// next one, and a resumed session shows the lines as they ended.
func TestHelpersOnTheScreen(t *testing.T) {
	for _, size := range [][2]int{{40, 15}, {80, 24}, {120, 40}} {
		check := func(r *rig, name string) {
			t.Helper()
			golden.Check(t, fmt.Sprintf("helpers-%s-%dx%d.txt", name, size[0], size[1]), r.screen())
		}
		r := newRig(t, size[0], size[1])
		r.emit(helping()...)
		check(r, "work")
		asked := newRig(t, size[0], size[1])
		asked.emit(helping()...)
		asked.put(askedByHelper())
		check(asked, "ask")
		r.press("ctrl+up", "enter")
		check(r, "read")
		r.press("tab")
		check(r, "next")
		r.emit(event.HelperEvent{CallID: "d", Number: 2, Kind: "review", Event: event.MessageFinished{Text: "Nothing else."}})
		r.has("Nothing else.") // it goes on while it is read
		r.press("esc")
		r.emit(helped())
		check(r, "done")

		again := newRig(t, size[0], size[1])
		again.emit(event.ToolStarted{CallID: "d", Tool: "delegate", Kind: word.KindDelegate, Title: "delegate to 3 helpers: explore, review, search"}, helped())
		check(again, "resumed")
		again.press("ctrl+up", "enter") // there is nothing inside: it opens
		again.lacks("closes")
	}
}
