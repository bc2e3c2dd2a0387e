package approvals

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"codeagent/sandbox"
)

// Ledger holds the answers that apply to the session. It is safe for concurrent use, and is
// not saved.
type Ledger struct {
	mu      sync.Mutex
	entries []Entry
}

// Entry is one remembered answer, bound to exactly what was shown. One of these is set:
// Grant, which every command of the session gets; Command and Folder: exactly this command
// in this folder runs without a question; Paths: exactly these files are edited without a
// question; Fetch: pages of exactly these hosts are fetched without a question, and no
// command reaches them.
type Entry struct {
	// Request is the ID of the question that was answered, Title its title.
	Request, Title string
	// Justification is the reason the model gave.
	Justification   string
	Grant           sandbox.Grant
	Command, Folder string
	// Outside: the command runs outside the sandbox when the model asks for it.
	Outside bool
	Paths   []string
	Fetch   []sandbox.HostPort

	deed deed
}

// deed identifies a command across calls: what is run and where.
type deed [sha256.Size]byte

func deedOf(a Action) deed {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %v", a.Tool, a.Command, a.Folder, a.Argv, a.Background))
}

// List returns the remembered answers, oldest first.
func (l *Ledger) List() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries)
}

func (l *Ledger) add(e Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
}

// command reports whether exactly this command may run without a question, inside or also
// outside the sandbox.
func (l *Ledger) command(a Action) (inside, outside bool) {
	d := deedOf(a)
	for _, e := range l.List() {
		if e.Folder != "" && e.deed == d {
			inside, outside = true, outside || e.Outside
		}
	}
	return inside, outside
}

// edits reports whether each of paths may be edited without a question.
func (l *Ledger) edits(paths []string) bool {
	entries := l.List()
	for _, p := range paths {
		if !slices.ContainsFunc(entries, func(e Entry) bool { return slices.Contains(e.Paths, p) }) {
			return false
		}
	}
	return len(paths) > 0
}
