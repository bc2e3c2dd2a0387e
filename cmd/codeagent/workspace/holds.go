package workspace

import (
	"slices"

	"codeagent/approvals"
	"codeagent/sandbox"
)

// NoNotify is why a call cannot be held if the layer "notify" is missing; doctor reports the
// cause.
const NoNotify = "the kernel does not report refused calls here (notify)"

// NotHeld is NotHeldUnder the approval policy of the settings.
func (ws *Workspace) NotHeld() string {
	return ws.NotHeldUnder(approvals.Mode(ws.Config.AskForApproval))
}

// NotHeldUnder says why refused calls are not held for a person's answer under an approval policy,
// or "" if they are. A held call also needs a person, which the caller checks.
func (ws *Workspace) NotHeldUnder(mode approvals.Mode) string {
	switch {
	case ws.Policy.Unconfined || ws.Enforcement.Weak("unconfined"):
		return "commands run without a sandbox"
	case ws.modules != nil:
		return "a module's own file system refuses it"
	case !ws.Config.Sandbox.Hold:
		return "sandbox.hold is off"
	case !mode.Holds():
		return "the approval policy is " + string(mode)
	case ws.Config.Sandbox.EvidenceLevel() == sandbox.EvidenceNothing:
		return "sandbox.evidence is off"
	case !slices.Contains(ws.Enforcement.Active(), "notify"):
		return NoNotify
	}
	return ""
}

// NetworkNotHeld is NotHeld for connections.
func (ws *Workspace) NetworkNotHeld() string {
	if why := ws.NotHeld(); why != "" {
		return why
	}
	if hosts, _ := ws.Grantable(); !hosts {
		return "no single host can be opened here (netns, connect)"
	}
	return ""
}

// Evidence returns how much is known here about a command's denials, and why not all.
func (ws *Workspace) Evidence() (level sandbox.EvidenceLevel, why string) {
	level = ws.Config.Sandbox.EvidenceLevel()
	origin := "sandbox.evidence (" + ws.Config.Origin("sandbox.evidence").String() + ")"
	switch {
	case ws.Policy.Unconfined || ws.Enforcement.Weak("unconfined"):
		return sandbox.EvidenceNothing, "commands run without a sandbox"
	case level == sandbox.EvidenceNothing:
		return sandbox.EvidenceOutputOnly, origin
	case !slices.Contains(ws.Enforcement.Active(), "notify"):
		return sandbox.EvidenceOutputOnly, NoNotify
	case level == sandbox.EvidenceNetworkOnly:
		return level, origin
	}
	return level, ""
}
