package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/internal/jsonrpc"
	"codeagent/mcp/inquiry"
)

// fakeHost opens sessions that do what a test says.
type fakeHost struct {
	turn func(ctx context.Context, face Face, in Message) (Stop, error)
	// loading, if set, is waited for before a session is loaded, which only one can have open.
	loading chan struct{}
	busy    atomic.Bool

	mu   sync.Mutex
	did  []string
	last int
}

func (h *fakeHost) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.did = append(h.did, fmt.Sprintf(format, args...))
}

func (h *fakeHost) Open(_ context.Context, o OpenRequest, face Face) (Session, error) {
	if h.loading != nil && o.Session != "" {
		<-h.loading
		if h.busy.Swap(true) {
			return nil, errors.New("the session is in use")
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	id := o.Session
	if id == "" {
		id = fmt.Sprintf("s%d", h.last)
	}
	return &fakeSession{host: h, face: face, id: id, values: map[string]string{"mode": "a", "fast": "a", "model": "a"}}, nil
}

func (h *fakeHost) List(context.Context, string) ([]SavedSession, error) { return nil, nil }
func (h *fakeHost) Delete(context.Context, string) error                 { return nil }

type fakeSession struct {
	host   *fakeHost
	face   Face
	id     string
	mu     sync.Mutex
	values map[string]string
}

func (s *fakeSession) ID() string          { return s.id }
func (s *fakeSession) Title() string       { return "" }
func (s *fakeSession) Commands() []Command { return []Command{{Name: "c", About: "does c"}} }

func (s *fakeSession) Close() {
	s.host.busy.Store(false)
	s.host.note("close %s", s.id)
}

func (s *fakeSession) Settings() Settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	choice := func(id string, between bool) Choice {
		return Choice{ID: id, Name: id, Value: s.values[id], Values: []Value{{ID: "a", Name: "A"}, {ID: "b", Name: "B"}}, Between: between}
	}
	return Settings{Mode: choice("mode", false), Choices: []Choice{choice("fast", false), choice("model", true)}}
}

func (s *fakeSession) Set(_ context.Context, id, value string) error {
	s.mu.Lock()
	s.values[id] = value
	s.mu.Unlock()
	s.host.note("set %s %s", id, value)
	return nil
}

func (s *fakeSession) Turn(ctx context.Context, in Message) (Stop, error) {
	s.host.note("turn %s", in.Text)
	if s.host.turn == nil {
		return StopDone, nil
	}
	return s.host.turn(ctx, s.face, in)
}

// client writes lines to Serve and reads what it answers.
type testClient struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	over chan error
}

func connect(t *testing.T, h Host, capabilities string) *testClient {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &testClient{t, inW, bufio.NewReader(outR), make(chan error, 1)}
	go func() {
		c.over <- Serve(t.Context(), inR, outW, Options{Host: h})
		outW.Close()
	}()
	c.send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":1,"clientCapabilities":` + capabilities + `}}`)
	c.until(`"id":"i"`)
	c.send(`{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/","mcpServers":[]}}`)
	c.until("available_commands_update")
	return c
}

func (c *testClient) send(lines ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, strings.Join(lines, "\n")+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// until reads lines until one has all parts, and returns it.
func (c *testClient) until(parts ...string) string {
	c.t.Helper()
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			c.t.Fatalf("the output ended before %q: %v", parts, err)
		}
		has := true
		for _, p := range parts {
			has = has && strings.Contains(line, p)
		}
		if has {
			return line
		}
	}
}

func (c *testClient) end() {
	c.t.Helper()
	c.in.Close()
	_, _ = io.Copy(io.Discard, c.out)
	if err := <-c.over; err != nil {
		c.t.Error(err)
	}
}

