package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

// tasks knows which tools a server runs only as tasks (execution.taskSupport of revision 2025-11-25).
// Neither codeagent nor the SDK speaks that experimental part, and the SDK drops the member, so it is
// read from the answers to tools/list before the SDK gets them.
type tasks struct {
	mu   sync.Mutex
	only map[string]bool // by the server's names; guarded by mu
}

// note reads data, a message, if it lists tools.
func (t *tasks) note(data []byte) {
	if !bytes.Contains(data, []byte(`"inputSchema"`)) {
		return
	}
	var m struct {
		Result struct {
			Tools []struct {
				Name      string          `json:"name"`
				Execution json.RawMessage `json:"execution"`
			} `json:"tools"`
		} `json:"result"`
	}
	if json.Unmarshal(data, &m) != nil || len(m.Result.Tools) > maxTools {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tool := range m.Result.Tools {
		var e struct {
			TaskSupport string `json:"taskSupport"`
		}
		_ = json.Unmarshal(tool.Execution, &e) // what has another form demands nothing
		if delete(t.only, tool.Name); e.TaskSupport == "required" && len(t.only) < maxTools {
			if t.only == nil {
				t.only = map[string]bool{}
			}
			t.only[tool.Name] = true
		}
	}
}

func (t *tasks) required(tool string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.only[tool]
}

// lists reports a request for the list of tools.
func lists(req *http.Request) bool {
	if req.GetBody == nil || req.ContentLength > 4<<10 {
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	return err == nil && bytes.Contains(data, []byte(`"tools/list"`))
}

// listing is the answer to such a request while it is read. It is as long as the answer may be.
type listing struct {
	io.ReadCloser
	tasks  *tasks
	stream bool // a message stands in one line, behind "data:"
	part   []byte
}

// Read is part of io.Reader.
func (l *listing) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	for line := range bytes.Lines(p[:n]) {
		if l.part = append(l.part, line...); len(l.part) > maxLine {
			l.part = nil
		}
		if l.stream && line[len(line)-1] == '\n' {
			l.done()
		}
	}
	if err != nil {
		l.done()
	}
	return n, err
}

// done notes what has arrived.
func (l *listing) done() {
	l.tasks.note(bytes.TrimPrefix(l.part, []byte("data:")))
	l.part = l.part[:0]
}
