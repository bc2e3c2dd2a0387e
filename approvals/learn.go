package approvals

import (
	"path"
	"slices"
	"sync"

	"codeagent/sandbox"
)

// maxLessons bounds what is remembered of one run: nobody would paste more.
const maxLessons = 4096

// Lesson says yes to all that a command is refused and remembers it, so that
// what a tool needs can be written down once. It serves `codeagent
// sandbox --learn` alone, which a user starts in a terminal: the command then does
// what it would do without a sandbox, but for what is protected or closed to reading,
// which the backend never asks about. No tool call leads here.
type Lesson struct {
	// Command is what runs, in words: a lookup's port is read from them.
	Command string

	mu      sync.Mutex
	denials []sandbox.Denial // guarded by mu
	more    bool             // guarded by mu
}

// Learn is the sandbox.Command.Learn of the run. It grants exactly what d was refused, where a grant can name it.
func (l *Lesson) Learn(d sandbox.Denial) (sandbox.Grant, bool) {
	var g sandbox.Grant
	switch d.Kind {
	case sandbox.KindWrite, sandbox.KindMetadata:
		g.Write = []string{d.Target}
	case sandbox.KindNetwork:
		h, err := sandbox.ParseHostPort(withPort(l.Command, d.Target))
		if err != nil {
			return g, false
		}
		g.Hosts = []sandbox.HostPort{h}
	case sandbox.KindSocket:
		if !path.IsAbs(d.Target) {
			return g, false // no setting opens an abstract socket
		}
		g.Sockets = []string{d.Target}
	default:
		return g, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	same := func(o sandbox.Denial) bool { return o.Kind == d.Kind && o.Target == d.Target }
	switch {
	case slices.ContainsFunc(l.denials, same):
	case len(l.denials) == maxLessons:
		l.more = true
	default:
		l.denials = append(l.denials, d)
	}
	return g, true
}

// Learned is what was granted, in order. A lookup stands as "name:port": with the
// port of a connection to the name where there was one, else with the one that
// the command's words name; guessed are the hosts where neither says, which stand
// with the usual port. all is false when there was more than is remembered.
func (l *Lesson) Learned() (denials []sandbox.Denial, guessed []string, all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	connected := map[string]bool{}
	for _, d := range l.denials {
		if h, err := sandbox.ParseHostPort(d.Target); d.Kind == sandbox.KindNetwork && err == nil && h.Port != 0 {
			connected[h.Host] = true
		}
	}
	for _, d := range l.denials {
		if h, err := sandbox.ParseHostPort(d.Target); d.Kind == sandbox.KindNetwork && err == nil && h.Port == 0 {
			if connected[h.Host] {
				continue
			}
			if _, ok := namedPort(l.Command, h.Host); !ok {
				guessed = append(guessed, h.Host)
			}
			d.Target = withPort(l.Command, d.Target)
		}
		denials = append(denials, d)
	}
	return denials, guessed, !l.more
}
