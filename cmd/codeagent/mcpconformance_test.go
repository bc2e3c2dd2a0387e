package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"codeagent/internal/golden"
	mcpserve "codeagent/mcp/serve"
	"codeagent/model"

	"golang.org/x/sync/errgroup"
)

// conform runs every scenario of the official conformance suite for servers on the servers that
// connect starts, and compares what became of each with a golden file. A scenario applies unless it
// needs something that the server does not offer; this is found from what the server advertises
// and from what the scenario sent, and what it sent in vain must have been answered by the right error.
func conform(t *testing.T, node, dir, file string, connect func() pipes) {
	suite := filepath.Join(dir, "node_modules/@modelcontextprotocol/conformance/dist/index.js")
	list, err := exec.Command(node, suite, "list", "--server").Output()
	if err != nil {
		t.Fatal(err)
	}
	offer := offerOf(t, connect())
	var mu sync.Mutex
	var rows []string
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for line := range strings.Lines(string(list)) {
		name, ok := strings.CutPrefix(line, "  - ")
		if !ok {
			continue
		}
		name = strings.TrimSpace(name)
		g.Go(func() error {
			row, faults := scenario(t, node, suite, name, offer, connect)
			if len(faults) > 0 { // the suite waits two seconds for some answers, which a busy machine may miss
				row, faults = scenario(t, node, suite, name, offer, connect)
			}
			for _, fault := range faults {
				t.Errorf("%s: %s", name, fault)
			}
			mu.Lock()
			defer mu.Unlock()
			rows = append(rows, name+": "+row+"\n")
			return nil
		})
	}
	_ = g.Wait() // no row returns an error
	slices.Sort(rows)
	golden.Check(t, file, strings.Join(rows, ""))
}

// offering is what a server advertises.
type offering struct {
	capabilities map[string]any
	tools        []string
}

func offerOf(t *testing.T, p pipes) offering {
	t.Helper()
	var o offering
	var tools []struct{ Name string }
	out := bufio.NewReader(p.out)
	for _, ask := range []struct {
		line, field string
		into        any
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, "capabilities", &o.capabilities},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "tools", &tools},
	} {
		if _, err := io.WriteString(p.in, ask.line+"\n"); err != nil {
			t.Fatal(err)
		}
		line, err := out.ReadBytes('\n')
		var m struct{ Result map[string]json.RawMessage }
		if err == nil {
			err = json.Unmarshal(line, &m)
		}
		if err == nil {
			err = json.Unmarshal(m.Result[ask.field], ask.into)
		}
		if err != nil {
			t.Fatalf("%v in %s", err, line)
		}
	}
	p.in.Close()
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		o.tools = append(o.tools, tool.Name)
	}
	return o
}

// lacks says what a request needs that the server does not offer, and the error that answers it; "" if nothing.
func (o offering) lacks(r *sentRequest) (why string, code int) {
	family, _, _ := strings.Cut(r.method, "/")
	if family == "completion" {
		family = "completions" // the capability's name
	}
	switch {
	case r.method == "initialize" || r.method == "ping":
		return "", 0
	case o.capabilities[family] == nil:
		// The SDK answers for a family that is not offered: its lists are empty, and nothing in it is found.
		if code = -32602; strings.HasSuffix(r.method, "/list") || r.method == "logging/setLevel" {
			code = 0
		} else if family == "completions" || strings.HasSuffix(r.method, "subscribe") {
			code = -32601
		}
		return r.method + " needs the capability " + family, code
	case r.method == "tools/call" && !slices.Contains(o.tools, r.tool):
		return "calls the suite's tool " + r.tool, -32602
	}
	return "", 0
}

// check is a result of the suite.
type check struct {
	ID, Status, ErrorMessage string
	Details                  struct{ ToolFound *bool }
}

