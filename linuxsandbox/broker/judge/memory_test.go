//go:build linux

package judge

import (
	"os"
	"path/filepath"
	"testing"

	"codeagent/linuxsandbox/broker/pathwalk"
	"codeagent/linuxsandbox/kernel"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// TestSharedMemoryThroughNoLink: inMemory does not make the session's folder for shared memory
// through a link that another session's command put in the place of Temp.
func TestSharedMemoryThroughNoLink(t *testing.T) {
	outside, temp := t.TempDir(), filepath.Join(t.TempDir(), "temp")
	if err := os.Symlink(outside, temp); err != nil {
		t.Fatal(err)
	}
	j, _ := New(Options{Policy: sandboxtest.Resolved(sandbox.Policy{Temp: temp}), Walk: new(pathwalk.Walker)})
	j.InMemory(kernel.ShmDir + "/codeagent-test-link")
	if made, err := os.ReadDir(outside); len(made) > 0 || err != nil {
		t.Errorf("made outside: %v, %v", made, err)
	}
	if err := os.Remove(temp); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	j.InMemory(kernel.ShmDir + "/codeagent-test-link")
	if _, err := os.Stat(filepath.Join(temp, memoryFolder)); err != nil {
		t.Errorf("not made where Temp is a folder: %v", err)
	}
}
