package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"codeagent/internal/machine"
	"codeagent/internal/scripted"
)

// TestACPSDK: the official SDK as the editor. Each file of testdata/acpsdk is one program for it, and
// every message that codeagent sends to one fits the protocol's JSON Schema, with no field of its own
// but in _meta. package-lock.json pins the package.
func TestACPSDK(t *testing.T) {
	machine.Turn(t, 0) // the package of the SDK is fetched
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(err)
	}
	dir := npmFolder(t, "testdata/acpsdk")
	files, err := filepath.Glob(filepath.Join(dir, "*.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	judge := acpSchema(t, filepath.Join(dir, "node_modules/@agentclientprotocol/sdk/schema/v1/schema.json"))
	judge.check(t)
	eachUser(t, func(t *testing.T, u user) {
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".mjs")
			if name == "lib" {
				continue
			}
			t.Run(name, func(t *testing.T) { runACP(t, u, node, file, judge) })
		}
	})
}

// runACP runs one program of the SDK and judges what codeagent sent to it.
func runACP(t *testing.T, u user, node, file string, judge *acpJudge) {
	server, err := scripted.Start(t.Context(), playSDK)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	work, raw := filepath.Join(u.work, filepath.Base(file)), filepath.Join(u.out, filepath.Base(file)+"-")
	own := filepath.Join(u.home, ".config/codeagent/commands")
	for _, d := range []string{work, own} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(own, "tidy.md"), []byte("---\ndescription: tidy up\n---\n$ARGUMENTS\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{work, own, filepath.Dir(own), filepath.Dir(filepath.Dir(own))} {
		if err := os.Chown(d, u.uid, u.uid); err != nil { // -1 leaves it
			t.Fatal(err)
		}
	}
	fake := u.fakeMCP(t)
	cmd := u.codeagent()
	limit := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // it waits for messages
	defer limit.Stop()
	cmd.Env = append(cmd.Env, "CODEAGENT="+cmd.Path, "BASE_URL="+server.URL, "WORK="+work, "OUT="+u.out, "RAW="+raw, "FAKEMCP="+fake)
	cmd.Path, cmd.Args, cmd.Dir = node, []string{"node", file}, work
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		t.Errorf("%v\n%s", err, out.Bytes())
	} else if out.Len() > 0 && filepath.Base(file) != "errors.mjs" { // the SDK reports messages that it cannot use
		t.Errorf("%s", out.Bytes())
	}
	got, err := filepath.Glob(raw + "*.got")
	if err != nil || len(got) == 0 {
		t.Fatalf("%v, %v", got, err)
	}
	for _, name := range got {
		if data, _ := os.ReadFile(name); t.Failed() {
			t.Logf("%s ends with\n%s", filepath.Base(name), data[max(0, len(data)-4000):])
		}
		judge.file(t, name, methodsOf(t, strings.TrimSuffix(name, ".got")+".sent"))
	}
}

// acpJudge has the schemas of what an agent sends.
type acpJudge struct {
	requests, notifications, results map[string]*jsonschema.Resolved
}

