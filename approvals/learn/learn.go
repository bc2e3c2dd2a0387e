// Package learn grants everything that a command is denied, and records it, for the commands that find
// out which settings a program needs. Start at Lesson.
package learn

import (
	"path"
	"slices"
	"sync"

	"codeagent/sandbox"
	"codeagent/sandbox/named"
)

// maxLessons bounds the denials that are recorded: nobody would paste more.
const maxLessons = 4096

// Lesson grants everything that a command is denied and records it, so that the needed
// settings can be printed. Only `codeagent sandbox --learn` and `codeagent mcp learn` use it, which a
// user starts in a terminal. The command then does what it would do without a sandbox, except for what is
// protected or closed to reading, which the backend never asks about. No tool call leads
// here.
type Lesson struct {
	// Command is the command's text; a lookup's port is read from it.
	Command string

	mu      sync.Mutex
	denials []sandbox.Denial // guarded by mu
	more    bool             // guarded by mu
}

// Learn is the sandbox.Command.Learn of the run. It grants exactly what d was denied, if a grant can name it.
func (l *Lesson) Learn(d sandbox.Denial) (sandbox.Grant, bool) {
	var g sandbox.Grant
	switch d.Kind {
	case sandbox.KindRead:
		g.Read = []string{d.Target}
	case sandbox.KindWrite, sandbox.KindMetadata:
		g.Write = []string{d.Target}
	case sandbox.KindNetwork:
		h, err := sandbox.ParseHostPort(named.WithPort(l.Command, d.Target))
		if err != nil {
			return g, false
		}
		g.Hosts = []sandbox.HostPort{h}
	case sandbox.KindSocket:
		if !path.IsAbs(d.Target) {
			return g, false // no setting grants an abstract socket
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

// Learned returns what was granted, in order. A lookup is listed as "name:port", with the
// port of a connection to that name if there was one, else the port that the command's text
// names. guessed are the hosts for which neither is known; they get the usual port. all is
// false if there was more than is recorded.
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
			if _, ok := named.Port(l.Command, h.Host); !ok {
				guessed = append(guessed, h.Host)
			}
			d.Target = named.WithPort(l.Command, d.Target)
		}
		denials = append(denials, d)
	}
	return denials, guessed, !l.more
}
