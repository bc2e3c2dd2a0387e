package approvals

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"codeagent/sandbox"
)

// Ledger remembers the answers that hold for the session. It is safe for
// concurrent use; it lives and dies with the process.
type Ledger struct {
	mu      sync.Mutex
	entries []Entry
}

// Entry is one remembered answer, bound to exactly what was shown. Either Grant
// is set: what it names is open to every command of the session. Or Command
// and Folder are: exactly this command in this folder runs unasked. Or Paths:
// exactly these files are edited unasked. Or Fetch: pages of exactly these hosts
// are fetched unasked, and no command reaches them.
type Entry struct {
	// Request is the ID of the question that was answered, Title its line.
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

// deed names a command beyond its call: what is run and where.
type deed [sha256.Size]byte

func deedOf(a Action) deed {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %v", a.Tool, a.Command, a.Folder, a.Argv, a.Background))
}

// List returns what is remembered, oldest first.
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

// command reports whether exactly this command may run unasked, inside or also
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

// edits reports whether each of paths may be edited unasked.
func (l *Ledger) edits(paths []string) bool {
	entries := l.List()
	for _, p := range paths {
		if !slices.ContainsFunc(entries, func(e Entry) bool { return slices.Contains(e.Paths, p) }) {
			return false
		}
	}
	return len(paths) > 0
}
