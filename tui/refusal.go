package tui

import (
	"fmt"
	"strings"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/internal/short"
	"codeagent/sandbox"
)

// asked is a request for a permission, by a call or by itself.
type asked struct {
	request event.PermissionRequested
	answer  *event.PermissionAnswered
	// chosen is the person's choice; the event has the same value for a yes inside
	// and outside the sandbox.
	chosen approvals.Decision
}

// A folded call shows the first few denials that mattered, an open call all of them
// up to a bound that no screen shows at once.
const (
	fewDenials  = 3
	mostDenials = 200
	// mostName bounds a name in a folded line: a program chooses it.
	mostName = 161
)

// denialLines lists what the sandbox denied: a line each, and in an open call also
// who tried it and how that is known.
func denialLines(c canvas, v sandbox.Verdict) []string {
	var shown []sandbox.Denial
	for _, d := range v.Denials {
		if !d.Moot || c.open {
			shown = append(shown, d)
		}
	}
	most := mostDenials
	if !c.open {
		most = fewDenials
	}
	var out []string
	for i, d := range shown {
		if i == most && len(shown) > most+1 {
			out = append(out, c.theme.row(c.inner(), span{fmt.Sprintf("… and %d more", len(shown)-most), dim}))
			break
		}
		out = append(out, c.theme.wrap(c.inner(), refused(d, c.home, c.open)...)...)
		if c.open {
			for _, l := range records(d, c.home) {
				out = append(out, wrapper{theme: c.theme, width: c.inner(), first: []span{{"    ", dim}}, rest: []span{{"      ", dim}}}.lines(flat([]span{{l, dim}})...)...)
			}
		}
	}
	return indent(out)
}

// refused writes a denial as "⊘ write ~/x (outside the workspace)".
func refused(d sandbox.Denial, home string, whole bool) []span {
	verb, why := denialWords(d)
	name := tilde(d.Target, home)
	if !whole {
		name = short.Middle(name, mostName)
	}
	out := []span{{"⊘ ", warn}, {verb + " ", text}, {name, strong}}
	if d.Count > 1 {
		out = append(out, span{fmt.Sprintf(" ×%d", d.Count), dim})
	}
	why = firstOf(d.Why, d.Note, why)
	if d.Moot {
		why = firstOf(d.MootReason, "would have failed anyway")
	}
	if why != "" {
		out = append(out, span{" (" + why + ")", dim})
	}
	return flat(out)
}

// records are the details of a denial: the program and its parents, the error that
// it got, and the path that it named.
func records(d sandbox.Denial, home string) []string {
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
	if seen := seenBy(d.Evidence); seen != "" {
		how += " · " + seen
	}
	if how != "" {
		out = append(out, how)
	}
	if d.Requested != "" && d.Requested != d.Target {
		out = append(out, "requested as "+tilde(d.Requested, home))
	}
	return out
}

func process(program string, pid int) string {
	if program = short.Middle(program, mostName); pid == 0 {
		return program
	}
	return strings.TrimSpace(fmt.Sprintf("%s (%d)", program, pid))
}

// seenBy is how a denial is known.
func seenBy(e sandbox.Evidence) string {
	switch e {
	case sandbox.EvidenceKernel:
		return "recorded by the kernel"
	case sandbox.EvidenceBackend:
		return "denied by the sandbox"
	case sandbox.EvidenceOutput:
		return "guessed from the output"
	}
	return ""
}

// denialWords says what was tried and why it was denied.
func denialWords(d sandbox.Denial) (verb, why string) {
	switch d.Kind {
	case sandbox.KindWrite:
		return "write", "outside the workspace"
	case sandbox.KindRead:
		return "read", "protected from reading"
	case sandbox.KindNetwork:
		if !strings.Contains(d.Target, ":") {
			return "look up", "no network"
		}
		return "connect", "no network"
	case sandbox.KindSocket:
		return "connect", "socket not granted"
	case sandbox.KindProtected:
		return "write", "protected"
	case sandbox.KindMetadata:
		return metadataVerb(d.Operation), "outside the workspace"
	case sandbox.KindCapability:
		return d.Operation, "needs a privilege"
	case sandbox.KindSignal:
		return "signal", "not a process of this command"
	case sandbox.KindSyscall:
		return "call", "system call not allowed"
	}
	return d.Operation, ""
}

// metadataVerb says in words what a system call changes about a file.
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

// grantLines lists what a grant allows, one item each: "write ~/.npm".
func grantLines(g sandbox.Grant, home string) []string {
	var out []string
	for _, p := range g.Write {
		out = append(out, "write "+tilde(p, home))
	}
	for _, p := range g.Read {
		out = append(out, "read "+tilde(p, home))
	}
	for _, h := range g.Hosts {
		out = append(out, "network "+h.String())
	}
	for _, s := range g.Sockets {
		out = append(out, "socket "+tilde(s, home))
	}
	if g.Unsandboxed {
		out = append(out, "outside the sandbox")
	}
	return out
}

// draw shows a permission that belongs to no call.
func (a *asked) draw(c canvas) []string {
	head := c.hang(span{"?", warn}, span{firstOf(a.request.Title, "permission"), text})
	return append(head, indent(a.lines(c))...)
}

// lines say what was asked for and how it was answered.
func (a *asked) lines(c canvas) []string {
	if a.answer == nil {
		return nil
	}
	what := strings.Join(grantLines(a.request.Wanted, c.home), ", ")
	s, word, reason := warn, "denied", a.answer.Reason
	switch a.answer.Decision {
	case "once":
		s, word = good, "allowed once"
	case "session":
		s, word = good, "allowed for this session"
	case "stopped":
		word = "denied; turn stopped"
	case "refused":
		word = "refused: nobody could answer"
	}
	if a.request.Held {
		word = map[string]string{
			"once": "allowed while it ran", "session": "allowed while it ran, and for this session",
			"stopped": "denied; turn stopped",
		}[a.answer.Decision]
		word = firstOf(word, "denied while it ran")
		if rest, ok := strings.CutPrefix(reason, "no answer"); ok { // nobody denied it
			word, reason = "no answer while it ran", strings.TrimPrefix(rest, ": ")
		}
	}
	switch a.chosen {
	case approvals.Outside, approvals.OutsideSession:
		if s == good {
			s, word, what = warn, word+", outside the sandbox", ""
		}
	}
	spans := []span{{word, s}}
	if what != "" {
		spans = append(spans, span{": " + what, text})
	}
	if reason != "" {
		spans = append(spans, span{"  “" + reason + "”", dim})
	}
	if a.answer.Hint != "" {
		spans = append(spans, span{"  " + a.answer.Hint, dim})
	}
	return c.theme.wrap(c.inner(), spans...)
}

// permissions lists the session's questions and answers, the latest last.
func (t *transcript) permissions(th *theme, w int, home string) []string {
	if len(t.asked) == 0 {
		return th.wrap(w, span{"No permission was asked for in this session.", dim})
	}
	c := canvas{theme: th, width: w, home: home}
	var out []string
	for i, a := range t.asked {
		if i > 0 {
			out = append(out, "")
		}
		out = append(out, th.wrap(w, span{firstOf(a.request.Title, a.request.Command, "permission"), strong})...)
		if a.request.Command != "" {
			out = append(out, th.row(w, span{"  $ " + a.request.Command, text}))
		}
		if a.answer == nil {
			out = append(out, th.row(w, span{"  waiting for your answer", warn}))
			continue
		}
		for _, l := range a.lines(c) {
			out = append(out, "  "+l)
		}
	}
	return out
}
