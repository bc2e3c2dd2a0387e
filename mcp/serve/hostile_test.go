package serve

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestHostileLines: each gets its error, and the server goes on.
func TestHostileLines(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		code int
		id   any
	}{
		"not JSON":            {line: `hello`, code: -32700},
		"half JSON":           {line: `{"jsonrpc":"2.0","id":5,`, code: -32700},
		"invalid UTF-8":       {line: "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"\xff\"}", code: -32700},
		"a huge line":         {line: `{"jsonrpc":"2.0","id":5,"method":"` + strings.Repeat("x", maxLine) + `"}`, code: -32700},
		"a batch":             {line: `[{"jsonrpc":"2.0","id":5,"method":"ping"}]`, code: -32600},
		"a number":            {line: `5`, code: -32600},
		"a text":              {line: `"x"`, code: -32600},
		"null":                {line: `null`, code: -32600},
		"no version":          {line: `{"id":5,"method":"ping"}`, code: -32600, id: 5.0},
		"an older version":    {line: `{"jsonrpc":"1.0","id":5,"method":"ping"}`, code: -32600, id: 5.0},
		"no method":           {line: `{"jsonrpc":"2.0","id":5}`, code: -32600, id: 5.0},
		"a method of a list":  {line: `{"jsonrpc":"2.0","id":5,"method":["ping"]}`, code: -32600, id: 5.0},
		"an ID of null":       {line: `{"jsonrpc":"2.0","id":null,"method":"ping"}`, code: -32600},
		"a fraction as ID":    {line: `{"jsonrpc":"2.0","id":5.5,"method":"ping"}`, code: -32600},
		"an ID of 54 bits":    {line: `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, code: -32600},
		"an ID of a number":   {line: `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`, code: -32600},
		"a huge ID":           {line: `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 1<<20) + `","method":"ping"}`, code: -32600},
		"params of a list":    {line: `{"jsonrpc":"2.0","id":5,"method":"ping","params":[1]}`, code: -32602, id: 5.0},
		"a cursor of a list":  {line: `{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"cursor":[1]}}`, code: -32602, id: 5.0},
		"nested":              {line: callLine(5, "echo", `,"x":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)), code: -32600, id: 5.0},
		"an ID of a list":     {line: `{"jsonrpc":"2.0","id":[5],"method":"ping"}`, code: -32600},
		"deeply nested":       {line: strings.Repeat("[", 1<<20), code: -32700},
		"an unknown method":   {line: `{"jsonrpc":"2.0","id":5,"method":"no/such"}`, code: -32601, id: 5.0},
		"resources":           {line: `{"jsonrpc":"2.0","id":5,"method":"resources/list","params":{}}`, code: -32601, id: 5.0},
		"a prompt":            {line: `{"jsonrpc":"2.0","id":5,"method":"prompts/get","params":{"name":"x"}}`, code: -32601, id: 5.0},
		"a log level":         {line: `{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"info"}}`, code: -32601, id: 5.0},
		"a cancelling call":   {line: `{"jsonrpc":"2.0","id":5,"method":"notifications/cancelled","params":{"requestId":6}}`, code: -32601, id: 5.0},
		"an unknown tool":     {line: callLine(5, "rm", ""), code: -32602, id: 5.0},
		"arguments of a list": {line: `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":[1]}}`, code: -32602, id: 5.0},
		"a name of a number":  {line: `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":1}}`, code: -32602, id: 5.0},
		"no params":           {line: `{"jsonrpc":"2.0","id":5,"method":"tools/call"}`, code: -32602, id: 5.0},
		"params of null":      {line: `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":null}`, code: -32602, id: 5.0},
		"a huge name":         {line: callLine(5, strings.Repeat("x", 1<<20), ""), code: -32602, id: 5.0},
		"a revision of 5":     {line: callLine(5, "echo", `,"_meta":{"io.modelcontextprotocol/protocolVersion":5}`), code: -32022, id: 5.0},
		"a made-up state":     {line: callLine(5, "echo", `,"requestState":"guess"`), code: -32602, id: 5.0},
		"a second initialize": {line: strings.Replace(fmt.Sprintf(initialize, handshake, "{}"), `"id":0`, `"id":5`, 1), code: -32600, id: 5.0},
		"an unknown revision": {line: callLine(5, "echo", `,"_meta":{"io.modelcontextprotocol/protocolVersion":"1999-01-01"}`), code: -32022, id: 5.0},
		"a later revision":    {line: callLine(5, "echo", `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2999-01-01"}`), code: -32022, id: 5.0},
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
		"an error without a cause":  `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}`,
		"an error without an ID":    `{"jsonrpc":"2.0","error":{"code":-32600,"message":"x"}}`,
		"a result of no version":    `{"id":77,"result":{}}`,
		"an unknown notification":   `{"jsonrpc":"2.0","method":"notifications/x"}`,
		"a notification of params":  `{"jsonrpc":"2.0","method":"notifications/x","params":[1]}`,
		"a call without an ID":      `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"fail","arguments":{}}}`,
		"a cancellation of nothing": `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		"a cancellation of a list":  `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[6]}}`,
		"a cancellation beforehand": `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}}`,
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

// TestLateReader: a client that sends too many requests and reads late gets an answer to each.
func TestLateReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := start(t, t.Context(), host{"echo": echo}.options())
		go func() {
			for i := range 2 * maxRequests {
				if _, err := fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i); err != nil {
					t.Error(err)
				}
			}
		}()
		time.Sleep(unheard - time.Second)
		busy := 0
		for range 2 * maxRequests {
			if m := p.next(); m.Error != nil && m.Error.Code == codeBusy {
				busy++
			}
		}
		if busy == 0 { // it is not read on before the first of them is answered
			t.Error("no request was one too many")
		}
	})
}

// TestUnread: a client that reads nothing and ends its output does not keep the server.
func TestUnread(t *testing.T) {
	synctest.Test(t, unread)
}

func unread(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	defer outR.Close()
	over := make(chan error, 1)
	go func() { over <- Run(t.Context(), inR, outW, host{"echo": echo}.options()) }()
	for i := range 2 * maxRequests { // each answer waits for the one before
		if _, err := fmt.Fprintf(inW, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i); err != nil {
			t.Fatal(err)
		}
	}
	inW.Close()
	if err := <-over; err != nil {
		t.Error(err)
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
