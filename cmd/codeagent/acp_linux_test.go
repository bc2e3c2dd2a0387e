package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/internal/machine"
	"codeagent/internal/scripted"
)

// editor is a client of `codeagent acp`.
type editor struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	// answer is the result, or the error, of each question; asked are their parameters. A question
	// that holds denied, if that is set, is answered with no.
	answer string
	denied string
	asked  []string
	// updates are what the sessions showed, in order.
	updates []string
	last    int
}

// acpMessage is a line of the agent's.
type acpMessage struct {
	ID     *int
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// startEditor starts `codeagent acp` and shakes hands.
func startEditor(t *testing.T, u user, url string) *editor {
	t.Helper()
	e := launchEditor(t, u, url)
	if m := e.request("initialize", `{"protocolVersion":1,"clientCapabilities":{}}`); m.Error != nil || !strings.Contains(string(m.Result), `"loadSession":true`) {
		t.Fatalf("initialize: %+v", m)
	}
	return e
}

// launchEditor starts `codeagent acp`.
func launchEditor(t *testing.T, u user, url string) *editor {
	t.Helper()
	cmd := u.codeagent("acp", "--model", "test")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+url)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // it may have ended
	})
	return &editor{t: t, cmd: cmd, in: in, out: bufio.NewReader(out)}
}

func (e *editor) line(text string) {
	e.t.Helper()
	if _, err := io.WriteString(e.in, text+"\n"); err != nil {
		e.t.Fatal(err)
	}
}

// start sends a request and returns its ID.
func (e *editor) start(method, params string) int {
	e.t.Helper()
	e.last++
	e.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, e.last, method, params))
	return e.last
}

func (e *editor) request(method, params string) acpMessage {
	e.t.Helper()
	return e.await(e.start(method, params))
}

// next reads one line.
func (e *editor) next() acpMessage {
	e.t.Helper()
	text, err := e.out.ReadString('\n')
	if err != nil {
		e.t.Fatalf("the agent's output ended: %v (%q)", err, text)
	}
	var m acpMessage
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		e.t.Fatalf("%q: %v", text, err)
	}
	return m
}

// await answers questions and collects updates until the answer to a request comes.
func (e *editor) await(id int) acpMessage {
	e.t.Helper()
	for {
		m := e.next()
		switch {
		case m.Method == "session/update":
			e.updates = append(e.updates, string(m.Params))
		case m.Method == "session/request_permission":
			e.asked = append(e.asked, string(m.Params))
			answer := e.answer
			if e.denied != "" && strings.Contains(string(m.Params), e.denied) {
				answer = `"result":{"outcome":{"outcome":"selected","optionId":"no"}}`
			}
			e.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, *m.ID, answer))
		case m.Method == "" && m.ID != nil && *m.ID == id:
			return m
		default:
			e.t.Fatalf("unexpected: %+v", m)
		}
	}
}

// open opens a session in a folder and returns its ID.
func (e *editor) open(folder string) string {
	e.t.Helper()
	return e.openWith(folder, "")
}

// openWith opens a session with MCP servers.
func (e *editor) openWith(folder, servers string) string {
	e.t.Helper()
	m := e.request("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[%s]}`, folder, servers))
	var r struct{ SessionID string }
	if err := json.Unmarshal(m.Result, &r); err != nil || r.SessionID == "" {
		e.t.Fatalf("session/new: %+v", m)
	}
	return r.SessionID
}

func prompt(session, text string) string {
	return fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, session, text)
}

// shows reports whether an update so far holds all parts.
func (e *editor) shows(parts ...string) bool {
	return slices.ContainsFunc(e.updates, func(u string) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(u, p) })
	})
}

// awaitUpdate reads updates until one holds all parts.
func (e *editor) awaitUpdate(parts ...string) {
	e.t.Helper()
	for !e.shows(parts...) {
		m := e.next()
		if m.Method != "session/update" {
			e.t.Fatalf("unexpected: %s %s", m.Method, m.Params)
		}
		e.updates = append(e.updates, string(m.Params))
	}
}

