//go:build linux

package backendtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/linuxsandbox"
	"codeagent/sandbox"
	"codeagent/sandbox/sandboxtest"
)

// Theatre is a workspace with a file, and a file outside.
type Theatre struct {
	Stage
	Backend *linuxsandbox.Backend
	In, Out string
	Policy  sandbox.Policy
}

// NewTheatre fails the test where b has no broker.
func NewTheatre(t *testing.T, b *linuxsandbox.Backend) *Theatre {
	t.Helper()
	th := &Theatre{Stage: NewStage(t, os.Getuid()), Backend: b}
	outside := filepath.Join(filepath.Dir(th.Dir), "away")
	if err := os.Mkdir(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	th.In, th.Out = filepath.Join(th.Dir, "file"), filepath.Join(outside, "file")
	for _, f := range []string{th.In, th.Out} {
		if err := os.WriteFile(f, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	th.Policy = sandbox.WorkspaceWrite(th.Dir)
	if f := Facts(t, b); !f.Broker {
		t.Fatalf("no broker here: %q", f.NoBroker)
	}
	return th
}

// WithAndWithoutMounts runs a test of the broker on the host's own files, and over mounts where
// they work. In a setting it runs once with what the setting offers; some settings have no mounts.
func WithAndWithoutMounts(t *testing.T, test func(t *testing.T, th *Theatre)) {
	kinds := []mountKind{{"without mounts", NewPlain}, {"with mounts", New}}
	if os.Getenv(attack.EnvSetting) != "" {
		kinds = kinds[1:]
	}
	for _, kind := range machine.Pick(t, t.Name(), 1, len(kinds), kinds) {
		t.Run(kind.name, func(t *testing.T) {
			b := kind.backend(t)
			defer b.Close()
			test(t, NewTheatre(t, b))
		})
	}
}

// mountKind is whether the helper may mount.
type mountKind struct {
	name    string
	backend func(testing.TB) *linuxsandbox.Backend
}

// String is what a sample is reported by.
func (k mountKind) String() string { return k.name }

// EnvVictim, in the environment, says what TestBrokerVictim does with the file in its next word.
const EnvVictim = "CODEAGENT_TEST_BROKER"

// Env is the environment of a command that the victim plays, or of any other.
func (th *Theatre) Env(what, target string) []string {
	return []string{"PATH=/bin:/usr/bin", "HOME=" + th.Dir, "WS=" + th.Dir, "CI=" + os.Getenv("CI"), "IN=" + th.In, "TARGET=" + target, EnvVictim + "=" + what, sandboxtest.NoPause}
}

// Shell runs a script in the sandbox and returns its output.
func (th *Theatre) Shell(t *testing.T, script string) (string, []sandbox.Denial) {
	t.Helper()
	return th.Confined(t, sandbox.Command{Path: "bash", Args: []string{"bash", "-ec", script}, Env: th.Env("", th.Out)})
}

// Python runs a script in the sandbox and returns its output.
func (th *Theatre) Python(t *testing.T, script string) (string, []sandbox.Denial) {
	t.Helper()
	return th.Confined(t, sandbox.Command{Path: attack.Need(t, "python3"), Args: []string{"python3", "-c", "import os, socket, sys\n" + script}, Env: th.Env("", th.Out)})
}

// Confined runs a command in the workspace and returns its output.
func (th *Theatre) Confined(t *testing.T, cmd sandbox.Command) (string, []sandbox.Denial) {
	t.Helper()
	_, out, denials := th.Ask(t, nil, cmd)
	return out, denials
}

// Held runs a script whose refused calls wait for a's answers.
func (th *Theatre) Held(t *testing.T, a sandbox.Holder, script string) (sandbox.Status, string, []sandbox.Denial) {
	t.Helper()
	return th.Ask(t, a, sandbox.Command{Path: "bash", Args: []string{"bash", "-ec", script}, Env: th.Env("", th.Out)})
}

// Ask runs a command whose refused calls wait for a's answers. A nil a is not asked.
func (th *Theatre) Ask(t *testing.T, a sandbox.Holder, cmd sandbox.Command) (sandbox.Status, string, []sandbox.Denial) {
	t.Helper()
	cmd.Dir = th.Dir
	if p, ok := a.(interface {
		Learn(sandbox.Denial) (sandbox.Grant, bool)
	}); ok {
		cmd.Learn = p.Learn
	}
	st, out, trace := sandboxtest.Finish(t, t.Context(), th.Backend, th.Policy, cmd, a)
	return st, out, trace.Denials
}

// Trace runs a script and returns its trace.
func (th *Theatre) Trace(t *testing.T, level sandbox.EvidenceLevel, script string) sandbox.Trace {
	t.Helper()
	_, _, trace := sandboxtest.Finish(t, t.Context(), th.Backend, th.Policy, sandbox.Command{
		Path: "bash", Args: []string{"bash", "-c", script}, Dir: th.Dir, Env: th.Env("", th.Out), Evidence: level,
	}, nil)
	return trace
}

// WaitFor fails the test if the condition does not become true.
func WaitFor(t *testing.T, done func() bool, otherwise string) {
	t.Helper()
	for end := time.Now().Add(attack.Patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(otherwise)
		}
	}
}

// OwnNetworkTheatre is a theatre whose commands have their own network.
func OwnNetworkTheatre(t *testing.T) *Theatre {
	t.Helper()
	return networkTheatre(t, "netns")
}

// NetworkTheatre is a theatre whose commands have sockets: of their own network or, where none can be made,
// of codeagent's, in which the broker makes their connections.
func NetworkTheatre(t *testing.T) *Theatre {
	t.Helper()
	return networkTheatre(t, "netns", "connect")
}

// networkTheatre has one of the layers.
func networkTheatre(t *testing.T, layers ...string) *Theatre {
	t.Helper()
	b := New(t)
	t.Cleanup(func() { b.Close() })
	if !slices.ContainsFunc(layers, func(layer string) bool { return sandboxtest.HasLayer(t, b, layer) }) {
		t.Skipf("no layer %s here", strings.Join(layers, " or "))
	}
	return NewTheatre(t, b)
}
