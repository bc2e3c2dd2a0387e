package agent_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/event"
	"codeagent/internal/scripted"
	"codeagent/model"
	"codeagent/model/wire"
)

// thinking is a model that thinks, calls and speaks in turns, and sums up when
// it is asked to.
func thinking(r scripted.Request) scripted.Reply {
	last := r.Last()
	long := strings.Repeat(fmt.Sprintf("%d is what I think. ", r.N), 40)
	switch {
	case strings.Contains(last.Text, "replaced by a summary, which you write now"):
		return scripted.Reply{Reasoning: "how to say it", Text: fmt.Sprintf("summary %d", r.N)}
	case last.Role == "tool" && r.N%3 > 0:
		return scripted.Reply{Reasoning: "I see", Text: long}
	case r.N%5 == 0:
		return scripted.Reply{Text: long}
	}
	return scripted.Reply{Reasoning: "let me look", Text: "I look.", Calls: []scripted.Call{
		{ID: fmt.Sprint("a", r.N), Name: "update_plan", Arguments: `{"plan":[{"step":"look","status":"in_progress"}]}`},
		{ID: fmt.Sprint("b", r.N), Name: "nothing", Arguments: `{}`},
	}}
}

// A conversation goes from wire to wire and is compacted again and again, by
// itself, on demand and because the provider is full: each request is one that
// the strictest provider of its wire takes.
func TestCompactedAndSwitchedOverBothWires(t *testing.T) {
	var full atomic.Int32 // so many requests are refused as too long
	b := newBench(t, approvals.OnRequest, func(r scripted.Request) scripted.Reply {
		if full.Load() > 0 {
			full.Add(-1)
			return scripted.Reply{Status: 400, Body: `{"error":{"message":"too long","code":"context_length_exceeded"}}`}
		}
		return thinking(r)
	})
	use := func(name string, limit int) {
		t.Helper()
		client := wires[name].connect(t)(wire.Options{BaseURL: b.server.URL, Key: "k"})
		if err := b.Use(agent.Choice{Model: client, ModelName: "m-" + name, ContextLimit: limit}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 60 {
		switch n % 20 {
		case 3:
			use("responses", 10_000)
		case 9:
			use("chat", 8_000)
		case 14:
			full.Store(int32(1 + n/20))
		case 17:
			if _, err := b.Compact(t.Context(), "the plan"); err != nil {
				t.Fatal(err)
			}
		case 19:
			use("chat", 200_000)
		}
		if err := b.Turn(t.Context(), agent.Input{Text: fmt.Sprintf("wish %d: %s", n, strings.Repeat("please ", 50))}); err != nil {
			t.Fatalf("turn %d: %v", n, err)
		}
	}
	served := map[string]int{}
	for i, r := range b.server.Requests() {
		if err := wires[r.Wire].valid(r.Body); err != nil {
			t.Errorf("request %d over %s: a strict provider refuses it: %v\n%.3000s", i, r.Wire, err, r.Body)
		}
		served[r.Model]++
	}
	if served["m-chat"] == 0 || served["m-responses"] == 0 {
		t.Errorf("served %v", served)
	}
	why := map[string]int{}
	for _, e := range b.person.events {
		if c, ok := e.(event.Compacted); ok && c.Err == "" {
			why[c.Reason]++
		}
	}
	if why[event.CompactNear] == 0 || why[event.CompactFull] == 0 || why[event.CompactAsked] != 3 {
		t.Errorf("compacted %v", why)
	}
	if items := b.History(); items[0].Kind != model.Summary || len(agent.Repair(items)) != len(items) {
		t.Errorf("%d items, the first %s", len(items), items[0].Kind)
	}
}

func TestUseWhileATurnRuns(t *testing.T) {
	var b bench
	var inTurn, atCompact error
	b = newBench(t, approvals.OnRequest, func(scripted.Request) scripted.Reply {
		inTurn = b.Use(agent.Choice{})
		_, atCompact = b.Compact(t.Context(), "")
		return scripted.Reply{Text: "done"}
	})
	if err := b.Turn(t.Context(), agent.Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(inTurn, agent.ErrBusy) || !errors.Is(atCompact, agent.ErrBusy) {
		t.Errorf("%v, %v", inTurn, atCompact)
	}
}
