package mcp

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// told collects what a client tells.
type told struct {
	mu    sync.Mutex
	lines []string
}

func (l *told) log(level, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, level+": "+text)
}

func (l *told) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// What is no message is dropped and told, and what follows it is read.
func TestCleaner(t *testing.T) {
	const good = `{"jsonrpc":"2.0","method":"notifications/x"}`
	for name, tt := range map[string]struct {
		bad, want string
	}{
		"a banner":    {"Server \x1b]0;owned\x07 ready", "␛]0;owned␇"},
		"no JSON":     {`{"jsonrpc":"2.0"`, "not JSON"},
		"no message":  {`{"a":1}`, `a message has "jsonrpc": "2.0"`},
		"a number":    {"42", "not one JSON object"},
		"nested deep": {`{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}", "nests deeper"},
		"a batch":     {"[" + good + "]", "batches are not supported"},
		"a long line": {strings.Repeat("x", maxLine+1), "a line of 16 MiB"},
	} {
		var l told
		c := &cleaner{r: bufio.NewReader(strings.NewReader(tt.bad + "\n\r\n" + good + "\n")), log: newLogger(l.log)}
		var got []jsonrpc.Message
		for {
			m, err := c.next()
			if m != nil {
				got = append(got, m)
			}
			if err != nil {
				break
			}
		}
		if len(got) != 1 || c.dropped != 1 || !strings.Contains(l.all(), tt.want) || strings.ContainsAny(l.all(), "\x1b\x07") || len(l.all()) > 2*maxError {
			t.Errorf("%s: %d messages, %d dropped, told %q", name, len(got), c.dropped, l.all())
		}
	}
}

// A banner before the first message is worth no warning, unless no message comes; later ones are.
func TestBanner(t *testing.T) {
	const good = `{"jsonrpc":"2.0","method":"notifications/x"}`
	var l told
	c := &cleaner{r: bufio.NewReader(strings.NewReader("hello\n" + good + "\nlater\n" + good + "\n")), log: newLogger(l.log)}
	for range 4 {
		if _, err := c.next(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := l.all(), "info: the server printed before its first message: it is not JSON: hello\nwarning: the server printed what is no message of the protocol (2 so far): it is not JSON: later"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	out := io.NopCloser(strings.NewReader("Usage: server \x1b[1mPORT\n"))
	_, err := OverPipes(t.Context(), out, discarding{}, limited(Options{Name: "x"}))
	if !errors.Is(err, ErrEnded) || !strings.HasSuffix(err.Error(), "the server has ended; what it printed is no message of the protocol: it is not JSON: Usage: server ␛[1mPORT") {
		t.Errorf("%v", err)
	}
}

// discarding is the stdin of a program that reads nothing.
type discarding struct{}

func (discarding) Write(p []byte) (int, error) { return len(p), nil }
func (discarding) Close() error                { return nil }

func FuzzCleaner(f *testing.F) {
	for _, s := range []string{"\n", "{}", `{"jsonrpc":"2.0","id":1,"result":{}}`, `[{"jsonrpc":"2.0","method":"a"}]`, "\x1b[2J\r\n{", `["\"[[["]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &cleaner{r: bufio.NewReaderSize(strings.NewReader(string(data)), 16), log: newLogger(func(_, text string) {
			if strings.ContainsAny(text, "\x1b\x07\u009b") || len(text) > 2*maxError {
				t.Errorf("told %q", text)
			}
		})}
		for {
			m, err := c.next()
			if m != nil {
				if _, err := jsonrpc.EncodeMessage(m); err != nil {
					t.Errorf("%q became %v: %v", data, m, err)
				}
			}
			if err != nil {
				break
			}
		}
		if n := c.r.Buffered(); n > 0 {
			t.Errorf("%d bytes were not read", n)
		}
	})
}

// A flood is read at the rates, whatever it consists of.
func TestMeter(t *testing.T) {
	at := time.Unix(0, 0)
	m := newMeter()
	if d := m.take(at, bytesBurst, messagesBurst); d != 0 {
		t.Errorf("the burst waits %v", d)
	}
	if d := m.take(at, bytesRate, 1); d != time.Second {
		t.Errorf("a second's bytes wait %v", d)
	}
	if d := m.take(at.Add(time.Second), 1, 2*messagesRate); d < time.Second || d > 2*time.Second {
		t.Errorf("two seconds' messages wait %v", d)
	}
}

// endless is a server's output without a newline, for some reads.
type endless struct {
	reads, most int
	begun       func()
}