// TestACPPermission: only the offered answers that say yes open anything, and the question carries
// what opens, in words and as data.
func TestACPPermission(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		file := filepath.Join(u.out, "granted")
		for name, c := range map[string]struct {
			answer  string
			written bool
		}{
			"once":         {`"result":{"outcome":{"outcome":"selected","optionId":"once"}}`, true},
			"session":      {`"result":{"outcome":{"outcome":"selected","optionId":"session"}}`, true},
			"no":           {`"result":{"outcome":{"outcome":"selected","optionId":"no"}}`, false},
			"not offered":  {`"result":{"outcome":{"outcome":"selected","optionId":"1"}}`, false},
			"cancelled":    {`"result":{"outcome":{"outcome":"cancelled"}}`, false},
			"an error":     {`"error":{"code":-32603,"message":"no window"}`, false},
			"not readable": {`"result":["once"]`, false},
		} {
			t.Run(name, func(t *testing.T) {
				_ = os.Remove(file)
				srv := serve(t, scripted.Reply{Calls: []scripted.Call{wishCall(file, "bash writes granted into the folder that you named")}}, scripted.Reply{Text: "That was it."})
				e := startEditor(t, u, srv.URL)
				e.answer = c.answer
				m := e.request("session/prompt", prompt(e.open(u.work), "go"))
				if m.Error != nil || !strings.Contains(string(m.Result), `"end_turn"`) {
					t.Fatalf("%+v", m)
				}
				if len(e.asked) != 1 || !strings.Contains(e.asked[0], `allows: write `+file) || !strings.Contains(e.asked[0], `"allows":["write `+file) {
					t.Fatalf("the question does not carry what opens: %q; updates %q", e.asked, e.updates)
				}
				if _, err := os.Stat(file); (err == nil) != c.written {
					t.Errorf("written: %v, want %v", err == nil, c.written)
				}
				if !e.shows("agent_message_chunk", "That was it.") {
					t.Errorf("no answer in %q", e.updates)
				}
			})
		}
	})
}

// TestACPCancel: a cancel kills the command with all that it started, and the prompt ends as
// cancelled after its updates; a cancel right behind its prompt counts.
func TestACPCancel(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		pid := filepath.Join(u.work, "pid")
		srv := serve(t, scripted.Reply{Calls: []scripted.Call{shellCall("sleep 3041 & echo $! > pid; echo begun; wait")}}, scripted.Reply{Text: "never"})
		e := startEditor(t, u, srv.URL)
		session := e.open(u.work)
		id := e.start("session/prompt", prompt(session, "go"))
		e.awaitUpdate("tool_call_update", "begun")
		if _, err := os.ReadFile(pid); err != nil {
			t.Fatal(err)
		}
		e.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, session))
		if m := e.await(id); m.Error != nil || !strings.Contains(string(m.Result), `"cancelled"`) {
			t.Fatalf("%+v", m)
		}
		if !e.shows("tool_call_update", `"failed"`) {
			t.Errorf("the call's end was not shown before the answer: %q", e.updates)
		}
		out, err := exec.Command("pgrep", "-f", "^sleep 3041$", "-u", fmt.Sprint(max(u.uid, os.Getuid()))).Output()
		if err == nil {
			t.Errorf("the command still runs: %s", out)
		}
		id = e.start("session/prompt", prompt(session, "again"))
		e.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, session))
		if m := e.await(id); m.Error != nil || !strings.Contains(string(m.Result), `"cancelled"`) {
			t.Fatalf("a cancel right behind its prompt: %+v", m)
		}
	})
}

// TestACPTwoSessionsAndLoad: two sessions at once share no grant; load replays, resume does not.
func TestACPTwoSessionsAndLoad(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	file := filepath.Join(u.out, "granted")
	wish := scripted.Reply{Calls: []scripted.Call{wishCall(file, "bash writes granted into the folder that you named")}}
	srv := serve(t, wish, scripted.Reply{Text: "first answer"}, wish, scripted.Reply{Text: "second answer"})
	e := startEditor(t, u, srv.URL)
	e.answer = `"result":{"outcome":{"outcome":"selected","optionId":"session"}}`
	other := filepath.Join(u.out, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	one, two := e.open(u.work), e.open(other)
	e.request("session/prompt", prompt(one, "first question"))
	e.answer = `"result":{"outcome":{"outcome":"selected","optionId":"no"}}`
	if e.request("session/prompt", prompt(two, "second question")); len(e.asked) != 2 {
		t.Fatalf("%d questions: a grant of one session counted in the other", len(e.asked))
	}
	if m := e.request("session/close", fmt.Sprintf(`{"sessionId":%q}`, one)); m.Error != nil {
		t.Fatalf("%+v", m)
	}
	for method, replays := range map[string]bool{"session/resume": false, "session/load": true} {
		later := startEditor(t, u, srv.URL)
		if m := later.request(method, fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, one, u.work)); m.Error != nil {
			t.Fatalf("%s: %+v", method, m)
		}
		for _, part := range []string{"first question", "first answer"} {
			if later.shows("_message_chunk", part) != replays {
				t.Errorf("%s: replays %q: %v", method, part, !replays)
			}
		}
		later.in.Close()
		_ = later.cmd.Wait()
	}
}

