package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codeagent/internal/machine"
	"codeagent/internal/scripted"
)

// TestCodexSDK: programs for @openai/codex-sdk run on codeagent. Each file of testdata/sdk is
// one, and checks what the SDK returns; package-lock.json pins the package.
func TestCodexSDK(t *testing.T) {
	machine.Turn(t, 0) // the package of the SDK is fetched
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(err)
	}
	dir := npmFolder(t, "testdata/sdk")
	files, err := filepath.Glob(filepath.Join(dir, "*.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	eachUser(t, func(t *testing.T, u user) {
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".mjs")
			if name == "lib" {
				continue
			}
			t.Run(name, func(t *testing.T) { runSDK(t, u, node, file, name) })
		}
	})
}

// npmFolder installs packages by the lock file of a folder, beside the programs in it.
func npmFolder(t *testing.T, from string) string {
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "codeagent-sdk-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	// What is optional are Codex's own programs, 100 MB each.
	cmd := exec.Command(npm, "ci", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund", "--cache", filepath.Join(dir, "cache"))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error { // the ordinary user reads them
		if err == nil && e.IsDir() {
			err = os.Chmod(path, 0o755)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// runSDK runs one program of the SDK in a folder of its own.
func runSDK(t *testing.T, u user, node, file, name string) {
	server, err := scripted.Start(t.Context(), playSDK)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	door, err := scripted.OpenDoor(t.Context(), "hello from outside\n")
	if err != nil {
		t.Fatal(err)
	}
	defer door.Close()
	cmd := u.codeagent()
	cmd.Dir = filepath.Join(u.work, name)
	if err := os.Mkdir(cmd.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if u.uid >= 0 {
		if err := os.Chown(cmd.Dir, u.uid, u.uid); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Env = append(cmd.Env, "CODEAGENT="+cmd.Path, "BASE_URL="+server.URL, "DOOR="+door.Addr, "OUT="+u.out)
	cmd.Path, cmd.Args = node, []string{"node", file}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		t.Errorf("%v\n%s", err, out.Bytes())
	}
}

// sdkStep is one answer of the model: what a prompt of testdata/sdk says.
type sdkStep struct {
	Text      string          `json:"text"`
	Reasoning string          `json:"reasoning"`
	Tool      string          `json:"tool"`
	Args      json.RawMessage `json:"args"`
	// Report answers what the server received, Seen the results of the calls.
	Report bool `json:"report"`
	Seen   bool `json:"seen"`
	// Status fails the request. Slow sends the text for a long time, Silent nothing.
	Status       int
	Slow, Silent bool
}

// playSDK does what the last prompt says: each of its steps is one answer.
func playSDK(r scripted.Request) scripted.Reply {
	var steps []sdkStep
	turns, done := 0, 0
	said, seen, last := "", "", scripted.Message{}
	for _, m := range r.Messages {
		switch m.Role {
		case "user":
			var list []sdkStep
			text := m.Text[max(strings.LastIndex("\n"+m.Text, "\n[{"), 0):] // notes of codeagent may come first
			if json.NewDecoder(strings.NewReader(text)).Decode(&list) == nil {
				steps, done, last = list, 0, m
				turns++
			}
		case "assistant":
			done++
			said += m.Text + "\n"
		case "tool":
			seen += m.Text + "\n"
		}
	}
	if done >= len(steps) {
		return scripted.Reply{Status: 400, Body: `{"error":{"message":"the prompt has no further step"}}`}
	}
	step := steps[done]
	switch {
	case step.Status != 0:
		return scripted.Reply{Status: step.Status, Body: `{"error":{"message":"scripted failure"}}`}
	case step.Silent:
		return scripted.Reply{Fault: scripted.NeverAnswer}
	case step.Seen:
		return scripted.Reply{Text: seen}
	case step.Report:
		return scripted.Reply{Text: reportSDK(r, turns, said, last), Piece: 4096}
	}
	reply := scripted.Reply{Text: step.Text, Reasoning: step.Reasoning}
	if step.Slow {
		reply.TokensPerSecond = 100
	}
	if step.Tool != "" {
		reply.Calls = []scripted.Call{{Name: step.Tool, Arguments: string(step.Args)}}
	}
	return reply
}

func reportSDK(r scripted.Request, turns int, said string, last scripted.Message) string {
	var body struct {
		Reasoning struct {
			Effort string `json:"effort"`
		} `json:"reasoning"`
		Effort string `json:"reasoning_effort"` // of the other wire
		Text   struct {
			Format json.RawMessage `json:"format"`
		} `json:"text"`
	}
	_ = json.Unmarshal(r.Body, &body) // the server has parsed it
	text, err := json.Marshal(map[string]any{
		"wire": r.Wire, "model": r.Model, "authorization": r.Header.Get("Authorization"), "effort": body.Reasoning.Effort + body.Effort, "format": body.Text.Format,
		"turns": turns, "said": said, "images": append([]string{}, last.Images...), "length": len(last.Text), "last": last.Text[max(0, len(last.Text)-100):],
	})
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(text)
}