// acpSchema reads the protocol's schema. It is made strict: a field that it does not name is an error.
func acpSchema(t *testing.T, file string) *acpJudge {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var whole struct {
		Defs map[string]map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(data, &whole); err != nil {
		t.Fatal(err)
	}
	strict(whole.Defs)
	j := &acpJudge{map[string]*jsonschema.Resolved{}, map[string]*jsonschema.Resolved{}, map[string]*jsonschema.Resolved{}}
	for name, def := range whole.Defs {
		method, _ := def["x-method"].(string)
		side, _ := def["x-side"].(string)
		to := map[string]map[string]*jsonschema.Resolved{"client Request": j.requests, "client Notification": j.notifications, "agent Response": j.results}
		for kind, list := range to {
			if s, suffix, _ := strings.Cut(kind, " "); method != "" && s == side && strings.HasSuffix(name, suffix) {
				list[method] = resolved(t, name, whole.Defs)
			}
		}
	}
	if len(j.requests) < 5 || len(j.notifications) < 1 || len(j.results) < 10 {
		t.Fatalf("the schema has another form: %d requests, %d notifications, %d results", len(j.requests), len(j.notifications), len(j.results))
	}
	return j
}

func resolved(t *testing.T, name string, defs map[string]map[string]any) *jsonschema.Resolved {
	data, err := json.Marshal(map[string]any{"$ref": "#/$defs/" + name, "$defs": defs})
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

// strict makes unknown fields errors: in each object that is no part of another one, and in each
// variant of a union that brings no fields of its own to its variants.
func strict(defs map[string]map[string]any) {
	part := map[string]bool{}
	for _, def := range defs {
		for _, v := range variants(def) {
			for name := range refs(v["allOf"]) {
				part[name] = true
			}
		}
	}
	for name, def := range defs {
		_, own := def["properties"]
		if own && !part[name] {
			def["unevaluatedProperties"] = false
		}
		for _, v := range variants(def) {
			if _, object := v["properties"]; object && !own && !part[name] {
				v["unevaluatedProperties"] = false
			}
		}
	}
}

func variants(def map[string]any) (out []map[string]any) {
	for _, key := range []string{"oneOf", "anyOf"} {
		list, _ := def[key].([]any)
		for _, one := range list {
			if v, ok := one.(map[string]any); ok {
				out = append(out, v)
			}
		}
	}
	return out
}

func refs(list any) map[string]bool {
	out := map[string]bool{}
	all, _ := list.([]any)
	for _, one := range all {
		if m, ok := one.(map[string]any); ok {
			if ref, ok := m["$ref"].(string); ok {
				out[strings.TrimPrefix(ref, "#/$defs/")] = true
			}
		}
	}
	return out
}

// check shows that the judge sees faults.
func (j *acpJudge) check(t *testing.T) {
	t.Helper()
	update := func(u string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + u + `}}`
	}
	for line, fits := range map[string]bool{
		update(`{"sessionUpdate":"plan","entries":[{"content":"x","priority":"low","status":"pending"}]}`):                           true,
		update(`{"sessionUpdate":"plan","entries":[{"content":"x","status":"pending"}]}`):                                            false,
		update(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","_meta":{"own":1}}`):                                       true,
		update(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","own":1}`):                                                 false,
		update(`{"sessionUpdate":"tool_call_update","toolCallId":"c","content":[{"type":"diff","path":"/a","newText":"","own":1}]}`): false,
		update(`{"sessionUpdate":"usage_update","used":1}`):                                                                          false,
		`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`:                                                                true,
		`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"done"}}`:                                                                    false,
		`{"jsonrpc":"2.0","id":2,"result":{}}`:                                                                                       false,
		`{"jsonrpc":"2.0","method":"session/other","params":{}}`:                                                                     false,
	} {
		if err := j.line([]byte(line), map[string]string{"1": "session/prompt"}); (err == nil) != fits {
			t.Errorf("the schema judges %s: %v", line, err)
		}
	}
}

// methodsOf returns the methods of the requests that the SDK sent, by their IDs.
func methodsOf(t *testing.T, name string) map[string]string {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range bytes.Lines(data) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(line, &m) == nil && m.Method != "" {
			out[string(m.ID)] = m.Method
		}
	}
	return out
}

// file judges the lines of one connection.
func (j *acpJudge) file(t *testing.T, name string, methods map[string]string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil || len(data) == 0 {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	for line := range bytes.Lines(data) {
		if err := j.line(line, methods); err != nil {
			t.Errorf("%.2000s\n%v", line, err)
		}
	}
}

func (j *acpJudge) line(line []byte, methods map[string]string) error {
	var m map[string]any
	var id struct{ ID json.RawMessage }
	if err := errors.Join(json.Unmarshal(line, &m), json.Unmarshal(line, &id)); err != nil {
		return err
	}
	method, _ := m["method"].(string)
	_, asks := m["id"]
	known := map[string]bool{"jsonrpc": true, "id": true, "method": true, "params": true, "result": true, "error": true}
	for key := range m {
		if !known[key] {
			return fmt.Errorf("a message has no %q", key)
		}
	}
	list := j.notifications
	switch {
	case method == "$/cancel_request":
		return nil
	case method != "" && asks:
		list = j.requests
	case method == "" && m["error"] != nil:
		e, _ := m["error"].(map[string]any)
		if _, ok := e["code"].(float64); !ok || e["message"] == "" {
			return fmt.Errorf("not an error of JSON-RPC")
		}
		return nil
	case method == "":
		list, method, m["params"] = j.results, methods[string(id.ID)], m["result"]
	}
	s := list[method]
	if s == nil {
		return fmt.Errorf("no message to an editor, or no request of it: %q", method)
	}
	return s.Validate(m["params"])
}
