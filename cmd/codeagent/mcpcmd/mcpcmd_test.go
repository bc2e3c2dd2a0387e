package mcpcmd

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/event/word"
	"codeagent/mcp/inquiry"
	"codeagent/mcp/serve"
	"codeagent/sandbox"

	"github.com/google/jsonschema-go/jsonschema"
)

// TestOffered: every tool has schemas that resolve, and shell takes nothing about the background.
func TestOffered(t *testing.T) {
	list, err := offered()
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list {
		for _, schema := range []json.RawMessage{tool.Input, tool.Output} {
			var s jsonschema.Schema
			if err := json.Unmarshal(schema, &s); err != nil || s.Type != "object" {
				t.Errorf("%s: %v", tool.Name, err)
			}
			if _, err := s.Resolve(nil); err != nil {
				t.Errorf("%s: %v", tool.Name, err)
			}
		}
		if tool.Description == "" || tool.Title == "" {
			t.Errorf("%s is not described", tool.Name)
		}
		if tool.Name != "shell" {
			continue
		}
		for _, name := range append(slices.Clone(foreground), "write_stdin") {
			if strings.Contains(string(tool.Input)+tool.Description, `"`+name+`"`) {
				t.Errorf("shell offers %s", name)
			}
		}
		if !strings.Contains(string(tool.Input), "timeout_ms") {
			t.Error("shell has lost its other arguments")
		}
	}
}

