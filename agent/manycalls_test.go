package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/internal/scripted"
	"codeagent/model"
)

// plans returns n calls of a fast tool.
func plans(n int) (calls []scripted.Call) {
	for i := range n {
		calls = append(calls, scripted.Call{ID: fmt.Sprint("id-", i), Name: "update_plan",
			Arguments: fmt.Sprintf(`{"plan":[{"step":"step %d","status":"in_progress"}]}`, i)})
	}
	return calls
}

// If an answer has too many calls, the rest is refused; an endless answer is ended, and the
// turn continues: the strictest provider accepts each request. If calls start only with the
// whole answer, none of an endless one runs.
func TestMoreCallsThanRun(t *testing.T) {
	for _, c := range []struct {
		calls, ran, refused int
		whole               bool
	}{
		{128, 128, 0, false}, {129, 128, 1, false}, {300, 128, 172, false}, {1500, 128, 872, false},
		{300, 128, 172, true}, {1500, 0, 0, true},
	} {
		for name, w := range wires {
			t.Run(fmt.Sprint(name, " ", c.calls, " ", c.whole), func(t *testing.T) {
				replies := scripted.Steps(scripted.Reply{Text: "I plan.", Calls: plans(c.calls)}, scripted.Reply{Text: "ok"})
				b := newBenchOver(t, approvals.OnRequest, replies, w.connect(t), func(cfg *agent.Config) { cfg.WholeAnswers = c.whole })
				if err := b.Turn(t.Context(), agent.Input{Text: "go"}); err != nil {
					t.Fatal(err)
				}
				if e := b.end(t); e.Answer != "ok" || e.Outcome != "done" {
					t.Errorf("%+v", e)
				}
				ran, refused := 0, 0
				for _, item := range b.History() {
					switch {
					case item.Kind != model.Result:
					case strings.HasPrefix(item.Text, "Not run: only the first 128 calls of an answer run"):
						refused++
					default:
						ran++
					}
				}
				if ran != c.ran || refused != c.refused {
					t.Errorf("%d ran, %d were refused", ran, refused)
				}
				requests := b.server.Requests()
				if len(requests) != 2 {
					t.Errorf("%d requests", len(requests))
				}
				for i, r := range requests {
					if err := w.valid(r.Body); err != nil {
						t.Errorf("request %d: %v\n%.2000s", i, err, r.Body)
					}
				}
			})
		}
	}
}

// If few calls can run at once, the others wait, and none fails.
func TestFewCallsAtOnce(t *testing.T) {
	command := func(i int) scripted.Call {
		return scripted.Call{ID: fmt.Sprint("id-", i), Name: "shell", Arguments: `{"command":"mkdir busy && sleep 0.01 && rmdir busy","independent":true}`}
	}
	var calls []scripted.Call
	for i := range 6 {
		calls = append(calls, command(i))
	}
	asked := 0
	b := newBenchOver(t, approvals.OnRequest, scripted.Steps(scripted.Reply{Calls: calls}, scripted.Reply{Text: "ok"}), wires["chat"].connect(t), func(cfg *agent.Config) {
		cfg.Parallel = func(most int) int {
			if asked++; most < 2 {
				t.Errorf("at most %d", most)
			}
			return 1
		}
	})
	if err := b.Turn(t.Context(), agent.Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	for _, item := range b.History() {
		if item.Kind == model.Result && item.Failed {
			t.Errorf("two ran at once: %s", item.Text)
		}
	}
	if asked == 0 {
		t.Error("nobody asked how many can run")
	}
}

// TestCommandsKeepTheirOrder: a command sees what earlier calls of its answer did, unless it is declared
// independent of them; what only reads shares a time.
func TestCommandsKeepTheirOrder(t *testing.T) {
	shell := func(id, command, more string) scripted.Call {
		return scripted.Call{ID: id, Name: "shell", Arguments: fmt.Sprintf(`{"command":%q%s}`, command, more)}
	}
	const independent = `,"independent":true`
	for name, row := range map[string]struct {
		calls []scripted.Call
		last  string
	}{
		"written, then read":      {[]scripted.Call{shell("a", "sleep 0.05; echo 1 > f", ""), shell("b", "cat f", "")}, "\n1"},
		"read by a tool":          {[]scripted.Call{shell("a", "sleep 0.05; echo 1 > f", ""), {ID: "b", Name: "read_file", Arguments: `{"path":"f"}`}}, "1\t1"},
		"after independent calls": {[]scripted.Call{shell("a", "sleep 0.05; echo 1 > f", independent), shell("b", "cat f; echo 2 > f; cat f", "")}, "1\n2"},
		"read, then written":      {[]scripted.Call{shell("a", "echo 0 > f", ""), shell("b", "sleep 0.05; cat f", ""), shell("c", "echo 1 > f; cat f", "")}, "\n1"},
		"independent calls":       {[]scripted.Call{shell("a", "mkfifo p; sleep 0.05", ""), shell("b", "echo met > p", independent), shell("c", "cat p", independent)}, "met"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBenchOver(t, approvals.OnRequest, scripted.Steps(scripted.Reply{Calls: row.calls}, scripted.Reply{Text: "ok"}), wires["chat"].connect(t), func(*agent.Config) {})
			if err := b.Turn(t.Context(), agent.Input{Text: "go"}); err != nil {
				t.Fatal(err)
			}
			var last string
			for _, item := range b.History() {
				if item.Kind == model.Result {
					last = item.Text
				}
			}
			if !strings.Contains(last, row.last) {
				t.Errorf("want %q: %s", row.last, last)
			}
		})
	}
}
