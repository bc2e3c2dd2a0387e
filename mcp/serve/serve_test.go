package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// host is a Host whose tools are functions.
type host map[string]func(ctx context.Context, c Call) Result

func (h host) Call(ctx context.Context, c Call) Result { return h[c.Tool](ctx, c) }

func (h host) options() Options {
	o := Options{Name: "codeagent", Version: "1", Host: h}
	for name := range h {
		o.Tools = append(o.Tools, Tool{Name: name, Input: json.RawMessage(`{"type":"object"}`)})
	}
	return o
}

// peer is a client that writes and reads lines.
type peer struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	over chan error
}

func start(t *testing.T, ctx context.Context, o Options) *peer {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &peer{t: t, in: inW, out: bufio.NewReader(outR), over: make(chan error, 1)}
	go func() {
		p.over <- Run(ctx, inR, outW, o)
		outW.Close()
	}()
	t.Cleanup(func() { inW.Close(); io.Copy(io.Discard, p.out) })
	return p
}

func (p *peer) send(lines ...string) {
	p.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(p.in, l+"\n"); err != nil {
			p.t.Fatal(err)
		}
	}
}

// message is what the server sends.
type message struct {
	ID     any             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
	line string
}

func (p *peer) next() message {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	m := message{line: line}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		p.t.Fatalf("%q: %v", line, err)
	}
	return m
}

// answer returns the response to a request. The server may take its question back meanwhile.
func (p *peer) answer(id float64) message {
	p.t.Helper()
	m := p.next()
	for m.Method == "notifications/cancelled" {
		m = p.next()
	}
	if m.ID != id {
		p.t.Fatalf("instead of the response to %v came %s", id, m.line)
	}
	return m
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"test","version":"1"}}}`

func (p *peer) initialize(capabilities string) {
	p.t.Helper()
	p.send(fmt.Sprintf(initialize, handshake, capabilities))
	if m := p.next(); m.Error != nil {
		p.t.Fatal(m.line)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func callLine(id int, tool, extra string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}%s}}`, id, tool, extra)
}

// meta is the _meta of a request of the newest revision.
const meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}%s}`

func echo(_ context.Context, c Call) Result { return Result{Text: c.Tool} }

// TestBeforeInitialize: a call without a handshake is an error with a code, and initialize works after it.
func TestBeforeInitialize(t *testing.T) {
	p := start(t, t.Context(), host{"echo": echo}.options())
	p.send(callLine(1, "echo", ""))
	if m := p.next(); m.Error == nil || m.Error.Code != -32600 {
		t.Error(m.line)
	}
	p.send(fmt.Sprintf(initialize, "2999-01-01", "{}"))
	if m := p.next(); !strings.Contains(m.line, `"protocolVersion":"`+handshake+`"`) {
		t.Error(m.line)
	}
	p.send(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
	if m := p.next(); m.Error != nil || strings.Contains(m.line, "outputSchema") {
		t.Errorf("a tool without a schema of its output: %s", m.line)
	}
	p.send(callLine(2, "echo", ""))
	if m := p.next(); m.Error != nil || strings.Contains(m.line, "resultType") {
		t.Errorf("a client of a future revision got %s", m.line)
	}
}

// TestEscapes: what a tool returns reaches the client unchanged, and no raw control character the pipe.
func TestEscapes(t *testing.T) {
	text := "\x1b[31mred\u009b\u202e"
	p := start(t, t.Context(), host{"echo": func(context.Context, Call) Result { return Result{Text: text} }}.options())
	p.initialize("{}")
	p.send(callLine(1, "echo", ""))
	m := p.next()
	if strings.ContainsAny(m.line, "\x1b\u009b\u202e") {
		t.Errorf("raw: %q", m.line)
	}
	var res mcp.CallToolResult
	if err := json.Unmarshal(m.Result, &res); err != nil || res.Content[0].(*mcp.TextContent).Text != text {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestCancel: the call ends, and others go on.
func TestCancel(t *testing.T) {
	for name, extra := range map[string]string{"2025-11-25": "", newest: fmt.Sprintf(meta, "")} {
		t.Run(name, func(t *testing.T) {
			began, ended := make(chan struct{}), make(chan error, 1)
			p := start(t, t.Context(), host{"echo": echo, "wait": func(ctx context.Context, c Call) Result {
				close(began)
				<-ctx.Done()
				c.Progress("too late")
				ended <- context.Cause(ctx)
				return Result{Text: "too late"}
			}}.options())
			if extra == "" {
				p.initialize("{}")
			}
			p.send(callLine(1, "wait", extra))
			<-began
			p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"x"}}`)
			if err := <-ended; !errors.Is(err, errCancelled) {
				t.Errorf("ended by %v", err)
			}
			p.send(callLine(2, "echo", extra))
			for m := p.next(); m.ID != 2.0; m = p.next() {
				if m.ID != 1.0 || m.Error == nil {
					t.Errorf("after the cancelled call came %s", m.line)
				}
			}
		})
	}
}

