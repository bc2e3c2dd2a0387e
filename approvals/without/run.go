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

// A refused call is worth a question only if there is reason to think that it matters:
//
//	a file or socket   the command, a script that it names, or the model's request names it; or the
//	                   memory says that the program was stopped by such a refusal
//	a host             the first contact of a program with it; or the command names it
//
// What a program survived a no to is not asked about again, nor is what a person said no to in
// the same command. Everything else fails at once. If the command fails for it, one question
// then offers all that it lacked (approvals.Gate.AfterDenial).

const (
	// maxScripts bounds the files that are read because a command names them, and maxLooked the
	// names that are looked at.
	maxScripts, maxLooked = 8, 64
	scriptPatience        = 200 * time.Millisecond
)

// Command is what is about to run.
type Command struct {
	// Text is the command line, and Folder where it starts.
	Text, Folder string
	// Wishes are what the model asked for in this turn: paths, hosts and justifications.
	Wishes []string
	// Roots are the folders whose files the command may run: its workspace.
	Roots []string
}

// Run judges the refusals of one command. It is safe for concurrent use.
type Run struct {
	memory *Memory
	texts  []*named.Text

	mu   sync.Mutex
	noes []sandbox.Denial // what a person said no to; guarded by mu
}

// Begin reads what a command names. A nil Memory judges by that alone.
func (m *Memory) Begin(ctx context.Context, c Command) *Run {
	m.Refresh()
	home := ""
	if m != nil {
		home = m.home
	}
	resolve := func(p string) string {
		to, err := sandbox.Canonical(hostfile.OS{}, "/", p)
		if err != nil {
			return ""
		}
		return to
	}
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
		// A file that is no text, or that a link leads to, is no script.
		data, err := hostfile.ReadStart(ctx, p, named.MaxText)
		if err == nil && !bytes.ContainsRune(data, 0) {
			r.texts = append(r.texts, read(string(data)))
			scripts++
		}
	}
	return r
}

// Unasked returns the Run of a command about which nobody can be asked.
func (m *Memory) Unasked() *Run { return &Run{memory: m} }

// Asks reports whether d is worth a question now.
func (r *Run) Asks(d sandbox.Denial) bool {
	if r.Denied(d) {
		return false
	}
	e, names := r.memory.Of(d), r.Names(d)
	switch {
	case names:
		return e.Last != Survived || e.Denied == 0
	case d.Kind == sandbox.KindNetwork:
		return e.Last != Survived && !nowhere(d.Target)
	}
	return e.Last == Mattered
}

// Names reports whether the command, a script of it or a request of the model names d in one
// word. "cp a b c /srv/" names three files in two words each: one question after it is better
// than three on the way.
func (r *Run) Names(d sandbox.Denial) bool {
	return slices.ContainsFunc(r.texts, func(t *named.Text) bool { return t.Exactly(d) })
}

// nowhere reports a name that never exists (RFC 6761), so that looking it up fails anyway.
func nowhere(target string) bool {
	h, err := sandbox.ParseHostPort(target)
	return err == nil && strings.HasSuffix(strings.ToLower(h.Host), ".invalid")
}

// Denied reports whether a person said no to d, or to the like of it.
func (r *Run) Denied(d sandbox.Denial) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.noes, func(no sandbox.Denial) bool { return Alike(no, d) })
}

// Deny notes that a person said no to d.
func (r *Run) Deny(d sandbox.Denial) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noes = append(r.noes, d)
}

// Alike reports whether a no to one of them answers the other too: the same program and the same
// kind, or the same host.
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

// hosts are the names and the address of a denied connection.
func hosts(d sandbox.Denial) (out []string) {
	for _, target := range []string{d.Target, d.Requested} {
		if h, err := sandbox.ParseHostPort(target); err == nil {
			out = append(out, strings.ToLower(h.Host))
		}
	}
	return out
}

// End remembers what the refusals of the run meant. passed: the command succeeded. cause are
// refusals that certainly made it fail. The refusals are the kernel's. Of several patterns of one
// program it is not known which mattered: npm complains about its log in each failure.
func (r *Run) End(now time.Time, passed bool, denials, cause []sandbox.Denial) error {
	r.mu.Lock()
	noes := slices.Clone(r.noes)
	r.mu.Unlock()
	var lessons []Lesson
	for _, d := range cause {
		if d.Kind != sandbox.KindLoss && r.memory.alone(d, cause) { // a loss is asked about each time
			lessons = append(lessons, Lesson{Denial: d, Mattered: true})
		}
	}
	for _, d := range denials {
		if !passed || d.Moot || d.Kind == sandbox.KindLoss || d.Evidence != sandbox.EvidenceKernel {
			continue
		}
		said := func(no sandbox.Denial) bool {
			return no.Kind == d.Kind && path.Clean(no.Target) == path.Clean(d.Target) || Alike(no, d) && d.Kind == sandbox.KindNetwork
		}
		lessons = append(lessons, Lesson{Denial: d, Denied: slices.ContainsFunc(noes, said)})
	}
	return r.memory.Learn(now, lessons)
}

// Known reports whether all of denials are remembered as survived.
func (r *Run) Known(denials []sandbox.Denial) bool {
	return len(denials) > 0 && !slices.ContainsFunc(denials, func(d sandbox.Denial) bool { return r.memory.Of(d).Last != Survived })
}