func (e *endless) Read(p []byte) (int, error) {
	if e.reads++; e.reads > e.most {
		return 0, io.EOF
	}
	if e.begun != nil {
		e.begun()
	}
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func (e *endless) Close() error { return nil }

// A line without an end is read at the rate of its bytes, like all others.
func TestEndlessLineIsSlow(t *testing.T) {
	begun := make(chan struct{})
	out := &endless{most: 1000}
	out.begun = func() {
		if out.reads == 1 {
			close(begun)
		}
	}
	c := &pipeConn{out: out, in: discarding{}, log: newLogger(nil)}
	c.open, c.end = context.WithCancel(t.Context())
	spent := newMeter()
	for range 1000 {
		spent.take(time.Now(), bytesBurst, 0)
	}
	in := c.cleaner(spent)
	go func() {
		<-begun
		c.Close()
	}()
	if m, err := in.next(); err == nil || m != nil || out.reads != 1 {
		t.Errorf("%v, %v, after %d reads", m, err, out.reads)
	}
}

// A line without an end is reported when it is too long, and once.
func TestEndlessLineIsTold(t *testing.T) {
	var l told
	before := ""
	out := &endless{most: maxLine>>16 + 10}
	out.begun = func() {
		if out.reads == out.most {
			before = l.all()
		}
	}
	c := &cleaner{r: bufio.NewReaderSize(out, 64<<10), log: newLogger(l.log)}
	_, _ = c.next()
	if !strings.Contains(before, "a line of 16 MiB or more") || l.all() != before || c.dropped != 1 {
		t.Errorf("told %q, then %q, %d dropped", before, l.all(), c.dropped)
	}
}

// raw plays a server by hand: say gets each request of the client and writes lines. An answer of the
// client has the code of its error as its method.
func raw(t *testing.T, o Options, say func(w io.Writer, method string, id json.RawMessage)) (*Client, error) {
	t.Helper()
	fromServer, out := io.Pipe()
	in, toServer := io.Pipe()
	go func() { // ends with the client's side of the pipes
		defer out.Close()
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			var m struct {
				ID     json.RawMessage
				Method string
				Error  struct{ Code json.Number }
			}
			if json.Unmarshal(lines.Bytes(), &m) == nil {
				m.Method = cmp.Or(m.Method, m.Error.Code.String())
				say(out, m.Method, m.ID)
			}
		}
	}()
	o.Name = "raw"
	c, err := OverPipes(t.Context(), fromServer, toServer, limited(o))
	if err == nil {
		t.Cleanup(c.Close)
	}
	return c, err
}

// answer writes the answer to one request, like a server with the given tools.
func answer(w io.Writer, method string, id json.RawMessage, tools string) {
	switch method {
	case "server/discover":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", id)
	case "initialize":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`+"\n", id)
	case "tools/list":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`+"\n", id, tools)
	}
}

