package tui

import (
	"fmt"
	"strings"

	"codeagent/approvals"
	"codeagent/event"
	"codeagent/sandbox"
)

// asked is a permission that was asked for, in the course of a call or alone.
type asked struct {
	request event.PermissionRequested
	answer  *event.PermissionAnswered
	// chosen is what the person picked here; the event does not tell a yes
	// outside the sandbox from one inside.
	chosen approvals.Decision
}

// denialLines says what the sandbox refused, one line each.
func denialLines(c canvas, v sandbox.Verdict, workspace string) []string {
	const most = 3
	var shown []sandbox.Denial
	for _, d := range v.Denials {
		if !d.Moot || c.open {
			shown = append(shown, d)
		}
	}
	var out []string
	for i, d := range shown {
		if i == most && len(shown) > most+1 && !c.open {
			out = append(out, c.theme.row(c.inner(), span{fmt.Sprintf("… and %d more", len(shown)-most), dim}))
			break
		}
		out = append(out, c.theme.wrap(c.inner(), refused(d, c.home)...)...)
	}
	return indent(out)
}

// refused writes a denial as "⊘ write ~/x (outside the workspace)".
func refused(d sandbox.Denial, home string) []span {
	verb, why := denialWords(d)
	out := []span{{"⊘ ", warn}, {verb + " ", text}, {tilde(d.Target, home), strong}}
	if d.Count > 1 {
		out = append(out, span{fmt.Sprintf(" ×%d", d.Count), dim})
	}
	if d.Moot {
		why = "would have failed anyway"
		if d.MootReason != "" {
			why = d.MootReason
		}
	}
	if why != "" {
		out = append(out, span{" (" + why + ")", dim})
	}
	return out
}

// denialWords says what was tried and which border it met.
func denialWords(d sandbox.Denial) (verb, why string) {
	switch d.Kind {
	case sandbox.KindWrite:
		return "write", "outside the workspace"
	case sandbox.KindRead:
		return "read", "kept from reading"
	case sandbox.KindNetwork:
		return "connect", "no network"
	case sandbox.KindSocket:
		return "connect", "socket not granted"
	case sandbox.KindProtected:
		return "write", "protected"
	case sandbox.KindMetadata:
		return d.Operation, "changes what the sandbox protects"
	case sandbox.KindCapability:
		return d.Operation, "needs a privilege"
	case sandbox.KindSignal:
		return "signal", "not a process of this command"
	case sandbox.KindSyscall:
		return "call", "system call not allowed"
	}
	return d.Operation, ""
}

// grantLines lists what a grant opens, one piece each: "write ~/.npm".
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

// lines say what was asked for and what came of it.
func (a *asked) lines(c canvas) []string {
	if a.answer == nil {
		return nil
	}
	what := strings.Join(grantLines(a.request.Wanted, c.home), ", ")
	s, word := warn, "denied"
	switch a.answer.Decision {
	case "once":
		s, word = good, "allowed once"
	case "session":
		s, word = good, "allowed for this session"
	case "stopped":
		word = "denied, and stopped"
	case "refused":
		word = "refused, nobody could answer"
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
	if a.answer.Reason != "" {
		spans = append(spans, span{"  “" + a.answer.Reason + "”", dim})
	}
	if a.answer.Hint != "" {
		spans = append(spans, span{"  " + a.answer.Hint, dim})
	}
	return c.theme.wrap(c.inner(), spans...)
}
