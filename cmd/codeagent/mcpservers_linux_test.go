package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"codeagent/internal/golden"
	"codeagent/internal/machine"
	"codeagent/internal/scripted"
	"codeagent/model/modeltest"
)

// TestMCPServers: the reference servers of MCP, as published, work as servers of a session, over pipes
// in the sandbox and over HTTP; and one of the newest SDK, which speaks the newest revision.
// package-lock.json pins the packages.
func TestMCPServers(t *testing.T) {
	machine.Turn(t, 0) // the packages of the servers are fetched
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(err)
	}
	dir := npmFolder(t, "testdata/mcpservers")
	eachUser(t, func(t *testing.T, u user) {
		// Of /tmp the sandbox shows what lies beside the workspace.
		n := npmServers{u, node, filepath.Join(filepath.Dir(u.home), "npm")}
		if err := os.Rename(dir, n.dir); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := os.Rename(n.dir, dir); err != nil {
				t.Error(err)
			}
		}()
		t.Run("everything over pipes", func(t *testing.T) {
			n.configure(t, n.server("everything", n.published("everything"))+n.rules("everything"))
			n.everything(t, "chat")
		})
		t.Run("everything over HTTP", func(t *testing.T) { n.everythingHTTP(t) })
		t.Run("interrupted", func(t *testing.T) { n.interrupted(t) })
		t.Run("filesystem", func(t *testing.T) { n.filesystem(t) })
		t.Run("memory", func(t *testing.T) { n.memory(t) })
		t.Run("both revisions on the screen", func(t *testing.T) { n.newest(t) })
	})
}

// npmServers are servers of packages of npm, for one user.
type npmServers struct {
	user
	node, dir string
}

// published is the program of a reference server.
func (n npmServers) published(name string) string {
	return filepath.Join(n.dir, "node_modules/@modelcontextprotocol/server-"+name, "dist/index.js")
}

// server are settings that run a program of node with arguments.
func (n npmServers) server(name, program string, args ...string) string {
	words, err := json.Marshal(append([]string{program}, args...))
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("[mcp.servers.%s]\ncommand = %q\nargs = %s\n", name, n.node, words)
}

// rules allow all tools of the servers.
func (n npmServers) rules(names ...string) (out string) {
	for _, name := range names {
		out += "#rule " + name + "\n"
	}
	return out
}

// configure writes the settings, and the rules for the servers in lines "#rule NAME".
func (n npmServers) configure(t *testing.T, settings string) {
	t.Helper()
	dir := n.home + "/.config/codeagent"
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	n.makeFolder(t, n.home+"/.config")
	n.makeFolder(t, dir)
	n.writeFile(t, dir+"/config.toml", settings)
	for line := range strings.Lines(settings) {
		if name, ok := strings.CutPrefix(line, "#rule "); ok {
			if r := run1(t, n.codeagent("rules", "add", "--decision", "allow", "--tool", strings.TrimSpace(name)+"__*")); r.code != 0 {
				t.Fatal(r)
			}
		}
	}
}

func (n npmServers) makeFolder(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	n.own(t, path)
}

func (n npmServers) writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n.own(t, path)
}

func (n npmServers) own(t *testing.T, path string) {
	t.Helper()
	if n.uid >= 0 {
		if err := os.Lchown(path, n.uid, n.uid); err != nil {
			t.Fatal(err)
		}
	}
}

// called is a tool call, and what its result says.
type called struct {
	tool, arguments string
	want            string // a regular expression
}

