package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"codeagent/internal/machine"
)

// fakeMCP is a program that serves MCP over its standard streams with tools that try things. It
// stands on no SDK, so that it can also misbehave.
func fakeMCP() {
	f := &mcpFake{in: bufio.NewReader(os.Stdin), tools: []string{"write", "read", "connect", "ask", "die", "grow", "picture", "facts", "slow", "print", "where"}}
	for _, arg := range os.Args[1:] {
		switch name, value, _ := strings.Cut(arg, "="); name {
		case "print": // to stderr, at the start
			fmt.Fprintln(os.Stderr, value)
		case "touch": // at the start
			if err := os.WriteFile(value, nil, 0o600); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		case "many": // tools
			n, _ := strconv.Atoi(value)
			for i := range n {
				f.tools = append(f.tools, fmt.Sprint("more", i))
			}
		case "plug": // as npx does, it takes what the folder has that it runs in
			if data, err := os.ReadFile(value); err == nil {
				fmt.Fprintln(os.Stderr, string(data))
				syscall.Exit(9)
			}
		case "silent": // to requests of this method
			f.silent = value
		case "exit":
			syscall.Exit(7)
		}
	}
	for {
		line, err := f.in.ReadBytes('\n')
		if err != nil {
			return
		}
		f.handle(line)
	}
}

type mcpFake struct {
	in     *bufio.Reader
	tools  []string
	asked  int
	silent string
}

func (f *mcpFake) send(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(data))
}

type obj = map[string]any

func (f *mcpFake) handle(line []byte) {
	var m struct {
		ID     any    `json:"id"`
		Method string `json:"method"`
		Params struct {
			Name      string            `json:"name"`
			URI       string            `json:"uri"`
			Arguments map[string]string `json:"arguments"`
			Meta      obj               `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &m) != nil || m.ID == nil || m.Method == "" || m.Method == f.silent {
		return
	}
	var result any
	switch m.Method {
	case "initialize":
		result = obj{"protocolVersion": "2025-06-18", "serverInfo": obj{"name": "shell", "version": "1"}, "instructions": "Write with write.\nRead with read.",
			"capabilities": obj{"tools": obj{"listChanged": true}, "resources": obj{}, "prompts": obj{}}}
	case "tools/list":
		var list []obj
		for _, name := range f.tools {
			list = append(list, obj{"name": name, "description": "tries " + name, "inputSchema": obj{"type": "object"}, "annotations": obj{"readOnlyHint": name == "read"}})
		}
		result = obj{"tools": list}
	case "resources/list":
		result = obj{"resources": []obj{{"uri": "note:1", "name": "a note", "description": "what it says"}}}
	case "resources/read":
		result = obj{"contents": []obj{{"uri": m.Params.URI, "text": "the content of " + m.Params.URI}}}
	case "prompts/list":
		result = obj{"prompts": []obj{{"name": "greet", "description": "greets", "arguments": []obj{{"name": "whom", "required": true}}}}}
	case "prompts/get":
		result = obj{"messages": []obj{{"role": "user", "content": obj{"type": "text", "text": "Greet " + m.Params.Arguments["whom"]}}}}
	case "tools/call":
		answer := obj{}
		text, err := f.call(m.Params.Name, m.Params.Arguments, m.Params.Meta["progressToken"], answer)
		if err != nil {
			text, answer["isError"] = err.Error(), true
		}
		if _, ok := answer["content"]; !ok {
			answer["content"] = []obj{{"type": "text", "text": text}}
		}
		result = answer
	case "ping":
		result = obj{}
	default:
		f.send(obj{"jsonrpc": "2.0", "id": m.ID, "error": obj{"code": -32601, "message": "no such method"}})
		return
	}
	f.send(obj{"jsonrpc": "2.0", "id": m.ID, "result": result})
}

// onePixel is a PNG.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="

func (f *mcpFake) call(tool string, a map[string]string, progress any, answer obj) (text string, err error) {
	switch tool {
	case "write":
		return "wrote " + a["path"], os.WriteFile(a["path"], []byte("x\n"), 0o600)
	case "read":
		data, err := os.ReadFile(a["path"])
		if err != nil && a["quiet"] != "" { // why, it keeps to itself
			err = errors.New("no")
		}
		if a["silent"] != "" { // that it failed, too
			err = nil
		}
		return string(data), err
	case "connect":
		c, err := net.DialTimeout("tcp", a["address"], 2*time.Second)
		if err == nil {
			c.Close()
		}
		return "connected", err
	case "ask":
		f.asked++
		f.send(obj{"jsonrpc": "2.0", "id": fmt.Sprint("ask-", f.asked), "method": "elicitation/create", "params": obj{"message": "Which colour?",
			"requestedSchema": obj{"type": "object", "properties": obj{"colour": obj{"type": "string"}}, "required": []string{"colour"}}}})
		line, err := f.in.ReadString('\n')
		return strings.TrimSpace(line), err
	case "die":
		syscall.Exit(3)
	case "grow":
		f.tools = append(f.tools, a["tool"])
		f.send(obj{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
		return "grown", nil
	case "picture":
		answer["content"] = []obj{{"type": "image", "data": onePixel, "mimeType": "image/png"}}
		return "", nil
	case "facts":
		answer["structuredContent"] = obj{"n": 42}
		return "", nil
	case "slow":
		for i := range 3 {
			f.send(obj{"jsonrpc": "2.0", "method": "notifications/progress", "params": obj{"progressToken": progress, "progress": i + 1, "total": 3, "message": "step"}})
		}
		return os.Getenv("CODEAGENT_SERVER_DIR"), nil
	case "print":
		return a["text"], nil
	case "where":
		return os.Getwd()
	}
	return "called " + tool, nil
}

// fakeMCP returns the program of an MCP server that tries things, where no command can write.
func (u user) fakeMCP(t *testing.T) string {
	t.Helper()
	return u.part(t, "fakemcp")
}

// part returns this test binary under a name by which it chooses its part, where no command can
// write.
func (u user) part(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(u.bin, name)
	if err := os.Link(self, file); err != nil && !os.IsExist(err) {
		data, err := os.ReadFile(self)
		if err == nil {
			err = machine.WriteProgram(file, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return file
}