func request(id, method, rest string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q,"params":{"sessionId":"s1",%s}}`, id, method, rest)
}

func said(id, text string) string {
	return request(id, "session/prompt", fmt.Sprintf(`"prompt":[{"type":"text","text":%q}]`, text))
}

// TestEveryEvent: every event becomes updates that can be written, for every editor, also in a replay.
func TestEveryEvent(t *testing.T) {
	for _, c := range []client{{}, {fileReads: true, forms: true, pages: true}} {
		for _, replaying := range []bool{false, true} {
			v := view{client: c, folder: "/w", cwd: "/link"}
			for _, e := range append(event.All(), event.All()...) {
				for _, u := range v.updates(e, replaying) {
					var back struct {
						SessionUpdate string `json:"sessionUpdate"`
					}
					if data, err := json.Marshal(u); err != nil || json.Unmarshal(data, &back) != nil || back.SessionUpdate == "" {
						t.Errorf("%T: %v, %+v", e, err, u)
					}
				}
			}
		}
	}
}

// TestPathsAsTheEditorKnowsThem: files of the session's folder have the editor's name for it.
func TestPathsAsTheEditorKnowsThem(t *testing.T) {
	v := view{folder: "/real/work", cwd: "/link"}
	for p, want := range map[string]string{"a/b": "/link/a/b", "/real/work/a": "/link/a", "/real/work": "/link", "/real/worker/a": "/real/worker/a", "/etc/x": "/etc/x"} {
		if got := v.path(p); got != want {
			t.Errorf("%s is %s, want %s", p, got, want)
		}
	}
}

// TestOrder: a change between turns waits for those that were asked for before, another does not, and
// no later prompt overtakes either. A cancel right behind its prompt counts.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := &fakeHost{turn: func(ctx context.Context, _ Face, in Message) (Stop, error) {
			switch in.Text {
			case "long":
				<-release
			case "endless":
				<-ctx.Done()
				return "", ctx.Err()
			}
			return StopDone, nil
		}}
		c := connect(t, h, `{}`)
		c.send(said("1", "long"))
		synctest.Wait()
		c.send(request("2", "session/set_config_option", `"configId":"model","value":"b"`),
			request("3", "session/set_config_option", `"configId":"fast","value":"b"`), said("4", "next"))
		if line := c.until(`"id":"3"`); !strings.Contains(line, `"id":"model"`) || !strings.Contains(line, `"currentValue":"b"`) {
			t.Errorf("not all options: %s", line)
		}
		synctest.Wait()
		close(release)
		c.until(`"id":"4"`)
		h.mu.Lock()
		if got := strings.Join(h.did, ", "); got != "turn long, set fast b, set model b, turn next" {
			t.Errorf("did %s", got)
		}
		h.mu.Unlock()
		cancel := `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`
		c.send(said("5", "endless"), cancel)
		c.until(`"id":"5"`, `"cancelled"`)
		// A change that nobody waits for any more does not let a prompt overtake the turn before it.
		c.send(said("6", "endless"), request("7", "session/set_config_option", `"configId":"model","value":"a"`),
			`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"7"}}`, said("8", "last"))
		c.until(`"id":"7"`, "-32800")
		synctest.Wait()
		h.mu.Lock()
		if got := h.did[len(h.did)-1]; got != "turn endless" {
			t.Errorf("%s overtook a turn", got)
		}
		h.mu.Unlock()
		c.send(cancel)
		c.until(`"id":"8"`)
		c.end()
	})
}

// TestCloseWhileLoading: a session that is closed before it has opened is closed, and can be loaded at
// once again. Two requests that run cannot have one id.
func TestCloseWhileLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &fakeHost{loading: make(chan struct{})}
		c := connect(t, h, `{}`)
		load := func(id string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"session/load","params":{"sessionId":"old","cwd":"/","mcpServers":[]}}`, id)
		}
		shut := func(id string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"session/close","params":{"sessionId":"old"}}`, id)
		}
		prompt := func(id string) string {
			return strings.Replace(said(id, "hello"), `"s1"`, `"old"`, 1)
		}
		c.send(load("l1"))
		synctest.Wait()
		c.send(load("l1"))
		c.until(`"id":"l1"`, "another request with the id")
		c.send(shut("c1"), load("l2"))
		synctest.Wait()
		close(h.loading)
		for range 3 {
			if line := c.until(`"id":"`); strings.Contains(line, `"error"`) {
				t.Error(line)
			}
		}
		c.send(prompt("p1"))
		if line := c.until(`"id":"p1"`); strings.Contains(line, `"error"`) {
			t.Error(line)
		}
		c.send(shut("c2"))
		c.until(`"id":"c2"`, `"result"`)
		c.send(prompt("p2"))
		c.until(`"id":"p2"`, "is not open")
		c.end()
	})
}

// TestBuffer: an editor is asked for a file only if it offers that; one that does not answer is not
// waited for twice, and an answer of another kind counts as none.
func TestBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type read struct {
			text string
			ok   bool
		}
		got := make(chan read, 1)
		h := &fakeHost{turn: func(ctx context.Context, face Face, _ Message) (Stop, error) {
			text, ok := face.Buffer(ctx, "/f")
			got <- read{text, ok}
			return StopDone, nil
		}}
		c := connect(t, h, `{}`)
		c.send(said("1", "x"))
		if line := c.until(`"id":"`); !strings.Contains(line, "stopReason") {
			t.Errorf("an editor that offers nothing was sent %s", line)
		}
		if r := <-got; r.ok {
			t.Errorf("%+v", r)
		}
		c.end()

		c = connect(t, h, `{"fs":{"readTextFile":true}}`)
		answers := []struct {
			line string
			want read
		}{
			{`"result":{"content":"text"}`, read{"text", true}}, {`"result":{}`, read{}}, {`"result":"text"`, read{}},
			{`"error":{"code":-32603,"message":"no"}`, read{}}, {`"result":{"content":"` + strings.Repeat("x", bufferMost+1) + `"}`, read{}},
		}
		ask := func(n int) string {
			c.send(strings.Replace(said(fmt.Sprint("p", n), "x"), `"s1"`, `"s2"`, 1))
			return c.until(`"id":`)
		}
		for n, a := range answers {
			line := ask(n)
			if !strings.Contains(line, `"fs/read_text_file"`) || !strings.Contains(line, `"path":"/f"`) {
				t.Fatalf("%s", line)
			}
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, n+1, a.line))
			if r := <-got; r != a.want {
				t.Errorf("%.60s: %.60v", a.line, r)
			}
			c.until("stopReason")
		}
		began := time.Now()
		ask(90) // not answered
		c.until("$/cancel_request")
		if r := <-got; r.ok || time.Since(began) != bufferTime {
			t.Errorf("%+v after %v", r, time.Since(began))
		}
		c.until("stopReason")
		if line := ask(91); !strings.Contains(line, "stopReason") {
			t.Errorf("asked again: %s", line)
		}
		<-got
		c.end()
	})
}

