package review

import (
	"fmt"
	"slices"
	"time"

	"codeagent/internal/short"
	"codeagent/sandbox"
)

// Seen is one refusal of the sandbox in this session.
type Seen struct {
	At      time.Time
	Command string
	Denial  sandbox.Denial
}

// Evidence is what codeagent knows about requests.
type Evidence struct {
	Now time.Time
	// Home is the user's home folder. Empty means unknown.
	Home string
	// Seen are the refusals, oldest first.
	Seen []Seen
	// Entries counts the files and folders below a folder, up to a limit. more reports that the limit
	// was reached. ok is false if the path is not a folder. Nil: nothing is counted.
	Entries func(folder string) (n int, more, ok bool)
}

// mostFacts limits the facts about one request. Further facts are only counted.
const mostFacts = 8

// Facts states what codeagent knows about a yes to command: whether the sandbox refused the access
// before, how many files it opens, and whether they belong to the user. It judges nothing.
func (e Evidence) Facts(command string, opens sandbox.Grant) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, p := range opens.Write {
		add("%s", e.refused(p, "write", sandbox.KindWrite, sandbox.KindMetadata, sandbox.KindProtected))
		e.size(add, p)
	}
	for _, p := range opens.Read {
		add("%s", e.refused(p, "read", sandbox.KindRead))
		e.size(add, p)
	}
	for _, p := range opens.Sockets {
		add("%s", e.refused(p, "connect to", sandbox.KindSocket))
	}
	for _, h := range opens.Hosts {
		add("%s", e.contacted(h))
	}
	if opens.Unsandboxed {
		add("%s", e.stopped(command))
	}
	if more := len(out) - mostFacts; more > 0 {
		out = append(out[:mostFacts-1], fmt.Sprintf("and %d facts more", more+1))
	}
	return out
}

// refused says whether the sandbox refused an access to p, or below it.
func (e Evidence) refused(p, verb string, kinds ...sandbox.DenialKind) string {
	var below int
	var last Seen
	for _, s := range slices.Backward(e.Seen) {
		switch d := s.Denial; {
		case !slices.Contains(kinds, d.Kind) || !sandbox.Covers(p, d.Target):
		case d.Target == p:
			return fmt.Sprintf("the sandbox refused exactly this %s: %s %s", e.ago(s.At), d.Operation, name(p))
		default:
			if below++; below == 1 {
				last = s
			}
		}
	}
	if below > 0 {
		return fmt.Sprintf("in %s the sandbox refused %s, the last %s: %s %s", name(p), short.Count(below, "call"), e.ago(last.At), last.Denial.Operation, name(last.Denial.Target))
	}
	return fmt.Sprintf("nothing was refused in this session that needs to %s %s", verb, name(p))
}

// contacted says whether the sandbox refused a connection to a host.
func (e Evidence) contacted(h sandbox.HostPort) string {
	for _, s := range slices.Backward(e.Seen) {
		d := s.Denial
		if d.Kind != sandbox.KindNetwork {
			continue
		}
		switch to, err := sandbox.ParseHostPort(d.Target); {
		case err != nil || to.Host != h.Host:
		case to.Port == h.Port:
			return fmt.Sprintf("the sandbox refused exactly this %s: %s %s", e.ago(s.At), d.Operation, h)
		case to.Port == 0:
			return fmt.Sprintf("the sandbox refused to look up %s %s", h.Host, e.ago(s.At))
		default:
			return fmt.Sprintf("the sandbox refused another port of %s %s: %s", h.Host, e.ago(s.At), to)
		}
	}
	return fmt.Sprintf("no command was refused %s in this session", h)
}

// stopped lists what the sandbox refused to a command that asks to leave it.
func (e Evidence) stopped(command string) string {
	n := 0
	var last Seen
	for _, s := range slices.Backward(e.Seen) {
		if s.Command == command {
			if n++; n == 1 {
				last = s
			}
		}
	}
	if n == 0 {
		return "nothing was refused to this command in this session"
	}
	return fmt.Sprintf("the sandbox refused %s of this command, the last %s: %s %s", short.Count(n, "call"), e.ago(last.At), last.Denial.Operation, name(last.Denial.Target))
}

// size says how many entries a folder has, and whether it is outside the user's home folder.
func (e Evidence) size(add func(string, ...any), p string) {
	where := ""
	if e.Home != "" && !sandbox.Covers(e.Home, p) {
		where = "outside your home folder"
	}
	n, more, folder := 0, false, false
	if e.Entries != nil {
		n, more, folder = e.Entries(p)
	}
	switch {
	case folder && where != "":
		add("%s holds %s, %s", name(p), count(n, more), where)
	case folder:
		add("%s holds %s", name(p), count(n, more))
	case where != "":
		add("%s is %s", name(p), where)
	}
}

func count(n int, more bool) string {
	words := short.Count(n, "entry")
	if more {
		words = "at least " + words
	}
	return words
}

// ago formats the time since t.
func (e Evidence) ago(t time.Time) string {
	d := e.Now.Sub(t)
	if d < 2*time.Second {
		return "just now"
	}
	return short.Duration(d.Truncate(time.Second)) + " ago"
}

// name shortens a path that a command may have chosen.
func name(p string) string { return short.Middle(p, 120) }
