package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/internal/machine"
	"codeagent/internal/scripted"

	"github.com/google/jsonschema-go/jsonschema"
)

// mcpClient is a client of `codeagent mcp` that checks every result against the tool's schema.
type mcpClient struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	meta   string // of each request
	last   int
	output map[string]*jsonschema.Resolved
	// answer answers questions; each is appended to asked, each line of progress to progress.
	answer          string
	asked, progress []string
}

// mcpResult is a result of tools/call.
type mcpResult struct {
	Text   string
	Failed bool
	Report struct {
		Outcome, Signal, Session, Answer, Error string
		Exit                                    *int
		DurationMS                              int  `json:"duration_ms"`
		Denied                                  bool `json:"denied"`
		Denials                                 []struct{ Kind, Target, Program string }
		Needed                                  struct{ Write []string }
		Refused                                 []struct{ Title, Reason, Hint string }
		Restored, Left                          []struct{ Path, What string }
		UndoID                                  string `json:"undo_id"`
	}
}

const newestMeta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":%s}`

// mcpServe starts the server and shakes hands; in the newest revision there is no handshake.
func mcpServe(t *testing.T, cmd *exec.Cmd, capabilities string, newest bool) *mcpClient {
	t.Helper()
	cmd.Args = append(cmd.Args, "mcp")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // it may have ended
	})
	c := &mcpClient{t: t, cmd: cmd, in: in, out: bufio.NewReader(out), output: map[string]*jsonschema.Resolved{}}
	if newest {
		c.meta = fmt.Sprintf(newestMeta, capabilities)
	} else {
		c.request("initialize", fmt.Sprintf(`{"protocolVersion":"2025-11-25","capabilities":%s,"clientInfo":{"name":"t","version":"1"}}`, capabilities))
		c.line(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	var list struct {
		Tools []struct {
			Name         string
			OutputSchema *jsonschema.Schema
		}
	}
	if err := json.Unmarshal(c.request("tools/list", "{}"), &list); err != nil || len(list.Tools) != 4 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, tool := range list.Tools {
		if c.output[tool.Name], err = tool.OutputSchema.Resolve(nil); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *mcpClient) line(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, text+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// start sends a request and returns its ID. params is an object.
func (c *mcpClient) start(method, params string) int {
	c.t.Helper()
	c.last++
	meta := `{"progressToken":1}`
	if c.meta != "" {
		meta = strings.TrimSuffix(c.meta, "}") + `,"progressToken":1}`
	}
	comma := ","
	if params == "{}" {
		comma = ""
	}
	c.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s%s"_meta":%s}}`, c.last, method, strings.TrimSuffix(params, "}"), comma, meta))
	return c.last
}

// request sends a request and returns its result.
func (c *mcpClient) request(method, params string) json.RawMessage {
	c.t.Helper()
	return c.await(c.start(method, params))
}

// await answers questions until the result of a request comes.
func (c *mcpClient) await(id int) json.RawMessage {
	c.t.Helper()
	for {
		text, err := c.out.ReadString('\n')
		if err != nil {
			c.t.Fatal(err)
		}
		var m struct {
			ID     int
			Method string
			Params struct{ Message string }
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			c.t.Fatalf("%q: %v", text, err)
		}
		switch {
		case m.Method == "elicitation/create":
			c.asked = append(c.asked, m.Params.Message)
			c.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, m.ID, c.answer))
		case m.Method == "notifications/cancelled": // of a question
		case m.Method == "notifications/progress":
			c.progress = append(c.progress, m.Params.Message)
		case m.ID != id || m.Error != nil:
			c.t.Fatalf("instead of the result of %d came %s", id, text)
		default:
			return m.Result
		}
	}
}

// call calls a tool; arguments become JSON.
func (c *mcpClient) call(tool string, arguments any) mcpResult {
	c.t.Helper()
	return c.calledWith(tool, arguments, "")
}

// calledWith is call with further parameters.
func (c *mcpClient) calledWith(tool string, arguments any, more string) mcpResult {
	c.t.Helper()
	data, err := json.Marshal(arguments)
	if err != nil {
		c.t.Fatal(err)
	}
	raw := c.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s%s}`, tool, data, more))
	var r struct {
		Content           []struct{ Text string }
		IsError           bool
		StructuredContent any
		ResultType        string
		RequestState      string
		InputRequests     struct {
			Answer struct{ Params struct{ Message string } }
		}
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		c.t.Fatal(err)
	}
	if r.ResultType == "input_required" {
		c.asked = append(c.asked, r.InputRequests.Answer.Params.Message)
		return c.calledWith(tool, arguments, fmt.Sprintf(`,"requestState":%q,"inputResponses":{"answer":%s}`, r.RequestState, strings.TrimPrefix(c.answer, `"result":`)))
	}
	out := mcpResult{Text: r.Content[0].Text, Failed: r.IsError}
	if r.StructuredContent == nil {
		c.t.Errorf("%s: no structured content: %s", tool, raw)
		return out
	}
	if err := c.output[tool].Validate(r.StructuredContent); err != nil {
		c.t.Errorf("%s: %v\n%s", tool, err, raw)
	}
	data, err = json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(data, &out.Report)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