// TestEnds: the end of the input and of the context end a running call, and Run waits for it.
func TestEnds(t *testing.T) {
	cause := errors.New("a signal")
	for name, end := range map[string]func(p *peer, stop context.CancelCauseFunc){
		"end of file": func(p *peer, _ context.CancelCauseFunc) { p.in.Close() },
		"a signal":    func(_ *peer, stop context.CancelCauseFunc) { stop(cause) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			began := make(chan struct{})
			ended := false
			p := start(t, ctx, host{"wait": func(ctx context.Context, c Call) Result {
				close(began)
				<-ctx.Done()
				ended = true
				return Result{}
			}}.options())
			p.initialize("{}")
			p.send(callLine(1, "wait", ""))
			<-began
			end(p, stop)
			err := <-p.over
			if !ended {
				t.Error("the call still runs")
			}
			if name == "a signal" && !errors.Is(err, cause) || name != "a signal" && err != nil {
				t.Errorf("Run returned %v", err)
			}
		})
	}
}

// TestAtOnce: two calls run at the same time.
func TestAtOnce(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	p := start(t, t.Context(), host{"both": func(context.Context, Call) Result {
		both.Done()
		both.Wait()
		return Result{Text: "both"}
	}}.options())
	p.initialize("{}")
	p.send(callLine(1, "both", ""), callLine(2, "both", ""))
	if a, b := p.next(), p.next(); a.Error != nil || b.Error != nil {
		t.Error(a.line, b.line)
	}
}

var question = Question{Message: "May it?", Options: []Option{{"once", "Yes, once"}, {"no", "No"}}}

func asking1(ctx context.Context, c Call) Result {
	id, err := c.Ask(ctx, question)
	return Result{Text: fmt.Sprintf("asks=%v answer=%q err=%v", c.Asks, id, err)}
}

// answerCases are the answers of a client to a question, and what the tool gets.
var answerCases = map[string]struct{ answer, want string }{
	"yes":               {`{"action":"accept","content":{"answer":"once"}}`, `answer="once" err=<nil>`},
	"no":                {`{"action":"accept","content":{"answer":"no"}}`, `answer="no" err=<nil>`},
	"declined":          {`{"action":"decline"}`, `answer="" err=<nil>`},
	"cancelled":         {`{"action":"cancel"}`, `answer="" err=<nil>`},
	"declined with one": {`{"action":"decline","content":{"answer":"once"}}`, `answer="" err=<nil>`},
	"nothing":           {`{"action":"accept"}`, `answer=""`},
	"not offered":       {`{"action":"accept","content":{"answer":"always"}}`, `answer=""`},
	"another type":      {`{"action":"accept","content":{"answer":true}}`, `answer=""`},
	"another action":    {`{"action":"yes","content":{"answer":"once"}}`, `answer=""`},
	"empty":             {`{}`, `answer=""`},
}