// TestInquire: only an answer that fits is passed on.
func TestInquire(t *testing.T) {
	most := 3.0
	q := inquiry.Question{Server: "srv", Message: "Which?", Fields: []inquiry.Field{
		{Name: "z", Kind: inquiry.Choices, Choices: []string{"a", "b"}, Required: true}, {Name: "n", Kind: inquiry.Integer, Most: &most},
	}}
	replies := make(chan inquiry.Reply, 1)
	h := &fakeHost{turn: func(ctx context.Context, face Face, _ Message) (Stop, error) {
		r, _ := face.Inquire(ctx, q) // an error declines
		replies <- r
		return StopDone, nil
	}}
	c := connect(t, h, `{"elicitation":{"form":{}}}`)
	for n, a := range []struct{ line, action string }{
		{`"result":{"action":"accept","content":{"z":["a","b"],"n":3}}`, "accept"},
		{`"result":{"action":"accept","content":{"z":["c"]}}`, "decline"},
		{`"result":{"action":"accept","content":{"z":["a"],"n":4}}`, "decline"},
		{`"result":{"action":"accept"}`, "decline"},
		{`"result":{"action":"cancel"}`, "cancel"},
		{`"result":{"action":"maybe","content":{"z":["a"]}}`, "decline"},
		{`"error":{"code":1,"message":"x"}`, "decline"},
		{`"result":["accept"]`, "decline"},
	} {
		c.send(said(fmt.Sprint("p", n), "x"))
		if line := c.until("elicitation/create"); !strings.Contains(line, `"properties":{"z":{`) || !strings.Contains(line, `"maximum":3`) {
			t.Errorf("%s", line)
		}
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, n+1, a.line))
		if r := <-replies; r.Action != a.action {
			t.Errorf("%s: %+v", a.line, r)
		}
		c.until("stopReason")
	}
	c.end()
	c = connect(t, h, `{"elicitation":{}}`)
	c.send(strings.Replace(said("p", "x"), `"s1"`, `"s2"`, 1))
	c.until("asks for input")
	if r := <-replies; r.Action != inquiry.Declined {
		t.Errorf("%+v", r)
	}
	c.end()
}

// TestAsk: the end of the connection answers no question with yes.
func TestAsk(t *testing.T) {
	decided := make(chan error, 1)
	h := &fakeHost{turn: func(ctx context.Context, face Face, _ Message) (Stop, error) {
		ans, err := face.Ask(ctx, approvals.Request{Title: "t", Options: []approvals.Option{{Decision: approvals.Once, Label: "once"}}})
		if err == nil && ans.Decision.Yes() {
			err = errors.New("a yes")
		}
		decided <- err
		return StopDone, nil
	}}
	c := connect(t, h, `{}`)
	c.send(said("1", "x"))
	c.until("session/request_permission")
	c.in.Close()
	_, _ = io.Copy(io.Discard, c.out)
	if err := <-decided; err == nil || err.Error() == "a yes" {
		t.Errorf("the end of the connection answered: %v", err)
	}
	<-c.over
}

const initialize = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":1}}`

// FuzzServe: no line ends the server, and whatever it writes is one message a line.
func FuzzServe(f *testing.F) {
	for _, line := range []string{
		`{nope`, `[]`, `{}`, `{"jsonrpc":"2.0"}`, `null`, `"x"`, `{"jsonrpc":"2.0","id":1.5,"method":"x"}`, `{"jsonrpc":"2.0","id":{},"method":"initialize"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1e99}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[{}]}}`, `{"jsonrpc":"2.0","method":"session/cancel","params":[]}`,
		said("1", "x"), request("2", "session/set_config_option", `"configId":"model","value":{}`), request("3", "session/set_mode", `"modeId":null`),
		request("4", "session/prompt", `"prompt":[{"type":"image","data":"!"},{}]`), request("5", "session/close", `"x":1`), "\xff\xfe", `{"a":` + strings.Repeat(`[`, 10000),
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var out strings.Builder
		in := initialize + "\n" + `{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/","mcpServers":[]}}` + "\n" + string(line) + "\n"
		if err := Serve(context.Background(), strings.NewReader(in), &out, Options{Host: &fakeHost{}}); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(out.String()) {
			if _, _, err := jsonrpc.Parse([]byte(l)); err != nil && !strings.Contains(l, `"id":null`) {
				t.Errorf("%q: %v", l, err)
			}
		}
	})
}
