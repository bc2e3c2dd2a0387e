package patterns

import (
	"encoding/json"
	"sync"
	"time"
)

// Memory is the book of a session. It is safe for concurrent use.
type Memory struct {
	project string
	mask    func(string) string
	kept    func() Book

	mu            sync.Mutex
	book          Book // nil: kept was not read yet
	fresh         []Observation
	tools, wasted time.Duration
	late          time.Duration // wasted on calls that came, but not when their run was over
}

// New returns the memory of a session in the folder project. What mask changes holds a secret, and is not learned. kept
// returns what earlier sessions left. It is called once, when the memory is used first.
func New(project string, mask func(string) string, kept func() Book) *Memory {
	return &Memory{project: project, mask: mask, kept: kept}
}

// Followed is the call that followed a step. Without a Tool none did that could run ahead. Tools is how long all calls of
// the answer took, Wasted how long what ran ahead of it, if nothing used it.
type Followed struct {
	Tool, Arguments     string
	Took, Tools, Wasted time.Duration
}

// Saw learns what followed step under skill.
func (m *Memory) Saw(step Step, skill string, f Followed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tools += f.Tools
	m.wasted += f.Wasted
	o := Observation{Key: Key{m.project, skill, step.Kind}, At: time.Now(), Took: Milliseconds(f.Took.Round(time.Millisecond).Milliseconds())}
	if f.Tool != "" {
		o.Call, _ = step.Template(f.Tool, f.Arguments) // "" predicts nothing
	}
	if step.Kind == "" || m.secret(m.project, skill, step.Kind) || o.Call != "" && m.secret(f.Arguments) {
		return
	}
	m.read()
	if m.book.Add(o); m.book[o.Key].Again {
		m.late += f.Wasted
	}
	m.fresh = append(m.fresh, o)
}

// secret reports whether the mask changes a text, or a string in one that is JSON.
func (m *Memory) secret(texts ...string) (found bool) {
	for _, text := range texts {
		found = found || m.mask(text) != text
		var v any
		if json.Unmarshal([]byte(text), &v) == nil {
			each(v, func(s string) string {
				found = found || m.mask(s) != s
				return s
			})
		}
	}
	return found
}

func (m *Memory) read() {
	if m.book == nil {
		m.book = m.kept()
	}
	if m.book == nil {
		m.book = Book{}
	}
}

// Fresh returns what was learned since the last call.
func (m *Memory) Fresh() []Observation {
	m.mu.Lock()
	defer m.mu.Unlock()
	fresh := m.fresh
	m.fresh = nil
	return fresh
}

// wasteOf is the part of the time of tools that runs without use may take: one in four.
const wasteOf = 4

// Next predicts the call that follows step under skill, and how long it takes. allowed is how long it may run ahead:
// what is not used never takes more than its part of the time that tools of this session have run. Where runs of the right
// call were of no use, as on a busy machine, that has to be twice their time, so that it is enough or is seldom tried.
func (m *Memory) Next(step Step, skill string) (tool, arguments string, took, allowed time.Duration, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read()
	p, ok := m.book.Next(Key{m.project, skill, step.Kind}, time.Now())
	if !ok {
		return "", "", 0, 0, false
	}
	took, allowed = p.Took.Duration(), m.tools/wasteOf-m.wasted
	tool, arguments, ok = step.Fill(p.Call)
	return tool, arguments, took, allowed, ok && max(took, 2*m.late) <= allowed
}
