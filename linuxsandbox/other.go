//go:build !linux

package linuxsandbox

import (
	"context"
	"errors"
	"fmt"
	"os"

	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// ErrNotLinux is the error of this backend on every other system.
var ErrNotLinux = errors.New("the Linux sandbox needs Linux (Landlock and seccomp)")

// Backend does not exist outside Linux; New never returns one.
type Backend struct{}

var _ resolved.Backend = (*Backend)(nil)

// New returns ErrNotLinux.
func New(Options) (*Backend, error) { return nil, ErrNotLinux }

// Apart returns ErrNotLinux.
func (*Backend) Apart() (*Backend, error) { return nil, ErrNotLinux }

// OnDrafts returns ErrNotLinux.
func (*Backend) OnDrafts() (*Backend, error) { return nil, ErrNotLinux }

// OnDraft returns ErrNotLinux.
func (*Backend) OnDraft(sandbox.Draft, []string) (*Backend, error) { return nil, ErrNotLinux }

// Mounted returns ErrNotLinux.
func (*Backend) Mounted() error { return ErrNotLinux }

// Ready returns ErrNotLinux.
func (*Backend) Ready() error { return ErrNotLinux }

// Name is "linux".
func (*Backend) Name() string { return "linux" }

// Enforcement returns ErrNotLinux.
func (*Backend) Enforcement(resolved.Policy) (sandbox.Enforcement, error) {
	return sandbox.Enforcement{}, ErrNotLinux
}

// Start returns a *sandbox.StartError with ErrNotLinux.
func (*Backend) Start(context.Context, resolved.Policy, sandbox.Command, sandbox.Holder) (sandbox.Process, error) {
	return nil, &sandbox.StartError{Code: sandbox.ExitCannotConfine, Stage: "system", Err: ErrNotLinux}
}

// Survey returns nothing on other systems.
func Survey() []sandbox.Layer { return nil }

// MadeGit returns nothing on other systems.
func (*Backend) MadeGit() []string { return nil }

// Share does nothing.
func (*Backend) Share(string) error { return nil }

// Settled does nothing.
func (*Backend) Settled() {}

// Close does nothing.
func (*Backend) Close() error { return nil }

// EndKeepers does nothing.
func EndKeepers() []string { return nil }

// HelperMain reports that other systems have no helper, and returns 125.
func HelperMain([]string) int {
	fmt.Fprintf(os.Stderr, "%s: %v\n", HelperName, ErrNotLinux)
	return sandbox.ExitCannotConfine
}