// calls runs `codeagent exec --json` with a model that makes the calls one after the other. It checks
// their results, and that a strict provider takes every request.
func (n npmServers) calls(t *testing.T, wire, prompt string, list []called) (*scripted.Server, result) {
	t.Helper()
	var replies []scripted.Reply
	for _, c := range list {
		replies = append(replies, scripted.Reply{Calls: []scripted.Call{{Name: c.tool, Arguments: c.arguments}}})
	}
	srv := serve(t, append(replies, scripted.Reply{Text: "done"})...)
	cmd := n.codeagent("exec", "--json", "--model", "test", "-c", "wire="+wire, prompt)
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL, "OPENAI_API_KEY=x", "KEY_OF_TEST=k")
	r := run1(t, cmd)
	valid := map[string]func([]byte) error{scripted.Chat: modeltest.ValidChat, scripted.Responses: modeltest.ValidResponses}[wire]
	for _, request := range srv.Requests() {
		if err := valid(request.Body); err != nil {
			t.Fatalf("a strict provider refuses the request: %v", err)
		}
	}
	if r.code != 0 {
		t.Fatal(r)
	}
	got := results(srv)
	if len(got) != len(list) {
		t.Fatalf("%d results: %q\n%v", len(got), got, r)
	}
	for i, c := range list {
		if !regexp.MustCompile(c.want).MatchString(got[i]) {
			t.Errorf("%s %s gave\n%s\nwant %s", c.tool, c.arguments, got[i], c.want)
		}
	}
	return srv, r
}

// everything calls the tools of the server "everything".
func (n npmServers) everything(t *testing.T, wire string) {
	srv, r := n.calls(t, wire, "look at @everything:demo://resource/dynamic/text/7", []called{
		{"everything__echo", `{"message":"hello"}`, `^Echo: hello$`},
		{"everything__get-sum", `{"a":1,"b":2}`, `^The sum of 1 and 2 is 3\.$`},
		{"everything__get-sum", `{"a":"x"}`, `^The tool failed: (.|\n)*Input validation error`},
		{"everything__get-tiny-image", `{}`, `^Here's the image you requested:\n\[image 1 \(PNG, 20×20\)\]\nThe image above is the MCP logo\.$`},
		{"everything__get-annotated-message", `{"messageType":"success","includeImage":true}`, `^Operation completed successfully\n\[image 1 \(PNG, 20×20\)\]$`},
		{"everything__get-structured-content", `{"location":"Chicago"}`, `^\{"temperature":36,"conditions":"Light rain / drizzle","humidity":82\}$`},
		{"everything__get-resource-links", `{"count":2}`, `\[resource demo://resource/dynamic/text/2, Text Resource 2, Resource 2: plaintext resource\]`},
		{"everything__get-resource-reference", `{"resourceType":"Text","resourceId":2}`, `\[resource demo://resource/dynamic/text/2\]\nResource 2: This is a plaintext resource`},
		{"everything__get-resource-reference", `{"resourceType":"Blob","resourceId":3}`, `\[resource demo://resource/dynamic/blob/3\]\nResource 3: This is a base64 blob`},
		{"everything__gzip-file-as-resource", `{"name":"x.gz","data":"data:text/plain,hello","outputType":"resource"}`, `^\[resource demo://resource/session/x\.gz, application/gzip, \d+ bytes: not shown\]$`},
		{"everything__trigger-long-running-operation", `{"duration":1,"steps":3}`, `^Long running operation completed`},
		{"everything__trigger-elicitation-request", `{}`, `User declined(.|\n)*"action": "decline"`},
		{"everything__trigger-url-elicitation", `{"url":"https://example.com/x"}`, `User declined to open the URL`},
		{"everything__toggle-simulated-logging", `{}`, `^Started simulated`},
		{"everything__nonsense", `{}`, `has no such tool; its tools are everything__echo,`},
	})
	requests := srv.Requests()
	var images []string
	for _, m := range requests[len(requests)-1].Messages {
		images = append(images, m.Images...)
	}
	if !slices.Equal(images, []string{"image/png", "image/png"}) {
		t.Errorf("the model saw the images %q", images)
	}
	// The server adds its tools for clients that can ask after it is initialized, and says so.
	if tools := requests[0].Tools; !slices.Contains(tools, "everything__trigger-elicitation-request") || slices.Contains(tools, "everything__trigger-sampling-request") {
		t.Errorf("the model was offered %q", tools)
	}
	if !bytes.Contains(requests[0].Body, []byte("Resource 7: This is a plaintext resource")) {
		t.Errorf("the resource did not come with the message: %s", requests[0].Body)
	}
	for _, want := range []string{`"delta":"1 of 3\n"`, `"type":"mcp_tool_call"`, "because nobody can answer it here"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("stdout does not have %s: %v", want, r)
		}
	}
}