type object = map[string]any

// accept is an answer that chooses an option.
func accept(id string) string {
	return fmt.Sprintf(`"result":{"action":"accept","content":{"answer":%q}}`, id)
}

// bothRevisions runs f for each user and each revision of the protocol.
func bothRevisions(t *testing.T, f func(t *testing.T, u user, newest bool)) {
	eachUser(t, func(t *testing.T, u user) {
		t.Run("2025-11-25", func(t *testing.T) { f(t, u, false) })
		t.Run("2026-07-28", func(t *testing.T) { f(t, u, true) })
	})
}

// TestMCPServerTools: commands and patches work in the workspace, what the sandbox refused is named
// with its call and with what would allow it, and undo takes back the last call or a named one.
func TestMCPServerTools(t *testing.T) {
	t.Parallel()
	bothRevisions(t, func(t *testing.T, u user, newest bool) {
		c := mcpServe(t, u.codeagent(), "{}", newest)
		c.mistakes(u)
		first := c.call("shell", object{"command": "echo one > a; cat a"})
		if first.Failed || *first.Report.Exit != 0 || !strings.Contains(first.Text, "one") || first.Report.UndoID == "" {
			t.Errorf("%+v", first)
		}
		r := c.call("shell", object{"command": "echo x > ~/outside"})
		target := u.home + "/outside"
		if !r.Failed || !r.Report.Denied || len(r.Report.Denials) != 1 || r.Report.Denials[0].Target != target || !strings.HasSuffix(r.Report.Denials[0].Program, "bash") {
			t.Errorf("%+v", r)
		}
		if len(r.Report.Needed.Write) != 1 || r.Report.Needed.Write[0] != target || len(r.Report.Refused) != 1 || !strings.Contains(r.Text, "codeagent mcp --add-file "+target) {
			t.Errorf("what would allow it is missing: %+v", r)
		}
		if r := c.call("shell", object{"command": "kill -9 $$"}); !r.Failed || r.Report.Signal != "SIGKILL" || r.Report.Exit != nil || len(r.Report.Denials) != 0 {
			t.Errorf("%+v", r)
		}
		if r := c.call("shell", object{"command": "sleep 1", "background": true}); !r.Failed || !strings.Contains(r.Text, "background") {
			t.Errorf("%+v", r)
		}
		r = c.call("apply_patch", object{"patch": "*** Begin Patch\n*** Update File: a\n@@\n-one\n+two\n*** Add File: b\n+new\n*** End Patch"})
		if r.Failed || r.Report.UndoID == first.Report.UndoID {
			t.Errorf("%+v", r)
		}
		// The patch came later and changed the same file, so that one stays.
		if r := c.call("undo", object{"undo_id": first.Report.UndoID}); !r.Failed || len(r.Report.Left) != 1 || r.Report.Left[0].Path != u.work+"/a" {
			t.Errorf("%+v", r)
		}
		if r := c.call("undo", object{}); r.Failed || len(r.Report.Restored) != 2 {
			t.Errorf("%+v", r)
		}
		if data, _ := os.ReadFile(u.work + "/a"); string(data) != "one\n" {
			t.Errorf("a is %q", data)
		}
		if r := c.call("undo", object{"undo_id": first.Report.UndoID}); r.Failed {
			t.Errorf("%+v", r)
		}
		if _, err := os.Lstat(u.work + "/a"); err == nil {
			t.Error("a is still there")
		}
		if r := c.call("undo", object{}); !r.Failed || !strings.Contains(r.Text, "nothing to undo") {
			t.Errorf("%+v", r)
		}
	})
}

