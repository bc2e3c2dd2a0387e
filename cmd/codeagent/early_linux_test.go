package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEarly: the copy of the helper begins before most packages are initialised. An import of package
// early, or of what it imports, can change that without any other sign.
func TestEarly(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(filepath.Join(programs(t), "codeagent"), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	var order []string
	for line := range strings.Lines(trace.String()) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "init" {
			order = append(order, f[1])
		}
	}
	at := slices.Index(order, "codeagent/cmd/codeagent/early")
	if at < 0 || at > len(order)/2 {
		t.Errorf("early is initialised as number %d of %d packages, after %v", at, len(order), order[max(at-10, 0):max(at, 0)])
	}
	t.Logf("early is number %d of %d packages", at, len(order))
}