// everythingHTTP is everything over HTTP, and what the server was sent.
func (n npmServers) everythingHTTP(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	_, port, _ := strings.Cut(address, ":")
	cmd := exec.CommandContext(t.Context(), n.node, n.published("everything"), "streamableHttp")
	cmd.Env = append(os.Environ(), "PORT="+port)
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	for lines := bufio.NewScanner(said); lines.Scan() && !strings.Contains(lines.Text(), "listening"); {
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	proxy.FlushInterval = -1
	var mu sync.Mutex
	var sent []string
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		sent = append(sent, r.Method+" "+r.Header.Get("Authorization")+" "+string(body))
		mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(between.Close)
	n.configure(t, fmt.Sprintf("[mcp.servers.everything]\nurl = %q\nheaders = { Authorization = \"Bearer $KEY_OF_TEST\" }\n", between.URL+"/mcp")+n.rules("everything"))
	n.everything(t, "responses")
	mu.Lock()
	defer mu.Unlock()
	if len(sent) == 0 || !strings.HasPrefix(sent[len(sent)-1], "DELETE Bearer k") {
		t.Errorf("the session was not ended: %q", sent)
	}
}

// interrupted: SIGINT during a call ends it at the server too.
func (n npmServers) interrupted(t *testing.T) {
	n.configure(t, fmt.Sprintf("[mcp.servers.everything]\ncommand = \"sh\"\nargs = ['-c', 'tee \"$CODEAGENT_SERVER_DIR/sent\" | %q %q']\n", n.node, n.published("everything")))
	srv := serve(t, scripted.Reply{Calls: []scripted.Call{{Name: "everything__trigger-long-running-operation", Arguments: `{"duration":600,"steps":1200}`}}})
	cmd := n.codeagent("exec", "--json", "--model", "test", "go")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	interrupt := sync.OnceFunc(func() { _ = cmd.Process.Signal(syscall.SIGINT) })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintln(&printed, lines.Text())
		if strings.Contains(lines.Text(), `"delta":"1 of 1200\n"`) {
			interrupt()
		}
	}
	_ = cmd.Wait() // its status is looked at
	log, err := os.ReadFile(n.home + "/.local/share/codeagent/servers/everything/sent")
	if cmd.ProcessState.ExitCode() != 130 || err != nil || !strings.Contains(string(log), "notifications/cancelled") {
		t.Errorf("status %d, %v\n%s\n%s", cmd.ProcessState.ExitCode(), err, printed.String(), log)
	}
}

// filesystem: the server writes what its sandbox opens. What it allows itself beyond that is refused,
// and named with the call.
func (n npmServers) filesystem(t *testing.T) {
	docs, closed := n.home+"/docs", n.home+"/closed"
	n.makeFolder(t, docs)
	n.makeFolder(t, closed)
	n.makeFolder(t, n.home+"/.ssh")
	n.writeFile(t, n.home+"/.ssh/id_ed25519", "SECRET")
	n.configure(t, n.server("fs", n.published("filesystem"), docs, closed, n.home+"/.ssh")+"[mcp.servers.fs.sandbox]\nwrite = [\"~/docs\"]\n"+n.rules("fs"))
	_, r := n.calls(t, "chat", "go", []called{
		{"fs__write_file", fmt.Sprintf(`{"path":"%s/a.txt","content":"hi\n"}`, docs), `^Successfully wrote to`},
		{"fs__read_text_file", fmt.Sprintf(`{"path":"%s/a.txt"}`, docs), `^hi\n?$`},
		{"fs__edit_file", fmt.Sprintf(`{"path":"%s/a.txt","edits":[{"oldText":"hi","newText":"ho"}]}`, docs), `\+ho`},
		{"fs__write_file", fmt.Sprintf(`{"path":"%s/b.txt","content":"x"}`, closed), `(?s)^The tool failed: .*\[sandbox\].*- write ` + closed + `/b\.txt.*This is the sandbox of the MCP server fs`},
		{"fs__read_text_file", fmt.Sprintf(`{"path":"%s/.ssh/id_ed25519"}`, n.home), `^The tool failed: (E|Access denied)`},
		{"fs__write_file", `{"path":"/etc/x","content":"x"}`, `^The tool failed: Access denied - path outside allowed directories`},
	})
	if data, err := os.ReadFile(docs + "/a.txt"); string(data) != "ho\n" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := os.Lstat(closed + "/b.txt"); err == nil {
		t.Error("it left its folder")
	}
	if !strings.Contains(r.stderr, "⊘ write "+closed+"/b.txt") || strings.Contains(r.stdout, "SECRET") {
		t.Error(r)
	}
}

