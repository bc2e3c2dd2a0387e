package agent_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/internal/scripted"
	"codeagent/model"
	"codeagent/model/wire"
)

// thinking is a model that thinks, calls and speaks in turns, and writes summaries on request.
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

// A conversation is switched between the APIs and compacted repeatedly, automatically, on
// demand and because the provider is full: the strictest provider of the API accepts each
// request.
func TestCompactedAndSwitchedOverBothWires(t *testing.T) {
	var full atomic.Int32 // how many requests will be refused as too long
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
	why := map[word.CompactReason]int{}
	for _, e := range b.person.events {
		if c, ok := e.(event.Compacted); ok && c.Err == "" {
			why[c.Reason]++
		}
	}
	if why[word.CompactNear] == 0 || why[word.CompactFull] == 0 || why[word.CompactAsked] != 3 {
		t.Errorf("compacted %v", why)
	}
	if items := b.History(); items[0].Kind != model.Summary || len(agent.Repair(items)) != len(items) {
		t.Errorf("%d items, the first %s", len(items), items[0].Kind)
	}
}

// Results are in the next request, whatever that does to the earlier conversation, and the
// strictest provider accepts each request.
func TestUnreadResultsOverBothWires(t *testing.T) {
	for name, w := range wires {
		t.Run(name, func(t *testing.T) {
			rounds := 0
			b := newBenchOver(t, approvals.OnRequest, func(r scripted.Request) scripted.Reply {
				if strings.Contains(r.Last().Text, "replaced by a summary, which you write now") {
					return scripted.Reply{Text: "so far"}
				}
				if rounds++; rounds > 6 {
					return scripted.Reply{Text: "done"}
				}
				file := scripted.Call{ID: fmt.Sprintf("r%d-file", rounds), Name: "read_file", Arguments: fmt.Sprintf(`{"path":"long","offset":%d}`, rounds)}
				reply := scripted.Reply{Reasoning: "let me look", Text: "I look.", Calls: []scripted.Call{file}}
				for i := range 3 {
					reply.Calls = append(reply.Calls, scripted.Call{ID: fmt.Sprintf("r%d-%d", rounds, i), Name: "shell", Arguments: fmt.Sprintf(`{"command":"echo begin of r%d-%d; seq 1 4000; echo the end"}`, rounds, i)})
				}
				return reply
			}, w.connect(t), func(cfg *agent.Config) { cfg.ContextLimit = 24_000 })
			if err := os.WriteFile(filepath.Join(b.workspace, "long"), []byte(strings.Repeat("a line of the file\n", 2500)), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := b.Turn(t.Context(), agent.Input{Text: "look"}); err != nil {
				t.Fatal(err)
			}
			last := 0 // the round whose results must be there
			for i, r := range b.server.Requests() {
				if err := w.valid(r.Body); err != nil {
					t.Errorf("request %d: a strict provider refuses it: %v", i, err)
				}
				if strings.Contains(string(r.Body), "replaced by a summary, which you write now") {
					continue
				}
				for n := range 3 {
					if want := fmt.Sprintf("begin of r%d-%d\\n1\\n", last, n); last > 0 && !strings.Contains(string(r.Body), want) {
						t.Errorf("request %d lacks the result of r%d-%d", i, last, n)
					}
				}
				if want := fmt.Sprintf(`%d\ta line of the file`, last); last > 0 && !strings.Contains(string(r.Body), want) {
					t.Errorf("request %d lacks what was read in round %d", i, last)
				}
				last++
			}
			if text := b.results()["r6-file"]; !strings.Contains(text, "continue with offset") {
				t.Errorf("what was read does not say how to read on: %.200q", text)
			}
			compacted := 0
			for _, e := range b.person.events {
				if c, ok := e.(event.Compacted); ok && c.Err == "" {
					compacted++
				}
			}
			if compacted == 0 || last != 7 {
				t.Errorf("%d compactions, %d rounds", compacted, last-1)
			}
		})
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
