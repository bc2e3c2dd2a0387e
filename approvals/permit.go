package approvals

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"codeagent/sandbox"
)

// Permit allows exactly one action under one policy. Only a Gate mints permits;
// the zero Permit allows nothing.
type Permit struct {
	minted bool
	action [sha256.Size]byte
	policy sandbox.Policy
	check  func() error
	given  []sandbox.Grant
}

// Given is what a person granted to this call alone. Its later runs keep it.
func (p Permit) Given() []sandbox.Grant { return slices.Clone(p.given) }

// Check compares what the permit is bound to once more, right before the start. It is nil where the
// permit is bound to the action alone.
func (p Permit) Check() func() error { return p.check }

// ErrNoPermit reports a permit that was not minted for the action at hand.
var ErrNoPermit = errors.New("not permitted: no permit was given for exactly this action")

// Policy returns the policy under which a may run, or ErrNoPermit unless p was
// minted for exactly a, every field included.
func (p Permit) Policy(a Action) (sandbox.Policy, error) {
	if !p.minted || p.action != fingerprint(a) {
		return sandbox.Policy{}, ErrNoPermit
	}
	return p.policy.Clone(), nil
}

func mint(a Action, p sandbox.Policy) Permit {
	return Permit{minted: true, action: fingerprint(a), policy: p.Clone()}
}

// fingerprint covers every field of a, present and future: the Go syntax of a struct of
// strings, numbers, bools, slices and maps names each field, quotes each string and sorts
// each map, so that different actions have different texts. A pointer would be written as an
// address, so the call of a server follows as a struct.
func fingerprint(a Action) [sha256.Size]byte {
	var server ServerCall
	called := a.Server != nil
	if called {
		server = *a.Server
	}
	a.Server = nil
	return sha256.Sum256(fmt.Appendf(nil, "%#v %t %#v", a, called, server))
}
