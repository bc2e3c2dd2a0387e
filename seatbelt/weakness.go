package seatbelt

import (
	"slices"

	"codeagent/sandbox"
	"codeagent/sandbox/resolved"
)

// Weaknesses are what the profile of p does not enforce, or enforces without a test.
func Weaknesses(p resolved.Policy) (out []sandbox.Weakness) {
	named := len(p.Protected.Names)+len(p.Protected.Paths)+len(p.DenyRead)+len(p.DenyGlobs) > 0
	for _, w := range []struct {
		applies               bool
		id, what, why, remedy string
	}{
		{true, "untested",
			"The macOS sandbox may be wider or narrower than it should be.",
			"its profiles are checked against a model of sandbox-exec; they were never run on a Mac by the project", ""},
		{true, "evidence",
			"What the sandbox refuses is only known from the output of the command.",
			"sandbox-exec does not report to the program that called it", ""},
		{true, "orphans",
			"A process that leaves its session and loses its parent can outlive the command; it stays in the sandbox.",
			"macOS has no PID namespaces and no subreaper", ""},
		{named, "hfs-names",
			"On an HFS+ volume a protected name can be written with invisible characters inside it.",
			"HFS+ ignores some characters when it compares names, which a profile cannot express; APFS does not", ""},
		{p.Limits.Memory > 0, "memory",
			"The memory limit is not applied.",
			"macOS does not enforce a limit on address space", ""},
		{p.Limits.CPUPercent > 0, "cpu-share",
			"A command may use more than its share of processor time.",
			"macOS has no such limit", ""},
		{slices.ContainsFunc(p.Roots, func(r sandbox.Root) bool { return r.Origin == sandbox.FromSharedTemp }), "shared-temp",
			"Commands may write the shared folders for temporary files, which other programs trust.",
			`sandbox.tmp is "shared"`, `set sandbox.tmp = "private"`},
	} {
		if w.applies {
			out = append(out, sandbox.Weakness{ID: w.id, What: w.what, Why: w.why, Remedy: w.remedy})
		}
	}
	return out
}