// A request for what the client does not offer is answered with -32601, and no request ends the session.
func TestNotOffered(t *testing.T) {
	rows := map[string]struct{ request, code string }{
		"sampling":         {`"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"x"}}],"maxTokens":9}`, "-32601"},
		"roots":            {`"roots/list"`, "-32601"},
		"a question":       {`"elicitation/create","params":{"message":"x","requestedSchema":{"type":"object","properties":{}}}`, "-32601"},
		"tasks":            {`"tasks/list","params":{}`, "-32601"},
		"a server's":       {`"tools/list"`, "-32601"},
		"an unknown one":   {`"no/such","params":{"x":1}`, "-32601"},
		"a sign of life":   {`"ping"`, ""},
		"one without name": {`""`, "-32601"},
	}
	codes := make(chan string, 1)
	sent := make(chan func(string), 1)
	_, err := raw(t, Options{}, func(w io.Writer, method string, id json.RawMessage) {
		switch {
		case string(id) == `"mine"`:
			codes <- method
		case method == "tools/list":
			sent <- func(request string) { fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"mine","method":%s}`+"\n", request) }
			fallthrough
		default:
			answer(w, method, id, "")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	send := <-sent
	for name, row := range rows {
		send(row.request)
		if code := <-codes; code != row.code {
			t.Errorf("%s: %q, want %q", name, code, row.code)
		}
	}
}

// A call whose answer has another form fails at once, and the server stays.
func TestUnreadableAnswers(t *testing.T) {
	c, err := raw(t, Options{}, func(w io.Writer, method string, id json.RawMessage) {
		answer(w, method, id, `{"name":"big","inputSchema":{"type":"object"}}`)
		if method == "tools/call" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":"text"}}`+"\n", id)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := c.Call(t.Context(), "big", nil, nil); err == nil || !strings.HasPrefix(err.Error(), "MCP server raw, calling big: its answer does not have the form of the protocol: cannot unmarshal") || strings.Contains(err.Error(), "Go ") {
			t.Error(err)
		}
	}
}

// A server that prints beside the protocol is connected to; tools that cannot be offered are
// left out and told, the others stay.
func TestHostileTools(t *testing.T) {
	var l told
	long := strings.Repeat("n", 80)
	sum := sha256.Sum256([]byte("raw\x00x_y"))
	end := "_" + hex.EncodeToString(sum[:4])
	c, err := raw(t, Options{Log: l.log}, func(w io.Writer, method string, id json.RawMessage) {
		fmt.Fprintln(w, "DEBUG: \x1b[2J", method)
		answer(w, method, id, strings.Join([]string{
			`null`, `{"name":"good","inputSchema":{"type":"object"}}`, `{"name":"good","inputSchema":{"type":"object"}}`,
			`{"name":"a.b","inputSchema":{"type":"object"}}`, `{"name":"a/b","inputSchema":{"type":"object"}}`,
			`{"name":"` + long + `","inputSchema":{"type":"object"}}`, `{"name":"e\u001b[2J","inputSchema":{"type":"object"}}`,
			`{"name":"kind","inputSchema":{"type":"object","properties":{"p":{"type":"strnig"}}}}`,
			`{"name":"away","inputSchema":{"type":"object","properties":{"p":{"$ref":"https://evil.example/"}}}}`,
			`{"name":"list","inputSchema":{"type":"array"}}`, `{"name":"none"}`,
			// The last one becomes what the second one is called, unless that is looked at.
			`{"name":"x.y","inputSchema":{"type":"object"}}`, `{"name":"x.y` + end + `","inputSchema":{"type":"object"}}`, `{"name":"x_y","inputSchema":{"type":"object"}}`}, ","))
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	seen := map[string]bool{}
	for _, tool := range c.Tools() {
		names = append(names, tool.Name)
		if len(tool.Offered) > maxOffered || unnameable().MatchString(tool.Offered) || seen[tool.Offered] || !strings.HasPrefix(tool.Offered, "raw__") {
			t.Errorf("%s is offered as %q", tool.Name, tool.Offered)
		}
		seen[tool.Offered] = true
	}
	if got := strings.Join(names, " "); got != "a.b a/b good "+long+" x.y x.y"+end+" x_y" {
		t.Errorf("offered: %s", got)
	}
	for _, want := range []string{"tool kind is left out", "tool away is left out", "tool list is left out", "tool none is left out", "tool e␛[2J is left out", "listed twice"} {
		if !strings.Contains(l.all(), want) {
			t.Errorf("not told: %s, in\n%s", want, l.all())
		}
	}
	// A server can have its list read every second.
	if err := c.readTools(t.Context()); err != nil || strings.Count(l.all(), "tool kind is left out") != 1 {
		t.Errorf("%v, told again:\n%s", err, l.all())
	}
}

// A list that changes before the connection is open ends nothing, and is read once it is open.
func TestEarlyChange(t *testing.T) {
	c, err := raw(t, Options{}, func(w io.Writer, method string, id json.RawMessage) {
		if method == "initialize" {
			fmt.Fprintln(w, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		answer(w, method, id, `{"name":"good","inputSchema":{"type":"object"}}`)
	})
	if err != nil || len(c.Tools()) != 1 {
		t.Errorf("%v", err)
	}
}

// A server that stays silent, or ends, is an error within the time limit.
func TestSilentServers(t *testing.T) {
	if _, err := raw(t, Options{Startup: 50 * time.Millisecond}, func(io.Writer, string, json.RawMessage) {}); !errors.Is(err, ErrTime) {
		t.Errorf("a silent server: %v", err)
	}
	_, err := raw(t, Options{}, func(w io.Writer, _ string, _ json.RawMessage) { w.(io.Closer).Close() })
	if !errors.Is(err, ErrEnded) {
		t.Errorf("a server that ends: %v", err)
	}
	c, err := raw(t, Options{Call: 50 * time.Millisecond}, func(w io.Writer, method string, id json.RawMessage) {
		answer(w, method, id, `{"name":"hang","inputSchema":{"type":"object"}}`)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Call(t.Context(), "hang", nil, nil); !errors.Is(err, ErrTime) {
		t.Errorf("a call without an answer: %v", err)
	}
}

// The end of a call's context reaches the tool.
func TestCancellation(t *testing.T) {
	started, stopped := make(chan struct{}), make(chan struct{})
	c := serve(t, Options{}, func(s *sdk.Server) {
		sdk.AddTool(s, &sdk.Tool{Name: "wait"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			close(started)
			<-ctx.Done()
			close(stopped)
			return nil, nil, ctx.Err()
		})
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	if _, err := c.Call(ctx, "wait", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	<-stopped
}
