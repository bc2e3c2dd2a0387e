//go:build linux

package linuxsandbox

import (
	"os"
	"testing"

	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// TestWorkspaceInSharedMemory: a write root inside a folder that the sandbox replaces is the
// host's, and everything in it can be changed.
func TestWorkspaceInSharedMemory(t *testing.T) {
	ws, err := os.MkdirTemp(kernel.ShmDir, "codeagent-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(ws)
	b := newBackend(t)
	defer b.Close()
	st, out := sandboxtest.Output(t, b, sandbox.WorkspaceWrite(ws), sandbox.Command{
		Path: "bash", Args: []string{"bash", "-c", "echo x > f && chmod 600 f && touch -d 2001-01-01 f && mkdir d && mv f d/g && chmod 644 d/g"},
		Dir: ws, Env: []string{"PATH=/usr/bin:/bin"},
	})
	if info, err := os.Stat(ws + "/d/g"); st.Exit != 0 || err != nil || info.Mode().Perm() != 0o644 || info.ModTime().Year() != 2001 {
		t.Errorf("%+v, %v\n%s", st, err, out)
	}
}