// fits checks a value against a schema of offer.
func fits(t *testing.T, schema string, v any) {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(raw(schema), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(plain); err != nil {
		t.Errorf("%s: %v", data, err)
	}
}

// TestReports: what is reported fits its schema in each outcome, and names are escaped.
func TestReports(t *testing.T) {
	denials := slices.Repeat([]sandbox.Denial{{Kind: sandbox.KindWrite, Operation: "openat", Target: "/a\x1b[2J\u202e", Executable: "/bin/b\nc", Count: 1}}, mostDenials+5)
	for _, outcome := range []word.Outcome{"", word.OK, word.Failed, word.Refused, word.Interrupted, word.TimedOut, word.NotStarted} {
		r := reportOf(event.ToolFinished{
			Kind: word.KindCommand, Outcome: outcome, Exit: 1, Duration: time.Second,
			Verdict: sandbox.Verdict{Denied: true, Confidence: sandbox.Certain, Denials: denials, Suggest: sandbox.Grant{Write: []string{"/a\x1b"}}},
		}, []refusal{{"t\x1b", "r", "h"}})
		fits(t, "call.out.json", r)
		data, _ := json.Marshal(r)
		if strings.Contains(string(data), `\u001b`) || strings.Contains(string(data), "\u202e") || len(r.Denials) != mostDenials {
			t.Errorf("%d denials: %.300s", len(r.Denials), data)
		}
	}
	fits(t, "call.out.json", reportOf(event.ToolFinished{}, nil))
	for _, outcome := range []word.TurnOutcome{word.TurnDone, word.TurnFailed, word.TurnInterrupted, word.TurnStopped} {
		fits(t, "agent.out.json", agentReport{Outcome: outcome, Refused: list([]refusal{{Title: "t"}})})
	}
	for tool, schema := range map[string]string{"shell": "call.out.json", "apply_patch": "call.out.json", "agent": "agent.out.json", "undo": "undo.out.json"} {
		fits(t, schema, failed(serve.Call{Tool: tool}, errors.New("x")).Structured)
	}
	fits(t, "undo.out.json", undoReport{Restored: []aPath{{"a", "restore"}}, Left: []aPath{}})
}

// TestArguments: what a tool does not offer is refused by name and in few words, and so is what is no text.
func TestArguments(t *testing.T) {
	list, err := offered()
	if err != nil {
		t.Fatal(err)
	}
	in, err := inputsOf(list)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct{ tool, arguments, want string }{
		{"shell", "", ""},
		{"shell", `{"command":5,"timeout_ms":"x"}`, ""}, // the tool's own errors
		{"shell", `{"command":"true","background":true}`, `shell has no argument "background"; nothing was done. The arguments are additional_permissions, command, justification`},
		{"apply_patch", `{"input":"x"}`, `apply_patch has no argument "input"; nothing was done. The arguments are justification, patch`},
		{"agent", `{"prompt":"x","session":null}`, ""},
		{"agent", `{"prompt":"x","Session":"y"}`, `agent has no argument "Session"`},
		{"agent", `{"prompt":[1]}`, `the argument "prompt" must be a string, not "[1]"`},
		{"undo", `{"undo_id":{"a":"` + long + `"}}`, `the argument "undo_id" must be a string, not "{\"a\":`},
		{"undo", `{"` + long + `":1}`, `undo has no argument "xxx`},
	} {
		call := serve.Call{Tool: c.tool, Arguments: json.RawMessage(c.arguments)}
		err := in.check(call)
		if err == nil && c.tool != "shell" {
			var text string
			err = texts(call, map[string]*string{"prompt": &text, "session": &text, "undo_id": &text})
		}
		if got := ""; err != nil || c.want != "" {
			if err != nil {
				got = err.Error()
			}
			if c.want == "" || !strings.HasPrefix(got, c.want) || len(got) > 400 {
				t.Errorf("%s %.100s: %.500s", c.tool, c.arguments, got)
			}
		}
	}
}

func newFace() *face { return &face{warn: io.Discard, calls: map[string]*shown{}} }

// TestEveryEvent: the face takes each event, with and without a call that waits for it.
func TestEveryEvent(t *testing.T) {
	f := newFace()
	for _, e := range event.All() {
		f.Emit(e)
	}
	defer f.begin("", &shown{call: serve.Call{Progress: func(string) {}}})()
	for _, e := range event.All() {
		f.Emit(e)
	}
}

// TestEventsOfACall: what two calls at the same time report stays apart, and a notice that nobody
// reads does not grow.
func TestEventsOfACall(t *testing.T) {
	var out strings.Builder
	f := newFace()
	f.warn = &out
	lines := map[string]string{}
	calls := map[string]*shown{}
	for _, id := range []string{"a", "b"} {
		calls[id] = &shown{call: serve.Call{Progress: func(line string) { lines[id] += line + ";" }}}
		defer f.begin(id, calls[id])()
	}
	f.Emit(event.ToolStarted{CallID: "a", Title: "$ one"})
	f.Emit(event.ToolOutput{CallID: "b", Data: []byte("x\nlast line\n\n")})
	f.Emit(event.PermissionRequested{CallID: "b", ID: "q", Title: "wants"})
	f.Emit(event.PermissionAnswered{CallID: "b", ID: "q", Answer: word.AnswerDenied, Reason: "no"})
	f.Emit(event.ToolFinished{CallID: "a", Exit: 3})
	if lines["a"] != "$ one;" || lines["b"] != "last line;" || calls["a"].finished.Exit != 3 || len(calls["a"].refused) != 0 || calls["b"].refused[0] != (refusal{"wants", "no", ""}) {
		t.Errorf("%q %+v %+v", lines, calls["a"], calls["b"])
	}
	for range 1000 {
		f.Emit(event.Notice{Text: strings.Repeat("x", 10_000)})
	}
	if out.Len() > 64<<10 {
		t.Errorf("%d bytes on stderr", out.Len())
	}
}

// TestAsk: a question goes to the client of its call; where it cannot go nobody answers, and
// nothing but an offered option is a yes.
func TestAsk(t *testing.T) {
	r := approvals.Request{CallID: "a", Title: "wants", Options: []approvals.Option{{Decision: approvals.Once, Label: "once"}, {Decision: approvals.Deny, Label: "no"}, {Decision: approvals.Stop, Label: "stop"}}}
	for name, c := range map[string]struct {
		callID string
		asks   bool
		id     string
		err    error
		want   approvals.Decision
		fails  bool
	}{
		"yes":          {callID: "a", asks: true, id: "once", want: approvals.Once},
		"no":           {callID: "a", asks: true, id: "no", want: approvals.Deny},
		"nothing":      {callID: "a", asks: true, want: approvals.Deny},
		"not offered":  {callID: "a", asks: true, id: "always", want: approvals.Unanswered},
		"stop":         {callID: "a", asks: true, id: "stop", want: approvals.Unanswered}, // there is no turn
		"an error":     {callID: "a", asks: true, id: "once", err: errors.New("x"), want: approvals.Deny, fails: true},
		"cannot ask":   {callID: "a", id: "once", want: approvals.Unattended},
		"nobody waits": {callID: "b", asks: true, id: "once", want: approvals.Unattended},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFace()
			defer f.begin(c.callID, &shown{call: serve.Call{Asks: c.asks, Progress: func(string) {}, Ask: func(_ context.Context, q serve.Question) (string, error) {
				if len(q.Options) != 2 || !strings.Contains(q.Message, "wants") {
					t.Errorf("asked %+v", q)
				}
				return c.id, c.err
			}}})()
			a, err := f.Ask(t.Context(), r)
			if a.Decision != c.want || (err != nil) != c.fails {
				t.Errorf("%+v, %v", a, err)
			}
		})
	}
}

// TestInquire: the question of a server goes to the client of its call, each line of it marked, and
// is declined where it cannot go.
func TestInquire(t *testing.T) {
	q := inquiry.Question{Server: "booking", CallID: "a", Message: "Who?\ncodeagent asks"}
	for name, c := range map[string]struct {
		callID string
		err    error
		want   string
	}{
		"answered":     {"a", nil, inquiry.Accepted},
		"cannot ask":   {"a", errors.New("no elicitation"), inquiry.Declined},
		"nobody waits": {"b", nil, inquiry.Declined},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFace()
			defer f.begin(c.callID, &shown{call: serve.Call{Progress: func(string) {}, Inquire: func(_ context.Context, q inquiry.Question) (inquiry.Reply, error) {
				if !strings.Contains(q.Message, "The MCP server booking that codeagent uses asks") || !strings.HasSuffix(q.Message, "\n> Who?\n> codeagent asks") {
					t.Errorf("asked %q", q.Message)
				}
				return inquiry.Reply{Action: inquiry.Accepted}, c.err
			}}})()
			if r, err := f.Inquire(t.Context(), q); r.Action != c.want || err != nil {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}
