package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"codeagent/agent"
	"codeagent/approvals"
	"codeagent/event"
	codeexec "codeagent/exec"
	"codeagent/internal/scripted"
	"codeagent/model"
	"codeagent/model/chat"
	"codeagent/model/modeltest"
	"codeagent/model/responses"
	"codeagent/model/wire"
	"codeagent/sandbox"
	"codeagent/tools"
)

// Everything here is real except the person, and there is no sandbox: the scripted server
// over loopback, the chat adapter, the tools, bash.

type person struct {
	mu     sync.Mutex
	events []event.Event
	on     func(event.Event)
}

func (p *person) Emit(e event.Event) {
	p.mu.Lock()
	p.events = append(p.events, e)
	p.mu.Unlock()
	if p.on != nil {
		p.on(e)
	}
}
func (p *person) Ask(context.Context, approvals.Request) (approvals.Answer, error) {
	return approvals.Answer{Decision: approvals.Once}, nil
}
func (p *person) Steer() (agent.Input, bool) { return agent.Input{}, false }

type bench struct {
	*agent.Agent
	person    *person
	server    *scripted.Server
	workspace string
}

func newBench(t *testing.T, mode approvals.Mode, handler scripted.Handler) bench {
	t.Helper()
	return newBenchOver(t, mode, handler, wires["chat"].connect(t))
}

func newBenchOver(t *testing.T, mode approvals.Mode, handler scripted.Handler, connect func(wire.Options) agent.Model, change ...func(*agent.Config)) bench {
	t.Helper()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is missing: commands cannot run")
	}
	server, err := scripted.Start(t.Context(), handler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	client := connect(wire.Options{BaseURL: server.URL, Key: "k", IdleTimeout: 2 * time.Minute, Retry: wire.Retry{
		Attempts: 3, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}})
	workspace, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	policy := sandbox.FullAccess()
	var mu sync.Mutex
	n := 0
	gate := approvals.NewGate(approvals.Options{
		Mode: mode, Base: policy, Files: codeexec.OS{}, Home: "/nonexistent", Workspace: workspace,
		NewID: func() string { mu.Lock(); defer mu.Unlock(); n++; return fmt.Sprint("q", n) },
	})
	b := bench{person: &person{}, server: server, workspace: workspace}
	cfg := agent.Config{
		Model: client, ModelName: "m", CacheKey: "this conversation", Gate: gate, Frontend: b.person, Attended: true, CompactAt: 80,
		Tools: tools.All(tools.Options{Workspace: workspace, Files: codeexec.OS{}, Shell: shell}),
		Stage: tools.Stage{Exec: codeexec.New(codeexec.Options{None: codeexec.Plain{}, Environ: os.Environ(), Files: codeexec.OS{}})},
	}
	for _, f := range change {
		f(&cfg)
	}
	b.Agent = agent.New(cfg)
	return b
}

func (b bench) end(t *testing.T) event.TurnFinished {
	t.Helper()
	e, ok := b.person.events[len(b.person.events)-1].(event.TurnFinished)
	if !ok {
		t.Fatalf("the last event is %T", b.person.events[len(b.person.events)-1])
	}
	return e
}

// results returns the texts that the model received, by call.
func (b bench) results() map[string]string {
	out := map[string]string{}
	for _, i := range b.History() {
		if i.Kind == model.Result {
			out[i.CallID] = i.Text
		}
	}
	return out
}

