// Package denial draws what the sandbox denied and says what a grant allows. It
// performs no IO and decides nothing. Start with Line and Grants.
package denial

import (
	"fmt"
	"strings"

	"codeagent/internal/short"
	"codeagent/sandbox"
	"codeagent/tui/paint"
)

// Most bounds the denials of an open call: no screen shows as many at once.
const Most = 200

// mostName bounds a name in a folded line: a program chooses it.
const mostName = 161

// Line writes a denial as "⊘ write ~/x (outside the workspace)", where that is the folder of the session.
func Line(d sandbox.Denial, home, workspace string, whole bool) []paint.Span {
	why := d.Because()
	writes := d.Kind == sandbox.KindWrite || d.Kind == sandbox.KindMetadata
	if why == "" && writes && workspace != "" && !sandbox.Covers(workspace, d.Target) {
		why = "outside the workspace"
	}
	name := paint.Tilde(d.Target, home)
	if !whole {
		name = short.Middle(name, mostName)
	}
	out := []paint.Span{paint.Warn.Span("⊘ "), paint.Text.Span(d.Verb() + " "), paint.Strong.Span(name)}
	if d.Count > 1 {
		out = append(out, paint.Dim.Span(fmt.Sprintf(" ×%d", d.Count)))
	}
	if why != "" {
		out = append(out, paint.Dim.Span(" ("+why+")"))
	}
	return paint.Flat(out)
}

// Records are the details of a denial: the program and its parents, the error that
// it got, and the path that it named.
func Records(d sandbox.Denial, home string) []string {
	var out []string
	if who := process(d.Who(), d.PID); who != "" {
		for _, a := range d.Chain {
			who += " ← " + process(a.Who(), a.PID)
		}
		out = append(out, "by "+who)
	}
	how := d.Operation
	if d.Errno != "" {
		how += " failed with " + d.Errno
	}
	if seen := SeenBy(d.Evidence); seen != "" {
		how += " · " + seen
	}
	if how != "" {
		out = append(out, how)
	}
	if d.Requested != "" && d.Requested != d.Target {
		out = append(out, "requested as "+paint.Tilde(d.Requested, home))
	}
	return out
}

func process(program string, pid int) string {
	if program = short.Middle(program, mostName); pid == 0 {
		return program
	}
	return strings.TrimSpace(fmt.Sprintf("%s (%d)", program, pid))
}

// SeenBy is how a denial is known.
func SeenBy(e sandbox.Evidence) string {
	return map[sandbox.Evidence]string{
		sandbox.EvidenceKernel:  "recorded by the kernel",
		sandbox.EvidenceBackend: "denied by the sandbox",
		sandbox.EvidenceOutput:  "guessed from the output",
	}[e]
}

// Grants lists what a grant allows, one item each: "write ~/.npm".
func Grants(g sandbox.Grant, home string) []string {
	return g.Lines(func(path string) string { return paint.Tilde(path, home) })
}
