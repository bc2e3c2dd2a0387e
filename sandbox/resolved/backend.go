package resolved

import (
	"context"

	"codeagent/sandbox"
)

// Backend confines commands. Every implementation must pass sandboxtest.Run.
type Backend interface {
	// Name is "linux", "seatbelt" or "none".
	Name() string
	// Enforcement reports what this backend enforces for p on this machine; it finds out by trying.
	// An error means that p cannot be confined here and must not run: a required layer is missing,
	// or p asks for something that cannot be enforced.
	Enforcement(p Policy) (sandbox.Enforcement, error)
	// Start runs cmd under p. It returns a *StartError if the command did not run. h may be nil;
	// then no call is held. The command ends when ctx ends.
	Start(ctx context.Context, p Policy, cmd sandbox.Command, h sandbox.Holder) (sandbox.Process, error)
}