// TestElicitation: in 2025-11-25 the client is asked during the call. Only an offered option is an answer.
func TestElicitation(t *testing.T) {
	for name, c := range answerCases {
		t.Run(name, func(t *testing.T) {
			p := start(t, t.Context(), host{"ask": asking1}.options())
			p.initialize(`{"elicitation":{}}`)
			p.send(callLine(1, "ask", ""))
			m := p.next()
			if m.Method != "elicitation/create" || !strings.Contains(m.line, `"enum":["once","no"],"enumNames":["Yes, once","No"]`) || !strings.Contains(m.line, "May it?") {
				t.Fatal(m.line)
			}
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":%s}`, m.ID, c.answer))
			if m = p.next(); !strings.Contains(unquoted(m), c.want) {
				t.Errorf("%s, want %s", m.line, c.want)
			}
		})
	}
	t.Run("2025-06-18", func(t *testing.T) { // an older revision
		p := start(t, t.Context(), host{"ask": asking1}.options())
		p.send(fmt.Sprintf(initialize, "2025-06-18", `{"elicitation":{}}`))
		p.next()
		p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, callLine(1, "ask", ""))
		m := p.next()
		if !strings.Contains(m.line, `"enum":["once","no"],"enumNames":["Yes, once","No"]`) {
			t.Fatal(m.line)
		}
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"action":"accept","content":{"answer":"once"}}}`, m.ID))
		if m = p.next(); !strings.Contains(unquoted(m), `answer="once" err=<nil>`) {
			t.Error(m.line)
		}
	})
	t.Run("an error", func(t *testing.T) {
		p := start(t, t.Context(), host{"ask": asking1}.options())
		p.initialize(`{"elicitation":{}}`)
		p.send(callLine(1, "ask", ""))
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"error":{"code":-1,"message":"no \u001b[2J"}}`, p.next().ID))
		if m := p.next(); !strings.Contains(m.line, "the client did not answer") || strings.Contains(unquoted(m), "\x1b") {
			t.Error(m.line)
		}
	})
	t.Run("never", func(t *testing.T) {
		o := host{"ask": asking1, "echo": echo}.options()
		o.Patience = 50 * time.Millisecond
		p := start(t, t.Context(), o)
		p.initialize(`{"elicitation":{}}`)
		p.send(callLine(1, "ask", ""))
		asked := p.next()
		late := p.answer(1)
		if !strings.Contains(unquoted(late), `answer="" err=the client did not answer`) {
			t.Error(late.line)
		}
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"action":"accept","content":{"answer":"once"}}}`, asked.ID), callLine(2, "echo", ""))
		if m := p.answer(2); m.Error != nil {
			t.Errorf("after an answer that came too late: %s", m.line)
		}
	})
	t.Run("no elicitation", func(t *testing.T) {
		p := start(t, t.Context(), host{"ask": asking1}.options())
		p.initialize(`{}`)
		p.send(callLine(1, "ask", ""))
		if m := p.next(); !strings.Contains(m.line, "asks=false") || !strings.Contains(m.line, "cannot show questions") {
			t.Error(m.line)
		}
	})
}

// unquoted is the text of a result.
func unquoted(m message) string {
	var r mcp.CallToolResult
	if json.Unmarshal(m.Result, &r) != nil || len(r.Content) == 0 {
		return m.line
	}
	return r.Content[0].(*mcp.TextContent).Text
}

// TestInputRequired: in 2026-07-28 the call is answered by the question, and continues with the answer.
func TestInputRequired(t *testing.T) {
	for name, c := range answerCases {
		if name == "empty" { // not an answer at all there: the request itself is invalid
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := start(t, t.Context(), host{"ask": asking1}.options())
			p.send(callLine(1, "ask", fmt.Sprintf(meta, "")))
			state := p.parked()
			p.send(callLine(2, "ask", fmt.Sprintf(`,"requestState":%q,"inputResponses":{"answer":%s}`, state, c.answer)+fmt.Sprintf(meta, "")))
			m := p.next()
			if !strings.Contains(unquoted(m), c.want) || !strings.Contains(m.line, `"resultType":"complete"`) {
				t.Errorf("%s, want %s", m.line, c.want)
			}
			p.send(callLine(3, "ask", fmt.Sprintf(`,"requestState":%q`, state)+fmt.Sprintf(meta, "")))
			if m := p.next(); m.Error == nil || m.Error.Code != -32602 {
				t.Errorf("a state was good twice: %s", m.line)
			}
		})
	}
}

// parked reads an input_required and returns its state.
func (p *peer) parked() string {
	p.t.Helper()
	m := p.next()
	var r struct {
		ResultType, RequestState string
		InputRequests            map[string]struct{ Method string }
	}
	if err := json.Unmarshal(m.Result, &r); err != nil || r.ResultType != "input_required" || r.InputRequests["answer"].Method != "elicitation/create" || r.RequestState == "" || !strings.Contains(m.line, `"content":[]`) {
		p.t.Fatal(m.line)
	}
	return r.RequestState
}

// TestParked: a state belongs to its call, and a client that does not come back ends the call.
func TestParked(t *testing.T) {
	ended := make(chan error, 1)
	o := host{"ask": func(ctx context.Context, c Call) Result {
		_, err := c.Ask(ctx, question)
		ended <- err
		return Result{}
	}, "other": echo}.options()
	o.Patience = 50 * time.Millisecond
	p := start(t, t.Context(), o)
	p.send(callLine(1, "ask", fmt.Sprintf(meta, "")))
	state := p.parked()
	p.send(callLine(2, "other", fmt.Sprintf(`,"requestState":%q`, state)+fmt.Sprintf(meta, "")))
	if m := p.next(); m.Error == nil || m.Error.Code != -32602 {
		t.Error(m.line)
	}
	if err := <-ended; !errors.Is(err, errNoAnswer) {
		t.Errorf("ended by %v", err)
	}
}

// TestProgress: lines reach the client that asked for them, in order and before the result.
func TestProgress(t *testing.T) {
	o := host{"work": func(_ context.Context, c Call) Result {
		c.Progress("one\x1b[2J")
		c.Progress("two")
		return Result{Text: "done"}
	}}.options()
	p := start(t, t.Context(), o)
	p.initialize("{}")
	p.send(callLine(1, "work", `,"_meta":{"progressToken":"t"}`))
	var got []string
	for {
		m := p.next()
		if m.Method != "notifications/progress" {
			break
		}
		var params mcp.ProgressNotificationParams
		if err := json.Unmarshal(m.Params, &params); err != nil || params.ProgressToken != "t" || params.Progress != float64(len(got)+1) {
			t.Error(m.line, err)
		}
		got = append(got, params.Message)
	}
	if len(got) != 2 || strings.Contains(got[0], "\x1b") || got[1] != "two" {
		t.Errorf("%q", got)
	}
	p.send(callLine(2, "work", ""))
	if m := p.next(); m.ID != 2.0 {
		t.Errorf("a client that asked for no progress got %s", m.line)
	}
}

// TestSDKClient: the SDK's client negotiates the newest revision, and answers by itself.
func TestSDKClient(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	o := host{"ask": asking1}.options()
	o.Tools[0].Output = json.RawMessage(`{"type":"object"}`)
	over := make(chan error, 1)
	go func() { over <- Run(t.Context(), inR, outW, o); outW.Close() }()
	client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "once"}}, nil
	}})
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if v := session.InitializeResult().ProtocolVersion; v != newest {
		t.Errorf("negotiated %s", v)
	}
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 1 || list.Tools[0].OutputSchema == nil {
		t.Errorf("%+v, %v", list, err)
	}
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask", Arguments: map[string]any{}})
	if err != nil || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, `answer="once"`) {
		t.Errorf("%+v, %v", res, err)
	}
	session.Close()
	if err := <-over; err != nil {
		t.Error(err)
	}
}