// scenario runs one scenario, and says what became of it and what was wrong.
func scenario(t *testing.T, node, suite, name string, offer offering, connect func() pipes) (row string, faults []string) {
	b := &bridge{t: t, connect: connect, sessions: map[string]*bridged{}}
	srv := httptest.NewServer(b)
	results := t.TempDir()
	cmd := exec.Command(node, suite, "server", "--url", srv.URL+"/mcp", "--scenario", name, "--output-dir", results)
	out, runErr := cmd.CombinedOutput()
	srv.Close()
	b.close()
	files, err := filepath.Glob(results + "/*/checks.json")
	var checks []check
	if err == nil && len(files) == 1 {
		var data []byte
		if data, err = os.ReadFile(files[0]); err == nil {
			err = json.Unmarshal(data, &checks)
		}
	}
	if err != nil || len(checks) == 0 {
		return "not run", []string{fmt.Sprintf("%v, %v\n%s", err, runErr, out)}
	}
	if b.foreign > 0 {
		return "does not apply: tests the HTTP server, which is the test's", nil
	}
	for _, r := range b.sent {
		if why, code := offer.lacks(r); why != "" {
			if r.code != code {
				faults = append(faults, fmt.Sprintf("%s %s was answered by the error %d, want %d", r.method, r.tool, r.code, code))
			}
			return "does not apply: " + why, faults
		}
	}
	for _, c := range checks {
		if f := c.Details.ToolFound; f != nil && !*f {
			return "does not apply: looks for a tool of the suite", nil
		}
	}
	for _, c := range checks {
		if c.Status == "FAILURE" || c.Status == "WARNING" {
			faults = append(faults, fmt.Sprintf("%s: %s: %s", c.ID, c.Status, c.ErrorMessage))
		}
	}
	if len(faults) > 0 {
		return "failed", faults
	}
	return "passed", nil
}

// program starts `codeagent mcp` as a user.
func program(t *testing.T, u user) pipes {
	cmd := u.codeagent("mcp")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Error(err)
	}
	out, outW := io.Pipe() // Wait does not close it while it is read
	cmd.Stdout = outW
	if err := cmd.Start(); err != nil {
		t.Error(err)
	}
	return pipes{in, out, func() error { defer outW.Close(); return cmd.Wait() }}
}

// room starts the server of package serve with those tools of the suite that a Host can be.
func room(ctx context.Context) pipes {
	o := mcpserve.Options{Name: "fixtures", Version: "1", Host: fixtures{}}
	for _, name := range []string{"test_simple_text", "test_image_content", "test_error_handling", "test_tool_with_progress", "test_elicitation"} {
		o.Tools = append(o.Tools, mcpserve.Tool{Name: name, Title: name, Description: name, Input: json.RawMessage(`{"type":"object"}`)})
	}
	o.Tools = append(o.Tools, mcpserve.Tool{
		Name: "json_schema_2020_12_tool", Title: "x", Description: "x",
		Input: json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
			`"$defs":{"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},` +
			`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"}},"additionalProperties":false}`),
	})
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	over := make(chan error, 1)
	go func() {
		over <- mcpserve.Run(ctx, inR, outW, o)
		outW.Close()
	}()
	return pipes{inW, outR, func() error { return <-over }}
}

// fixtures are tools as the suite describes them.
type fixtures struct{}

func (fixtures) Call(ctx context.Context, c mcpserve.Call) mcpserve.Result {
	switch c.Tool {
	case "test_image_content":
		data, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
		return mcpserve.Result{Text: fmt.Sprint(err), Images: []model.Image{{MediaType: "image/png", Data: data}}}
	case "test_error_handling":
		return mcpserve.Result{Text: "This tool intentionally returns an error for testing", Failed: true}
	case "test_tool_with_progress":
		for _, line := range []string{"0/100", "50/100", "100/100"} {
			c.Progress(line)
		}
	case "test_elicitation":
		var a struct{ Message string }
		if err := json.Unmarshal(c.Arguments, &a); err != nil {
			return mcpserve.Result{Text: err.Error(), Failed: true}
		}
		id, err := c.Ask(ctx, mcpserve.Question{Message: a.Message, Options: []mcpserve.Option{{ID: "yes", Label: "Yes"}}})
		return mcpserve.Result{Text: fmt.Sprintf("User response: %q, %v", id, err)}
	}
	return mcpserve.Result{Text: "This is a simple text response for testing."}
}
