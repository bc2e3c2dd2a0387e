//go:build linux

package linuxsandbox

import (
	"errors"
	"testing"
	"time"

	"codeagent/internal/attack"
	"codeagent/linuxsandbox/plan"
	"codeagent/sandbox/resolved"
	"codeagent/sandbox/sandboxtest"
)

// TestConformance runs as the user who runs the tests.
func TestConformance(t *testing.T) {
	sandboxtest.Run(t, func() resolved.Backend { return newBackend(t) })
}

// TestConformanceWithoutNamespaces runs the suite with only Landlock and the filter.
func TestConformanceWithoutNamespaces(t *testing.T) {
	sandboxtest.Run(t, func() resolved.Backend { return newPlainBackend(t) })
}

// TestConformanceAsUser runs the same suite as an ordinary user.
func TestConformanceAsUser(t *testing.T) { tests.AsUser(t, "^TestConformance(WithoutNamespaces)?$") }

func newBackend(t testing.TB) *Backend {
	t.Helper()
	b, err := New(Options{Helper: tests.Helper(t)})
	if err != nil {
		t.Fatal(err)
	}
	b.globs = plan.NewGlobs(time.Hour)
	// The effect of a limit must not depend on the group in which the tests run.
	b.groups.Close()
	return b
}

// tests are those of this package, which run again as other users and in other settings.
var tests = attack.Tests{Package: "codeagent/linuxsandbox", Env: []string{sandboxtest.NoPause}}

// newPlainBackend is a backend whose keepers get no namespaces.
func newPlainBackend(t testing.TB) *Backend {
	t.Helper()
	b := newBackend(t)
	b.plain = errPlain
	return b
}

var errPlain = errors.New("the test wants none")
