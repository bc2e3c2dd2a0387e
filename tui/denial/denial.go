// Package denial puts into words what the sandbox denied and what a grant allows. It
// performs no IO and decides nothing. Start with Line and Grants.
package denial

import (
	"cmp"
	"codeagent/internal/short"
	"fmt"
	"strings"

	"codeagent/sandbox"
	"codeagent/tui/paint"
)

// Most bounds the denials of an open call: no screen shows as many at once.
const Most = 200

// mostName bounds a name in a folded line: a program chooses it.
const mostName = 161

// Line writes a denial as "⊘ write ~/x (outside the workspace)", where that is the folder of the session.
func Line(d sandbox.Denial, home, workspace string, whole bool) []paint.Span {
	verb, why := Verb(d), words[d.Kind].why
	if writes := d.Kind == sandbox.KindWrite || d.Kind == sandbox.KindMetadata; writes && workspace != "" && !sandbox.Covers(workspace, d.Target) {
		why = "outside the workspace"
	} else if strings.HasPrefix(d.Operation, "socket") {
		why = "sockets of this kind are closed"
	}
	name := paint.Tilde(d.Target, home)
	if !whole {
		name = short.Middle(name, mostName)
	}
	out := []paint.Span{paint.Warn.Span("⊘ "), paint.Text.Span(verb + " "), paint.Strong.Span(name)}
	if d.Count > 1 {
		out = append(out, paint.Dim.Span(fmt.Sprintf(" ×%d", d.Count)))
	}
	why = cmp.Or(d.Why, d.Note, why)
	if d.Moot {
		why = cmp.Or(d.MootReason, "would have failed anyway")
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

// words are what was tried and why it was denied, by the kind of a denial. Without a verb
// the operation is named.
var words = map[sandbox.DenialKind]struct{ verb, why string }{
	sandbox.KindWrite:      {"write", ""},
	sandbox.KindRead:       {"read", "protected from reading"},
	sandbox.KindNetwork:    {"connect", "host not allowed"},
	sandbox.KindSocket:     {"connect", "socket not granted"},
	sandbox.KindProtected:  {"write", "protected"},
	sandbox.KindCapability: {"", "needs a privilege"},
	sandbox.KindSignal:     {"signal", "not a process of this command"},
	sandbox.KindLoss:       {"delete or replace", "undo could not bring it back"},
	sandbox.KindSyscall:    {"call", "system call not allowed"},
}

// Verb says what was tried.
func Verb(d sandbox.Denial) string {
	switch {
	case strings.HasPrefix(d.Operation, "socket"):
		return "open socket"
	case d.Kind == sandbox.KindNetwork && !strings.Contains(d.Target, ":"):
		return "look up"
	case d.Kind == sandbox.KindMetadata:
		return metadataVerb(d.Operation)
	}
	return cmp.Or(words[d.Kind].verb, d.Operation)
}

func metadataVerb(operation string) string {
	for _, v := range []struct{ call, verb string }{
		{"chmod", "change the mode of"}, {"chown", "change the owner of"}, {"utime", "change the times of"}, {"xattr", "change attributes of"}, {"flock", "lock"},
	} {
		if strings.Contains(operation, v.call) {
			return v.verb
		}
	}
	return operation
}

// Grants lists what a grant allows, one item each: "write ~/.npm".
func Grants(g sandbox.Grant, home string) []string {
	return g.Lines(func(path string) string { return paint.Tilde(path, home) })
}
