package seatbelt

import "codeagent/sandbox"

// Weaknesses are what the profile of p does not enforce, or enforces without a test.
func Weaknesses(p sandbox.Policy) []sandbox.Weakness {
	out := []sandbox.Weakness{
		{
			ID:   "untested",
			What: "The macOS sandbox may be wider or narrower than it should be.",
			Why:  "its profiles are checked against a model of sandbox-exec; they were never run on a Mac by the project",
		},
		{
			ID:   "evidence",
			What: "What the sandbox refuses is only known from the output of the command.",
			Why:  "sandbox-exec does not report to the program that called it",
		},
		{
			ID:   "orphans",
			What: "A process that leaves its session and loses its parent can outlive the command; it stays in the sandbox.",
			Why:  "macOS has no PID namespaces and no subreaper",
		},
	}
	if len(p.Protected.Names)+len(p.Protected.Paths)+len(p.DenyRead)+len(p.DenyGlobs) > 0 {
		out = append(out, sandbox.Weakness{
			ID:   "hfs-names",
			What: "On an HFS+ volume a protected name can be written with invisible characters inside it.",
			Why:  "HFS+ ignores some characters when it compares names, which a profile cannot express; APFS does not",
		})
	}
	if p.Limits.Memory > 0 {
		out = append(out, sandbox.Weakness{
			ID:   "memory",
			What: "The memory limit is not applied.",
			Why:  "macOS does not enforce a limit on address space",
		})
	}
	if p.Limits.CPUPercent > 0 {
		out = append(out, sandbox.Weakness{
			ID:   "cpu-share",
			What: "A command may use more than its share of processor time.",
			Why:  "macOS has no such limit",
		})
	}
	if p.SharedTemp {
		out = append(out, sandbox.Weakness{
			ID:     "shared-temp",
			What:   "Commands may write the shared folders for temporary files, which other programs trust.",
			Why:    "sandbox.tmp is \"shared\"",
			Remedy: "set sandbox.tmp = \"private\"",
		})
	}
	return out
}