// TestACPErrors: malformed requests are answered by errors, and the agent goes on.
func TestACPErrors(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	e := startEditor(t, u, "http://127.0.0.1:1/v1")
	for line, code := range map[string]int{
		`{nope`: -32700,
		`[{"jsonrpc":"2.0","id":7,"method":"session/list","params":{}}]`:                                    -32600,
		`{"jsonrpc":"2.0","id":8,"method":"no/such","params":{}}`:                                           -32601,
		`{"jsonrpc":"2.0","id":9,"method":"session/new","params":{"cwd":"relative","mcpServers":[]}}`:       -32602,
		`{"jsonrpc":"2.0","id":10,"method":"session/prompt","params":{"sessionId":"absent","prompt":[]}}`:   -32002,
		`{"jsonrpc":"2.0","id":11,"method":"session/new","params":{}}`:                                      -32602,
		`{"jsonrpc":"2.0","id":12,"method":"\xff","params":{}}`:                                             -32700,
		`{"jsonrpc":"2.0","id":13,"method":"no/such","params":{"x":"` + strings.Repeat("a", 12<<20) + `"}}`: -32601,
	} {
		e.line(line)
		if m := e.next(); m.Error == nil || m.Error.Code != code || m.Error.Message == "" {
			t.Errorf("%.80s: %+v, want %d", line, m.Error, code)
		}
	}
	if m := e.request("session/list", `{}`); m.Error != nil {
		t.Errorf("%+v", m)
	}
}

// TestACPEnds: at the end of its input and at SIGTERM, codeagent ends and all it started with it.
func TestACPEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*editor) error{
		"end of file": func(e *editor) error { return e.in.Close() },
		"SIGTERM":     func(e *editor) error { return e.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			u := newUser(t, "self", -1)
			srv := serve(t, scripted.Reply{Calls: []scripted.Call{shellCall("echo begun; sleep 3042")}})
			e := startEditor(t, u, srv.URL)
			fake := u.fakeMCP(t)
			e.start("session/prompt", prompt(e.openWith(u.out, fmt.Sprintf(`{"name":"fake","command":%q,"args":[],"env":[]}`, fake)), "go"))
			e.awaitUpdate("tool_call_update", "begun")
			if err := exec.Command("pgrep", "-f", "^"+fake).Run(); err != nil {
				t.Fatalf("the MCP server does not run: %v", err)
			}
			if err := end(e); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() {
				_, _ = io.Copy(io.Discard, e.out)
				ended <- e.cmd.Wait()
			}()
			select {
			case <-ended:
			case <-time.After(machine.Patience(3 * time.Second)):
				_ = e.cmd.Process.Kill()
				t.Fatal("codeagent did not end")
			}
			if out, err := exec.Command("pgrep", "-f", "^sleep 3042$").Output(); err == nil {
				t.Errorf("the command still runs: %s", out)
			}
			if out, err := exec.Command("pgrep", "-f", "^"+fake).Output(); err == nil {
				t.Errorf("the MCP server still runs: %s", out)
			}
		})
	}
}

// TestACPServers: an editor's MCP server runs in its session only, in a sandbox, and its tools are
// asked about.
func TestACPServers(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, u user) {
		inside, outside := filepath.Join(u.out, "folder"), filepath.Join(u.home, "planted")
		if err := os.Mkdir(inside, 0o755); err != nil {
			t.Fatal(err)
		}
		call := func(tool, path string) scripted.Reply {
			return scripted.Reply{Calls: []scripted.Call{{Name: "My-Server__" + tool, Arguments: fmt.Sprintf(`{"path":%q}`, path)}}}
		}
		srv := serve(t, call("write", outside), scripted.Reply{Text: "done"}, scripted.Reply{Text: "no tools"})
		e := startEditor(t, u, srv.URL)
		e.answer = `"result":{"outcome":{"outcome":"selected","optionId":"once"}}`
		e.denied = "allows: write " + outside
		session := e.openWith(inside, fmt.Sprintf(`{"name":"My Server","command":%q,"args":[],"env":[{"name":"LITERAL","value":"$HOME"}]}`, u.fakeMCP(t)))
		if m := e.request("session/prompt", prompt(session, "go")); m.Error != nil {
			t.Fatalf("%+v", m)
		}
		if len(e.asked) != 2 || !strings.Contains(e.asked[0], "the tool write of the MCP server My-Server") || !strings.Contains(e.asked[1], e.denied) {
			t.Errorf("want a question about the tool and one about the write that waits: %q", e.asked)
		}
		if _, err := os.Stat(outside); err == nil {
			t.Error("the server wrote outside its sandbox")
		}
		if !e.shows("tool_call_update", "planted", "failed") {
			t.Errorf("the refusal is not named with its call: %q", e.updates)
		}
		other := e.open(u.out)
		if m := e.request("session/prompt", prompt(other, "go")); m.Error != nil {
			t.Fatalf("%+v", m)
		}
		requests := srv.Requests()
		for i, offered := range map[int]bool{0: true, len(requests) - 1: false} {
			if got := strings.Contains(string(requests[i].Body), "My-Server__write"); got != offered {
				t.Errorf("request %d offers the tool: %v", i, got)
			}
		}
	})
}