// memory: what the server keeps in its private folder is there in the next session, and no command
// reads it.
func (n npmServers) memory(t *testing.T) {
	n.configure(t, n.server("memory", n.published("memory"))+"env = { MEMORY_FILE_PATH = \"$CODEAGENT_SERVER_DIR/memory.jsonl\" }\n"+n.rules("memory"))
	file := n.home + "/.local/share/codeagent/servers/memory/memory.jsonl"
	n.calls(t, "chat", "go", []called{
		{"memory__create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["wrote programs"]}]}`, `"Ada"`},
	})
	if data, err := os.ReadFile(file); !strings.Contains(string(data), "wrote programs") {
		t.Fatalf("%q, %v", data, err)
	}
	srv, _ := n.calls(t, "chat", "go", []called{
		{"memory__read_graph", `{}`, `wrote programs`},
		{"shell", `{"command":"cat ` + file + `"}`, `Permission denied|No such file`},
	})
	if got := results(srv)[1]; strings.Contains(got, "wrote programs") {
		t.Errorf("a command read %s", got)
	}
}

// newest: a server of revision 2026-07-28 asks the person on the screen, learns that a call was
// cancelled, and changes its tools.
func (n npmServers) newest(t *testing.T) {
	n.configure(t, n.server("both", filepath.Join(n.dir, "both.mjs")))
	if r := run1(t, n.codeagent("mcp", "test", "both")); r.code != 0 || !strings.Contains(r.stdout, "2026-07-28") {
		t.Fatal(r)
	}
	call := func(tool string) scripted.Reply {
		return scripted.Reply{Calls: []scripted.Call{{Name: "both__" + tool, Arguments: "{}"}}}
	}
	srv := serve(t, call("ask"), scripted.Reply{Text: "It has answered."}, call("wait"),
		call("grow"), scripted.Reply{Text: "Something grows."}, call("grown"), scripted.Reply{Text: "It was there."})
	cmd := n.codeagent("--model", "test", "ask me")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+srv.URL)
	term := golden.Start(t, cmd, 120, 40)
	term.WaitFor("Which colour?")
	term.Write("\x19blue\r\r")
	term.WaitFor("It has answered.")
	if got := results(srv); !slices.Equal(got, []string{`answered {"colour":"blue"}`}) {
		t.Errorf("the model read %q", got)
	}
	term.Write("wait\r")
	term.WaitFor("both: wait")
	term.WaitUntil("the server's own word", func(s string) bool { return strings.Count(s, "waiting") > strings.Count(s, "waiting for 1 MCP server") })
	term.Write("\x1b")
	term.WaitFor("interrupted")
	term.Write("grow\r")
	term.WaitFor("has changed its tools: grown (new)")
	term.WaitFor("Something grows.")
	term.Write("use it\r")
	term.WaitFor("It was there.")
	if _, err := os.Lstat(n.home + "/.local/share/codeagent/servers/both/cancelled"); err != nil {
		t.Errorf("the server does not know that its call was cancelled: %v", err)
	}
	got := results(srv)
	if got[len(got)-1] != "I was added" {
		t.Errorf("the model read %q", got)
	}
}
