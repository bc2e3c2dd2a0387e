package serve

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// TestWrongRequests: each gets its error, and the server goes on.
func TestWrongRequests(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		code int
		id   any
	}{
		"params of a list":    {line: `{"jsonrpc":"2.0","id":5,"method":"ping","params":[1]}`, code: -32602, id: 5.0},
		"a cursor of a list":  {line: `{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"cursor":[1]}}`, code: -32602, id: 5.0},
		"an unknown method":   {line: `{"jsonrpc":"2.0","id":5,"method":"no/such"}`, code: -32601, id: 5.0},
		"an unknown tool":     {line: callLine(5, "rm", ""), code: -32602, id: 5.0},
		"arguments of a list": {line: `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":[1]}}`, code: -32602, id: 5.0},
		"a name of a number":  {line: `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":1}}`, code: -32602, id: 5.0},
		"a huge name":         {line: callLine(5, strings.Repeat("x", 1<<20), ""), code: -32602, id: 5.0},
		"a made-up state":     {line: callLine(5, "echo", `,"requestState":"guess"`), code: -32602, id: 5.0},
		"a second initialize": {line: strings.Replace(fmt.Sprintf(initialize, handshake, "{}"), `"id":0`, `"id":5`, 1), code: -32600, id: 5.0},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, t.Context(), host{"echo": echo}.options())
			p.initialize("{}")
			p.send("", c.line)
			if m := p.next(); m.Error == nil || m.Error.Code != c.code || m.ID != c.id {
				t.Errorf("%.300s, want code %d and id %v", m.line, c.code, c.id)
			} else if len(m.line) > 1000 || strings.Contains(m.line, "mcp.") || strings.Contains(m.line, "jsonrpc2") {
				t.Errorf("too long, or in the words of Go: %.1000s", m.line)
			}
			p.send(callLine(6, "echo", ""))
			if m := p.next(); m.ID != 6.0 || !strings.Contains(m.line, `"text":"echo"`) {
				t.Errorf("afterwards: %s", m.line)
			}
		})
	}
}

// TestUnanswered: what the client waits for no answer to gets none, whatever is wrong with it.
func TestUnanswered(t *testing.T) {
	for name, line := range map[string]string{
		"a result for nobody":       `{"jsonrpc":"2.0","id":77,"result":{}}`,
		"an unknown notification":   `{"jsonrpc":"2.0","method":"notifications/x"}`,
		"a notification of params":  `{"jsonrpc":"2.0","method":"notifications/x","params":[1]}`,
		"a call without an ID":      `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"fail","arguments":{}}}`,
		"a cancellation of nothing": `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		"a cancellation of a list":  `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[6]}}`,
	} {
		for revision, extra := range map[string]string{handshake: "", newest: fmt.Sprintf(meta, "")} {
			t.Run(name+" "+revision, func(t *testing.T) {
				p := start(t, t.Context(), host{"echo": echo, "fail": func(context.Context, Call) Result {
					t.Error("called")
					return Result{}
				}}.options())
				if extra == "" {
					p.initialize("{}")
				}
				p.send(line, callLine(6, "echo", extra))
				if m := p.next(); m.ID != 6.0 || m.Error != nil {
					t.Errorf("%s", m.line)
				}
			})
		}
	}
}

// TestNoArguments: null arguments mean no arguments, as some clients write it.
func TestNoArguments(t *testing.T) {
	p := start(t, t.Context(), host{"echo": func(_ context.Context, c Call) Result { return Result{Text: "<" + string(c.Arguments) + ">"} }}.options())
	p.initialize("{}")
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":null}}`)
	if m := p.next(); unquoted(m) != "<>" {
		t.Error(m.line)
	}
}

// TestOneShot: a client that writes its requests and ends its output at once gets the responses. A call
// that takes longer ends.
func TestOneShot(t *testing.T) {
	for range 50 { // without the wait it depends on which goroutine is first
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan error, 1)
			p := start(t, t.Context(), host{"echo": echo, "hang": func(ctx context.Context, _ Call) Result {
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return Result{}
			}}.options())
			go func() {
				fmt.Fprintf(p.in, initialize+"\n%s\n%s\n", handshake, "{}", callLine(1, "echo", ""), callLine(2, "hang", ""))
				p.in.Close()
			}()
			got := map[any]bool{}
			for range 2 {
				m := p.next()
				got[m.ID] = m.Error == nil
			}
			if !got[0.0] || !got[1.0] {
				t.Errorf("%v", got)
			}
			if err := <-ended; err == nil {
				t.Error("a call outlives the client")
			}
			if err := <-p.over; err != nil {
				t.Error(err)
			}
		})
	}
}
