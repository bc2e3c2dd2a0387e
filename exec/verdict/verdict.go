// Package verdict judges whether a command failed because of the sandbox. It performs
// no IO; it asks the FileSystem that it is given about files.
//
// The general rule: a command counts as denied if it failed, and the sandbox refused it
// something that would have succeeded otherwise. The exceptions follow from how the
// processes ended (tree.go), and from the control flow of a shell whose text is known
// (shell.go). They hold for every program: only shells and their builtins are known by
// name. Start at Judge.
package verdict

import (
	"slices"

	"codeagent/sandbox"
)

// Evidence is what is known about a command that has ended.
type Evidence struct {
	Policy sandbox.Policy
	// Dir is the folder it ran in, Home the user's home folder.
	Dir, Home string
	Argv      []string
	Status    sandbox.Status
	// TimedOut: the wall limit ended it. Interrupted: the user did.
	TimedOut, Interrupted bool
	// Limit is the limit that it reached.
	Limit sandbox.Limit
	// Output is its output as plain lines (see words.go).
	Output []string
	Trace  sandbox.Trace
}

// FileSystem gives verdicts access to file metadata.
type FileSystem interface {
	sandbox.FileSystem
	// Access returns an error when the user may not read, or write, path.
	Access(path string, write bool) error
}

// Judge returns the verdict. A command that passed or was interrupted is not denied, unless it
// left a file unwritten (sandbox.Unwritten). It still gets a suggestion for what it was refused.
// If a part of the command failed because of some denials (Lost), the suggestion is for those only.
func Judge(e Evidence, files FileSystem) sandbox.Verdict {
	v := sandbox.Verdict{
		Confidence: sandbox.NoConfidence, Evidence: level(e.Trace),
		Denials: append([]sandbox.Denial{}, e.Trace.Denials...), Connections: e.Trace.Connections,
		Failed: e.TimedOut || e.Interrupted || e.Status.Exit != 0 || e.Status.Signal != 0,
	}
	if e.Policy.Unconfined || files == nil {
		v.Evidence = sandbox.EvidenceNothing
		return v
	}
	for i, d := range v.Denials {
		// Programs copy where they cannot link or rename between file systems.
		later := func(o sandbox.Denial) bool {
			return o.PID == d.PID && o.Order > d.Order && o.Errno != d.Errno && !o.Moot
		}
		if d.Errno == "EXDEV" && slices.ContainsFunc(v.Denials, later) {
			v.Denials[i].Moot, v.Denials[i].MootReason = true, "the program went on without it"
		}
	}
	if e.Status.Signal == sigSys {
		killed := sandbox.Denial{Kind: sandbox.KindSyscall, Operation: "seccomp", Target: "unknown system call", Errno: "SIGSYS", Evidence: sandbox.EvidenceBackend, Count: 1}
		v.Denials = append(v.Denials, killed)
	}
	t := newTree(e, v.Denials)
	cause, sure := t.cause()
	for _, d := range t.denials {
		of := slices.Contains(cause, d)
		d.Lost = of && !v.Failed || !of && t.said(d)
	}
	suggest := func(list []sandbox.Denial) {
		v.Suggest, v.Left = sandbox.Suggest(e.Policy, files, e.Home, e.Argv, list)
	}
	if suggest(v.Denials); len(v.Lost()) > 0 {
		suggest(v.Lost())
	}
	passed := !v.Failed
	if len(v.Unwritten()) > 0 {
		v.Denied, v.Failed, v.Confidence = true, true, sandbox.Certain
	}
	if passed || e.Interrupted || ownLimit(e.Limit) {
		return v
	}
	said := read(e, files)
	if len(cause) > 0 {
		v.Denied, v.Confidence = true, sandbox.Likely
		suggest(keep(v.Denials, cause))
		if sure && v.Evidence == sandbox.EvidenceFull {
			v.Confidence = sandbox.Certain
		}
	} else if len(said) > 0 {
		v.Denied, v.Confidence, v.Evidence = true, sandbox.Likely, sandbox.EvidenceOutputOnly
		suggest(said)
	}
	v.Denials = append(v.Denials, said...)
	return v
}

const sigSys = 31 // the filter kills a process with SIGSYS for some calls

// level returns how reliable the trace is.
func level(t sandbox.Trace) sandbox.EvidenceLevel {
	switch {
	case t.Evidence == sandbox.EvidenceFull, t.Evidence == sandbox.EvidenceNetworkOnly:
		return t.Evidence
	case len(t.Denials) > 0:
		return sandbox.EvidencePartial
	}
	return sandbox.EvidenceOutputOnly
}

// ownLimit reports whether a limit explains the failure by itself. The wall limit
// does not: the command may have waited for what was refused.
func ownLimit(l sandbox.Limit) bool {
	return l != "" && l != sandbox.LimitWall && l != sandbox.LimitOutput
}

// keep returns the denials in cause. Of the others, it marks those as moot that lost nothing.
func keep(all []sandbox.Denial, cause []*sandbox.Denial) []sandbox.Denial {
	var out []sandbox.Denial
	for i := range all {
		d := &all[i]
		if slices.Contains(cause, d) {
			out = append(out, *d)
		} else if !d.Moot && !d.Lost && d.Unwritten == nil {
			d.Moot, d.MootReason = true, "the command went on without it"
		}
	}
	return out
}