// TestACPAttached: the model gets what an editor attaches to a command that is a prompt, and nothing
// of what is not a command.
func TestACPAttached(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	srv := serve(t, scripted.Reply{Text: "planned"})
	e := startEditor(t, u, srv.URL)
	id := e.open(u.out)
	for _, typed := range []string{"/status", "/plan tidy up"} {
		link := `{"type":"resource_link","uri":"file:///srv/a%20file.txt","name":"a file.txt"}`
		if m := e.request("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[%s,{"type":"text","text":%q}]}`, id, link, typed)); m.Error != nil {
			t.Fatalf("%+v", m)
		}
	}
	if requests := srv.Requests(); len(requests) != 1 || !strings.Contains(string(requests[0].Body), "tidy up") || !strings.Contains(string(requests[0].Body), "@/srv/a file.txt") {
		t.Errorf("%d requests, and the first one is %s", len(requests), requests[0].Body)
	}
}

// TestACPServerReplaced: the editor shows which of its servers is not used, since the settings have one
// of that name.
func TestACPServerReplaced(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	fake := u.fakeMCP(t)
	settings := filepath.Join(u.home, ".config/codeagent/config.toml")
	if err := os.MkdirAll(filepath.Dir(settings), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, fmt.Appendf(nil, "[mcp.servers.My-Server]\ncommand = %q\n", fake), 0o600); err != nil {
		t.Fatal(err)
	}
	e := startEditor(t, u, serve(t, scripted.Reply{Text: "done"}).URL)
	const notice = "the MCP server My-Server is that of your settings"
	own := e.openWith(u.out, `{"name":"theirs","command":"/bin/cat","args":[],"env":[]}`)
	if m := e.request("session/prompt", prompt(own, "go")); m.Error != nil || e.shows(notice) {
		t.Errorf("%+v, %q", m, e.updates)
	}
	e.openWith(u.out, `{"name":"My Server","command":"/bin/cat","args":["a b"],"env":[]}`)
	e.awaitUpdate("agent_message_chunk", notice+" ("+fake+"), in place of the editor's (/bin/cat 'a b')")
}

// TestACPRemoteServer: an editor's MCP server over HTTP is reached with the headers that the editor
// gives, as they are.
func TestACPRemoteServer(t *testing.T) {
	t.Parallel()
	u := newUser(t, "self", -1)
	keys := make(chan string, 100)
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Authorization")
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer := map[string]string{
			"initialize": `"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"x","version":"1"},"capabilities":{"tools":{}}}`,
			"tools/list": `"result":{"tools":[{"name":"greet","description":"greets","inputSchema":{"type":"object"}}]}`,
			"tools/call": `"result":{"content":[{"type":"text","text":"hello from afar"}]}`,
		}[m.Method]
		if answer == "" {
			answer = `"error":{"code":-32601,"message":"no such method"}`
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
	}))
	defer remote.Close()
	srv := serve(t, scripted.Reply{Calls: []scripted.Call{{Name: "far__greet", Arguments: `{}`}}}, scripted.Reply{Text: "done"})
	e := startEditor(t, u, srv.URL)
	e.answer = `"result":{"outcome":{"outcome":"selected","optionId":"once"}}`
	session := e.openWith(u.out, fmt.Sprintf(`{"type":"http","name":"far","url":%q,"headers":[{"name":"Authorization","value":"Bearer a$HOME"}]}`, remote.URL))
	if m := e.request("session/prompt", prompt(session, "go")); m.Error != nil || !e.shows("tool_call_update", "hello from afar") {
		t.Fatalf("%+v, %q", m, e.updates)
	}
	if len(e.asked) != 1 || !strings.Contains(e.asked[0], "the server runs elsewhere") {
		t.Errorf("the question does not say where the server runs: %q", e.asked)
	}
	if key := <-keys; key != "Bearer a$HOME" {
		t.Errorf("the server got %q", key)
	}
}