// mistakes are calls that no tool does: each has a report, words that help, and flags of this command.
func (c *mcpClient) mistakes(u user) {
	c.t.Helper()
	outside := "*** Begin Patch\n*** Add File: " + u.home + "/not\n+x\n*** End Patch"
	for _, m := range []struct {
		tool      string
		arguments object
		want      string
	}{
		{"shell", object{}, `the argument "command" is missing`},
		{"shell", object{"command": 5}, `the argument "command" must be a string`},
		{"shell", object{"command": "true", "tty": true}, `shell has no argument "tty"; nothing was done`},
		{"apply_patch", object{"patch": "hello"}, "the first line must be"},
		{"apply_patch", object{"patch": outside}, "codeagent mcp --add-file " + u.home + "/not"},
		{"agent", object{}, `the argument "prompt" is missing`},
		{"agent", object{"prompt": "x", "session": 5}, `the argument "session" must be a string`},
		{"agent", object{"prompt": "x", "session": "nope"}, `no such session: "nope"`},
		{"undo", object{}, "nothing to undo"},
		{"undo", object{"id": "x"}, `undo has no argument "id"`},
	} {
		r := c.call(m.tool, m.arguments)
		if !r.Failed || !strings.Contains(r.Text, m.want) || strings.Contains(r.Text, "codeagent exec") || strings.Contains(r.Text, u.work+", "+u.work+",") {
			c.t.Errorf("%s %v: %+v", m.tool, m.arguments, r)
		}
	}
}

// TestMCPServerAsks: a refused call of a running command is a question to the client; only a yes
// that was offered opens it, and then the same command goes on.
func TestMCPServerAsks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer string
		opens  bool
		old    bool // only where the client answers a request
	}{
		"yes":         {accept("once"), true, false},
		"no":          {accept("no"), false, false},
		"decline":     {`"result":{"action":"decline"}`, false, false},
		"not offered": {accept("outside_session"), false, false},
		"an error":    {`"error":{"code":-32603,"message":"no"}`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			bothRevisions(t, func(t *testing.T, u user, newest bool) {
				if newest && test.old {
					return
				}
				c := mcpServe(t, u.codeagent(), `{"elicitation":{"form":{}}}`, newest)
				c.answer = test.answer
				r := c.call("shell", object{"command": "echo begun > begun; echo x > ~/wanted"})
				if r.Failed == test.opens {
					t.Errorf("%+v", r)
				}
				if len(c.asked) != 1 || !strings.Contains(c.asked[0], "write "+u.home+"/wanted") {
					t.Errorf("asked %q", c.asked)
				}
				if _, err := os.Lstat(u.home + "/wanted"); (err == nil) != test.opens {
					t.Errorf("after %s: %v", name, err)
				}
				if !test.opens && (len(r.Report.Refused) != 1 || len(r.Report.Denials) != 1) {
					t.Errorf("%+v", r.Report)
				}
				os.Remove(u.home + "/wanted")
			})
		})
	}
}

// TestMCPServerAsksOutside: a program without a model may ask what any model may ask.
func TestMCPServerAsksOutside(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{"yes": accept("outside"), "no": accept("no")} {
		t.Run(name, func(t *testing.T) {
			bothRevisions(t, func(t *testing.T, u user, newest bool) {
				c := mcpServe(t, u.codeagent(), `{"elicitation":{"form":{}}}`, newest)
				c.answer = answer
				r := c.call("shell", object{"command": "touch ~/wanted", "sandbox_permissions": "require_escalated", "justification": "touch must make the file wanted in the home folder"})
				_, err := os.Lstat(u.home + "/wanted")
				if ran := err == nil; ran != (name == "yes") || r.Failed == ran || len(c.asked) != 1 {
					t.Errorf("%v, asked %q: %+v", err, c.asked, r)
				}
				os.Remove(u.home + "/wanted")
			})
		})
	}
}

