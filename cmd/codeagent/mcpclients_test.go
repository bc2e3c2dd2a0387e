package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codeagent/internal/machine"
)

// TestMCPClients: the official clients of both revisions, and the official inspector, work with
// `codeagent mcp`, and it passes the official conformance suite. package-lock.json pins the packages.
func TestMCPClients(t *testing.T) {
	machine.Turn(t, 0) // the packages of the clients are fetched
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(err)
	}
	dir := npmFolder(t, "testdata/mcpclients")
	// The inspector's command line reads its version from the package that it is a part of, of which
	// the rest is a web application.
	about := filepath.Join(dir, "node_modules/@modelcontextprotocol/package.json")
	if err := os.WriteFile(about, []byte(`{"name":"@modelcontextprotocol/inspector","version":"1.0.3","type":"module"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	eachUser(t, func(t *testing.T, u user) {
		for _, name := range []string{"newest.mjs", "older.mjs"} {
			t.Run(name, func(t *testing.T) {
				os.Remove(u.work + "/up")
				os.Remove(u.home + "/wanted")
				if out, err := nodeRun(u, node, filepath.Join(dir, name)); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
		t.Run("inspector", func(t *testing.T) { inspect(t, u, node, dir) })
	})
	t.Run("conformance", func(t *testing.T) {
		uid := -1
		if os.Geteuid() == 0 {
			uid = ordinary
		}
		u := newUser(t, "conformance", uid)
		conform(t, node, dir, "mcpclients/conformance.txt", func() pipes { return program(t, u) })
	})
	t.Run("conformance of the room", func(t *testing.T) {
		conform(t, node, dir, "mcpclients/conformance_room.txt", func() pipes { return room(t.Context()) })
	})
}

// nodeRun runs a program of node as the user.
func nodeRun(u user, node string, args ...string) ([]byte, error) {
	cmd := u.codeagent()
	cmd.Env = append(cmd.Env, "CODEAGENT="+cmd.Path)
	cmd.Path, cmd.Args = node, append([]string{"node"}, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	return out.Bytes(), err
}

func inspect(t *testing.T, u user, node, dir string) {
	program := filepath.Join(dir, "node_modules/@modelcontextprotocol/inspector-cli/build/index.js")
	out, err := nodeRun(u, node, program, u.bin+"/codeagent", "mcp", "--method", "tools/list")
	var list struct{ Tools []struct{ Name string } }
	if err == nil {
		err = json.Unmarshal(out, &list)
	}
	if err != nil || len(list.Tools) != 4 {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = nodeRun(u, node, program, u.bin+"/codeagent", "mcp", "--method", "tools/call", "--tool-name", "shell", "--tool-arg", "command=echo x > ~/outside")
	var r struct {
		IsError           bool
		StructuredContent struct{ Denials []struct{ Target string } }
	}
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil || !r.IsError || len(r.StructuredContent.Denials) != 1 || !strings.HasSuffix(r.StructuredContent.Denials[0].Target, "/outside") {
		t.Errorf("%v\n%s", err, out)
	}
}