func TestLoopOverTheRealWire(t *testing.T) {
	b := newBench(t, approvals.OnRequest, scripted.Steps(
		scripted.Reply{Text: "I look.", Calls: []scripted.Call{
			{ID: "a", Name: "shell", Arguments: `{"command":"echo one; echo two >&2; exit 3"}`},
			{ID: "b", Name: "shell", Arguments: `{"command":"printf par > parallel.txt; cat parallel.txt"}`},
		}, Interleave: true},
		scripted.Reply{Calls: []scripted.Call{
			{ID: "c", Name: "shell", Arguments: `{"command":`},
			{ID: "d", Name: "sehll", Arguments: `{}`},
			{ID: "e", Name: "update_plan", Arguments: `{"plan":[{"step":"look","status":"completed"}]}`},
		}},
		scripted.Reply{Text: "All done."},
	))
	if err := b.Turn(t.Context(), agent.Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	got := b.results()
	for id, want := range map[string]string{"a": "one", "b": "par", "c": "cut off", "d": "no tool", "e": "lan"} {
		if !strings.Contains(got[id], want) {
			t.Errorf("result of %s: %q, want %q", id, got[id], want)
		}
	}
	if data, err := os.ReadFile(filepath.Join(b.workspace, "parallel.txt")); err != nil || string(data) != "par" {
		t.Errorf("%q %v", data, err)
	}
	var output, plans int
	for _, e := range b.person.events {
		switch e := e.(type) {
		case event.ToolOutput:
			output += len(e.Data)
		case event.PlanUpdated:
			plans++
		}
	}
	if output != len("one\ntwo\n")+len("par") || plans != 1 {
		t.Errorf("%d bytes of output told, %d plans", output, plans)
	}
	if b.end(t).Answer != "All done." {
		t.Errorf("%+v", b.end(t))
	}
}

func TestServersThatMisbehave(t *testing.T) {
	ls := []scripted.Call{{ID: "a", Name: "shell", Arguments: `{"command":"echo hi"}`}}
	long := strings.Repeat("0123456789", 1<<20)
	for _, c := range []struct {
		name   string
		script []scripted.Reply
		kind   model.ErrorKind // "" when the turn is done
		answer string
	}{
		{"429, then well", []scripted.Reply{{Status: 429, Header: http.Header{"Retry-After": {"1"}}, Body: `{"error":{"message":"slow down"}}`}, {Text: "ok"}}, "", "ok"},
		{"dies mid-stream, then well", []scripted.Reply{{Text: "hello there, this is long", Fault: scripted.Reset, After: 2}, {Text: "ok"}}, "", "ok"},
		{"dies after calls, then well", []scripted.Reply{{Calls: ls}, {Text: "half", Fault: scripted.Drop, After: 1}, {Text: "ok"}}, "", "ok"},
		{"401", []scripted.Reply{{Status: 401, Body: `{"error":{"message":"bad key"}}`}}, model.SignIn, ""},
		{"too long", []scripted.Reply{{Status: 400, Body: `{"error":{"message":"maximum context length","code":"context_length_exceeded"}}`}}, model.ContextFull, ""},
		{"always dying", []scripted.Reply{{Text: "aaaa bbbb cccc", Fault: scripted.Drop, After: 1}, {Text: "aaaa bbbb cccc", Fault: scripted.Drop, After: 1}, {Text: "aaaa bbbb cccc", Fault: scripted.Drop, After: 1}}, model.Transport, ""},
		{"10 MB of text", []scripted.Reply{{Text: long, Piece: 64 << 10}}, "", long},
	} {
		for name, w := range wires {
			t.Run(c.name+" over "+name, func(t *testing.T) {
				var over atomic.Bool
				script := scripted.Steps(c.script...)
				b := newBenchOver(t, approvals.OnRequest, func(r scripted.Request) scripted.Reply {
					if over.Load() {
						return scripted.Reply{Text: "and on"}
					}
					return script(r)
				}, w.connect(t))
				err := b.Turn(t.Context(), agent.Input{Text: "go"})
				var fault *model.Error
				switch {
				case c.kind == "" && err != nil:
					t.Fatal(err)
				case c.kind != "" && (!errors.As(err, &fault) || fault.Kind != c.kind):
					t.Fatalf("%v, want %s", err, c.kind)
				}
				if got := b.end(t).Answer; got != c.answer {
					t.Errorf("answer of %d bytes, want %d", len(got), len(c.answer))
				}
				if n := len(b.History()); n == 0 || len(agent.Repair(b.History())) != n {
					t.Errorf("history of %d items is not whole", n)
				}
				over.Store(true)
				if err := b.Turn(t.Context(), agent.Input{Text: "and now?"}); err != nil {
					t.Fatal(err)
				}
				for i, r := range b.server.Requests() {
					if err := w.valid(r.Body); err != nil {
						t.Errorf("request %d: a strict provider refuses it: %v\n%.2000s", i, err, r.Body)
					}
				}
			})
		}
	}
}

// wires are the adapters, with the rules of their strictest providers.
var wires = map[string]struct {
	connect func(*testing.T) func(wire.Options) agent.Model
	valid   func([]byte) error
}{
	"chat": {func(t *testing.T) func(wire.Options) agent.Model {
		return func(o wire.Options) agent.Model {
			client := chat.New(o)
			t.Cleanup(client.Close)
			return client
		}
	}, modeltest.ValidChat},
	"responses": {func(t *testing.T) func(wire.Options) agent.Model {
		return func(o wire.Options) agent.Model {
			client := responses.New(o)
			t.Cleanup(client.Close)
			return client
		}
	}, modeltest.ValidResponses},
}

// Over Responses calls run while the answer is being streamed, thinking is sent back unchanged
// in its place, and an answer that breaks off after a call has run is not requested again.
func TestLoopOverResponses(t *testing.T) {
	marker := `{"command":"echo ran >> marker.txt"}`
	b := newBenchOver(t, approvals.OnRequest, scripted.Steps(
		scripted.Reply{Reasoning: "first", Text: "I look.", Phase: "commentary", Calls: []scripted.Call{{ID: "a", Name: "shell", Arguments: marker}}, Fault: scripted.Drop, After: 21},
		scripted.Reply{Reasoning: "then", Text: "All done.", Phase: "final_answer"},
	), wires["responses"].connect(t))
	if err := b.Turn(t.Context(), agent.Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(b.workspace, "marker.txt")); err != nil || string(data) != "ran\n" {
		t.Errorf("the call ran %q, %v", data, err)
	}
	asked := b.server.Requests()
	if len(asked) != 2 {
		t.Fatalf("%d requests", len(asked))
	}
	if r := asked[1]; len(r.Thinking) != 1 || !strings.Contains(string(r.Thinking[0]), "sealed-0") || r.CacheKey != "this conversation" {
		t.Errorf("thinking %s, cache key %q", r.Thinking, r.CacheKey)
	}
	var kinds []string
	for _, i := range b.History() {
		kinds = append(kinds, strings.TrimPrefix(string(i.Kind), "tool_"))
	}
	if got := strings.Join(kinds, " "); got != "user reasoning assistant call result reasoning assistant" {
		t.Errorf("history: %s", got)
	}
	if got := b.end(t).Answer; got != "All done." {
		t.Errorf("%q", got)
	}
}

func TestInterruptKillsTheCommandAndKeepsTheHistory(t *testing.T) {
	b := newBench(t, approvals.OnRequest, scripted.Steps(
		scripted.Reply{Calls: []scripted.Call{{ID: "a", Name: "shell", Arguments: `{"command":"echo started; exec sleep 1000"}`}}},
		scripted.Reply{Text: "I see."},
	))
	ctx, cancel := context.WithCancel(t.Context())
	b.person.on = func(e event.Event) {
		if o, ok := e.(event.ToolOutput); ok && strings.Contains(string(o.Data), "started") {
			cancel()
		}
	}
	if err := b.Turn(ctx, agent.Input{Text: "go"}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := b.results()["a"]; !strings.Contains(got, "interrupted by the user") {
		t.Errorf("%q", got)
	}
	if err := b.Turn(t.Context(), agent.Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkTurnOverTheWire(b *testing.B) {
	server, err := scripted.Start(b.Context(), scripted.Always(scripted.Reply{Text: "hello"}))
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	client := chat.New(chat.Options{BaseURL: server.URL})
	defer client.Close()
	gate := approvals.NewGate(approvals.Options{Files: codeexec.OS{}, NewID: func() string { return "q" }})
	for b.Loop() {
		a := agent.New(agent.Config{Model: client, Gate: gate, Tools: tools.All(tools.Options{Workspace: "/", Files: codeexec.OS{}}), Frontend: &person{}})
		if err := a.Turn(b.Context(), agent.Input{Text: "go"}); err != nil {
			b.Fatal(err)
		}
	}
}
