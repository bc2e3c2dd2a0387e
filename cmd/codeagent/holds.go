package main

import (
	"io"
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

// describeEvidence says what is known here of refusals, and whether a refused
// call can wait for an answer.
func describeEvidence(b *box, w io.Writer) {
	level, why := b.evidence()
	told := map[sandbox.EvidenceLevel]string{
		sandbox.EvidenceFull:        "full: the kernel tells what was refused, and to which program",
		sandbox.EvidenceNetworkOnly: "network: the rest is judged by what a command prints: ",
		sandbox.EvidenceOutputOnly:  "output: judged by what a command prints, and said to be likely: ",
		sandbox.EvidenceNothing:     "none: ",
	}[level] + why
	paragraph(w, "evidence  ", told)
	held := "yes: on a screen, what a running command may not do waits for your answer"
	if why := b.notHeld(); why != "" {
		held = "no: it fails at once: " + why
	} else if why := b.networkNotHeld(); why != "" {
		held += "; connections fail at once: " + why
	}
	paragraph(w, "held      ", held)
}
