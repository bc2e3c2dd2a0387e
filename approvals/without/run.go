package without

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"codeagent/hostfile"
	"codeagent/sandbox"
	"codeagent/sandbox/named"
)

// A refused call is put to a person only if there is reason to think that it matters:
//
//	a file or socket   the command, a script that it names, or the model's request names it; or the
//	                   memory says that the program was stopped by such a refusal
//	a host             the command names it, or tries it again later; or the memory says that
//	                   the program was stopped
//
// A person is not asked again about a refusal that the program survived before, nor about one that
// they denied in the same command. Everything else fails at once. If that makes the command fail,
// one question then offers everything that it lacked (approvals.Gate.AfterDenial).

const (
	// maxScripts limits the files that are read because a command names them. maxLooked limits the
	// names that are looked up.
	maxScripts, maxLooked = 8, 64
	scriptPatience        = 200 * time.Millisecond
	// insistence is the time after which a contact is a new try. maxMet limits the hosts that are remembered.
	insistence, maxMet = time.Second, 64
)

// Command is a command that is about to start.
type Command struct {
	// Text is the command line, and Folder is its working directory.
	Text, Folder string
	// Wishes are the paths, hosts and justifications that the model asked for in this turn.
	Wishes []string
	// Roots are folders whose scripts the command may run: its workspace.
	Roots []string
}

// Run judges the refusals of one command. It is safe for concurrent use.
type Run struct {
	memory *Memory
	texts  []*named.Text

	mu   sync.Mutex
	noes []sandbox.Denial     // what a person said no to; guarded by mu
	met  map[string]time.Time // when each host was refused first; guarded by mu
}

// Begin reads the names in a command. If Memory is nil, only these names count.
func (m *Memory) Begin(ctx context.Context, c Command) *Run {
	m.Refresh()
	home := ""
	if m != nil {
		home = m.home
	}
	resolve := named.Through(hostfile.OS{})
	read := func(text string) *named.Text { return named.Read(text, c.Folder, home, resolve) }
	r := &Run{memory: m, texts: []*named.Text{read(c.Text)}}
	for _, w := range c.Wishes {
		r.texts = append(r.texts, read(w))
	}
	ctx, done := context.WithTimeout(ctx, scriptPatience)
	defer done()
	scripts, looked := 0, 0
	for _, p := range r.texts[0].Paths() {
		if !sandbox.CoveredBy(c.Roots, p) || scripts == maxScripts || looked == maxLooked {
			continue
		}
		looked++
		// Only text files that are not behind a link count as scripts.
		data, err := hostfile.ReadStart(ctx, p, named.MaxText)
		if err == nil && !bytes.ContainsRune(data, 0) {
			r.texts = append(r.texts, read(string(data)))
			scripts++
		}
	}
	return r
}

// Unasked returns the Run of a command in a session without a person.
func (m *Memory) Unasked() *Run { return &Run{memory: m} }

// Asks reports whether d is worth a question now.
func (r *Run) Asks(d sandbox.Denial) bool {
	if r.Denied(d) {
		return false
	}
	e, names := r.memory.Of(d), r.Names(d)
	switch {
	case d.Probe:
		return false
	case names:
		return e.Last != Survived || e.Denied == 0
	case d.Kind == sandbox.KindNetwork && e.Last != Survived && r.insists(d.Target):
		return true
	}
	return e.Last == Mattered
}

// insists reports whether a program tries a refused host again, a while after the first contact: it waits for it. Many programs
// try several addresses at once, or report to a host that they do not need.
func (r *Run) insists(host string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first, again := r.met[host]
	if !again && len(r.met) < maxMet {
		if r.met == nil {
			r.met = map[string]time.Time{}
		}
		r.met[host] = time.Now()
	}
	return again && time.Since(first) >= insistence
}

// Names reports whether the command, one of its scripts or a request of the model names d in one
// word. "cp a b c /srv/" names three files in two words each. One question after it is better than
// three while it runs.
func (r *Run) Names(d sandbox.Denial) bool {
	return slices.ContainsFunc(r.texts, func(t *named.Text) bool { return t.Exactly(d) })
}

// Denied reports whether a person denied d or a similar refusal of this command.
func (r *Run) Denied(d sandbox.Denial) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.noes, func(no sandbox.Denial) bool { return Alike(no, d) })
}

// Deny records that a person denied d.
func (r *Run) Deny(d sandbox.Denial) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noes = append(r.noes, d)
}

// Alike reports whether a no to one of them also answers the other: both have the same program and
// the same kind, or the same host.
func Alike(a, b sandbox.Denial) bool {
	if a.Kind == sandbox.KindNetwork || b.Kind == sandbox.KindNetwork {
		return a.Kind == b.Kind && slices.ContainsFunc(hosts(a), func(h string) bool { return slices.Contains(hosts(b), h) })
	}
	kind := func(d sandbox.Denial) sandbox.DenialKind {
		if d.Kind == sandbox.KindMetadata {
			return sandbox.KindWrite
		}
		return d.Kind
	}
	return kind(a) == kind(b) && a.Executable == b.Executable
}

// hosts returns the names and the address of a denied connection.
func hosts(d sandbox.Denial) (out []string) {
	for _, target := range []string{d.Target, d.Requested} {
		if h, err := sandbox.ParseHostPort(target); err == nil {
			out = append(out, strings.ToLower(h.Host))
		}
	}
	return out
}

// End records what the refusals of the run meant. passed: the command succeeded, and survived what it did not lose. cause are the
// refusals that made it fail, by the kernel's records. If a program has several patterns in cause,
// it is unknown which one mattered. For example, npm complains about its log at every failure.
func (r *Run) End(now time.Time, passed bool, denials, cause []sandbox.Denial) error {
	r.mu.Lock()
	noes := slices.Clone(r.noes)
	r.mu.Unlock()
	var lessons []Lesson
	for _, d := range cause {
		if d.Kind != sandbox.KindLoss && r.memory.alone(d, cause) { // a loss is asked about every time
			lessons = append(lessons, Lesson{Denial: d, Mattered: true})
		}
	}
	for _, d := range denials {
		if !passed || d.Moot || d.Lost || d.Kind == sandbox.KindLoss || d.Evidence != sandbox.EvidenceKernel {
			continue
		}
		said := func(no sandbox.Denial) bool {
			return no.Kind == d.Kind && path.Clean(no.Target) == path.Clean(d.Target) || Alike(no, d) && d.Kind == sandbox.KindNetwork
		}
		lessons = append(lessons, Lesson{Denial: d, Denied: slices.ContainsFunc(noes, said)})
	}
	return r.memory.Learn(now, lessons)
}

// Vain records that a run with all that it was refused failed in the same way.
func (r *Run) Vain(now time.Time, denials []sandbox.Denial) error {
	var lessons []Lesson
	for _, d := range denials {
		if !d.Moot && d.Evidence == sandbox.EvidenceKernel {
			lessons = append(lessons, Lesson{Denial: d, Denied: true})
		}
	}
	return r.memory.Learn(now, lessons)
}

// Known reports whether the memory lists all of denials as survived, and a person said no to them or a yes changed
// nothing. What a program survived otherwise may still stop it when it is all that is left.
func (r *Run) Known(denials []sandbox.Denial) bool {
	return len(denials) > 0 && !slices.ContainsFunc(denials, func(d sandbox.Denial) bool {
		e := r.memory.Of(d)
		return e.Last != Survived || e.Denied == 0
	})
}