// TestMCPServerEnds: cancelling a call, the end of stdin, SIGTERM and SIGHUP end a command and everything
// it started: while it runs, while a question about it waits, and in a session of the tool agent.
func TestMCPServerEnds(t *testing.T) {
	t.Parallel()
	// Whoever holds the other end of the pipe is alive. A session of its own keeps nothing alive.
	const begin = "exec 5>fifo; echo up >&5; setsid sleep 1000 & "
	srv := answering(t, func(scripted.Request) scripted.Reply {
		return scripted.Reply{Calls: []scripted.Call{shellCall(begin + "sleep 1000")}}
	})
	stages := map[string]struct {
		tool      string
		arguments object
		can       string // the client's capability
	}{
		"runs":     {"shell", object{"command": begin + "sleep 1000"}, ""},
		"asks":     {"shell", object{"command": begin + "echo x > ~/wanted; sleep 1000"}, `"elicitation":{}`},
		"in agent": {"agent", object{"prompt": "sleep"}, ""},
	}
	signalled := func(sig syscall.Signal) func(c *mcpClient, id int) {
		return func(c *mcpClient, _ int) { _ = c.cmd.Process.Signal(sig); _ = c.cmd.Wait() }
	}
	for name, test := range map[string]struct {
		end  func(c *mcpClient, id int)
		code int
	}{
		"cancelled": {end: func(c *mcpClient, id int) {
			c.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
			for text, want := "", fmt.Sprintf(`"id":%d,"error":`, id); !strings.Contains(text, want); {
				var err error
				if text, err = c.out.ReadString('\n'); err != nil {
					c.t.Fatal(err)
				}
			}
			if r := c.call("shell", object{"command": "echo next"}); r.Failed {
				c.t.Errorf("%+v", r)
			}
		}},
		"end of file": {end: func(c *mcpClient, _ int) { c.in.Close(); _ = c.cmd.Wait() }},
		"SIGTERM":     {end: signalled(syscall.SIGTERM), code: 143},
		"SIGHUP":      {end: signalled(syscall.SIGHUP), code: 129},
	} {
		for stage, call := range stages {
			t.Run(name+" "+stage, func(t *testing.T) {
				bothRevisions(t, func(t *testing.T, u user, newest bool) {
					asks := call.can != ""
					if asks && newest && name == "cancelled" {
						t.Log("not tried in 2026-07-28: the call is answered by its question, and can be cancelled no more")
						return
					}
					cmd := u.codeagent("--model", "test")
					cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
					c := mcpServe(t, cmd, fmt.Sprintf(`{%s}`, call.can), newest)
					ended := c.fifo(u.work + "/fifo")
					arguments, err := json.Marshal(call.arguments)
					if err != nil {
						t.Fatal(err)
					}
					id := c.start("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, call.tool, arguments))
					if err := <-ended; err != nil { // it is up
						t.Fatal(err)
					}
					for text := ""; asks && !strings.Contains(text, "elicitation/create"); {
						if text, err = c.out.ReadString('\n'); err != nil {
							t.Fatal(err)
						}
					}
					test.end(c, id)
					select {
					case err := <-ended:
						if err != nil {
							t.Error(err)
						}
					case <-time.After(machine.Patience(2 * time.Second)):
						t.Error("something of the command still runs")
					}
					if s := c.cmd.ProcessState; s != nil && s.ExitCode() != test.code {
						t.Errorf("status %d, want %d", s.ExitCode(), test.code)
					}
				})
			})
		}
	}
}

// fifo makes a pipe at path. The channel says when somebody wrote "up" to it, and then when nobody has
// it open for writing any more.
func (c *mcpClient) fifo(path string) <-chan error {
	c.t.Helper()
	os.Remove(path)
	err := syscall.Mkfifo(path, 0o666)
	if err == nil {
		err = os.Chmod(path, 0o666)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	out := make(chan error, 2)
	go func() {
		f, err := os.Open(path)
		if err == nil {
			defer f.Close()
			_, err = io.ReadFull(f, make([]byte, len("up\n")))
		}
		out <- err
		if err == nil {
			_, err = io.ReadAll(f)
			out <- err
		}
	}()
	return out
}

// TestMCPServerAgent: a session of codeagent works on a prompt with progress, is continued by its
// ID, also by another server, and reports what it was refused; its turns can be undone.
func TestMCPServerAgent(t *testing.T) {
	t.Parallel()
	bothRevisions(t, func(t *testing.T, u user, newest bool) {
		srv := answering(t, func(r scripted.Request) scripted.Reply {
			last := r.Messages[len(r.Messages)-1]
			switch {
			case last.Role == "tool":
				return scripted.Reply{Text: "I have seen it."}
			case strings.HasSuffix(last.Text, "make it"):
				return scripted.Reply{Calls: []scripted.Call{shellCall("echo made > made; echo x > ~/not")}}
			}
			users := 0
			for _, m := range r.Messages {
				if m.Role == "user" {
					users++
				}
			}
			return scripted.Reply{Text: fmt.Sprintf("%d messages so far", users)}
		})
		serve := func() *mcpClient {
			cmd := u.codeagent("--model", "test")
			cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
			return mcpServe(t, cmd, "{}", newest)
		}
		c := serve()
		os.Remove(u.work + "/made")
		r := c.call("agent", object{"prompt": "make it"})
		if r.Failed || r.Report.Outcome != "done" || r.Report.Answer != "I have seen it." || r.Report.Session == "" || !strings.Contains(r.Text, "I have seen it.") {
			t.Fatalf("%+v", r)
		}
		if len(r.Report.Refused) != 1 || !strings.Contains(r.Report.Refused[0].Hint, "codeagent mcp --add-file "+u.home+"/not") {
			t.Errorf("%+v", r.Report.Refused)
		}
		if all := strings.Join(c.progress, "\n"); !strings.Contains(all, "$ echo made") {
			t.Errorf("progress: %q", all)
		}
		session := r.Report.Session
		if r := c.call("agent", object{"prompt": "and now?", "session": session}); r.Failed || r.Report.Session != session || r.Report.Answer != "2 messages so far" {
			t.Errorf("%+v", r)
		}
		if r := c.call("undo", object{}); r.Failed || len(r.Report.Restored) != 1 || r.Report.Restored[0].Path != u.work+"/made" {
			t.Errorf("%+v", r)
		}
		c.in.Close()
		_ = c.cmd.Wait()
		resume := u.codeagent("exec", "--model", "test", "resume", session, "and now?")
		resume.Env = append(resume.Env, "OPENAI_BASE_URL="+srv.URL)
		if r := run1(t, resume); r.code != 0 || !strings.HasSuffix(r.stdout, "messages so far\n") {
			t.Errorf("codeagent exec resume: %s", r)
		}
		c = serve()
		if r := c.call("agent", object{"prompt": "and now?", "session": session}); r.Failed || !strings.Contains(r.Report.Answer, "messages so far") {
			t.Errorf("another server: %+v", r)
		}
		if r := c.call("shell", object{"command": "echo here"}); r.Failed {
			t.Errorf("%+v", r)
		}
		if r := run1(t, u.codeagent("sessions")); !strings.Contains(r.stdout, session) || !strings.Contains(r.stdout, "mcp: echo here") {
			t.Errorf("codeagent sessions: %s", r)
		}
		for _, id := range []string{"ffffffffffffffff", session[:6], "../x"} {
			if r := c.call("agent", object{"prompt": "x", "session": id}); !r.Failed || r.Report.Session != "" {
				t.Errorf("session %s: %+v", id, r)
			}
		}
		if r := mcpServe(t, u.codeagent(), "{}", newest).call("agent", object{"prompt": "x"}); !r.Failed || !strings.Contains(r.Text, "OPENAI_API_KEY") || strings.Contains(r.Text, "tour") {
			t.Errorf("without a model: %+v", r)
		}
	})
}
