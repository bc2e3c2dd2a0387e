package main

import (
	"slices"

	"codeagent/approvals"
	"codeagent/sandbox"
)

// notTold is a machine without the layer "notify"; doctor says why it is missing.
const notTold = "the kernel does not tell codeagent here what it refuses (notify)"

// notHeld says why a call that the sandbox refuses does not wait for a person's
// answer in this session; "" where it does. Somebody must attend, too.
func (b *box) notHeld() string {
	mode := approvals.Mode(b.cfg.AskForApproval)
	switch {
	case b.policy.Unconfined || stated(b.enforcement, "unconfined"):
		return "commands run without a sandbox"
	case !b.cfg.Sandbox.Hold:
		return "sandbox.hold is off"
	case mode != approvals.OnRequest && mode != approvals.OnFailure:
		return "the approval policy is " + b.cfg.AskForApproval
	case b.cfg.Sandbox.EvidenceLevel() == sandbox.EvidenceNothing:
		return "sandbox.evidence is off"
	case !slices.Contains(b.enforcement.Active(), "notify"):
		return notTold
	}
	return ""
}

// networkNotHeld is notHeld for connections.
func (b *box) networkNotHeld() string {
	if why := b.notHeld(); why != "" {
		return why
	}
	if !b.grantsHosts {
		return "a single host can be opened only in a network of the session's own, and none can be made here (netns)"
	}
	return ""
}

// evidence is how much is known here of what a command was refused, and why not
// all of it.
func (b *box) evidence() (level sandbox.EvidenceLevel, why string) {
	level = b.cfg.Sandbox.EvidenceLevel()
	origin := "sandbox.evidence (" + b.cfg.Origin("sandbox.evidence").String() + ")"
	switch {
	case b.policy.Unconfined || stated(b.enforcement, "unconfined"):
		return sandbox.EvidenceNothing, "commands run without a sandbox"
	case level == sandbox.EvidenceNothing:
		return sandbox.EvidenceOutputOnly, origin
	case !slices.Contains(b.enforcement.Active(), "notify"):
		return sandbox.EvidenceOutputOnly, notTold
	case level == sandbox.EvidenceNetworkOnly:
		return level, origin
	}
	return level, ""
}
