package patterns

import (
	"sync"
	"time"
)

// Memory is the book of a session. It is safe for concurrent use.
type Memory struct {
	project string
	mask    func(string) string

	mu   sync.Mutex
	book Book
}

// New returns the memory of a session in the folder project. What mask changes holds a secret, and is not learned.
func New(project string, mask func(string) string) *Memory {
	return &Memory{project: project, mask: mask}
}

// Followed is the call that followed a step, and what all calls of its answer cost. Without a Tool none did.
type Followed struct {
	Tool, Arguments     string
	Took, Tools, Wasted time.Duration
}

// Saw learns what followed step under skill.
func (m *Memory) Saw(step Step, skill string, f Followed) {
	ms := func(d time.Duration) Milliseconds { return Milliseconds(d.Round(time.Millisecond).Milliseconds()) }
	o := Observation{Key: Key{m.project, skill, step.Kind}, At: time.Now(), Took: ms(f.Took), Tools: ms(f.Tools), Wasted: ms(f.Wasted)}
	if f.Tool != "" && step.Kind != "" {
		o.Call, _ = step.Template(f.Tool, f.Arguments) // "" predicts nothing
	}
	if text := o.Step + "\n" + o.Call; m.mask(text) != text {
		o.Step, o.Call = "", "" // what it cost counts
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.book.Add(o)
}

// Next predicts the call that follows step under skill, and how long it takes. allowed is how long it may run ahead.
func (m *Memory) Next(step Step, skill string) (tool, arguments string, took, allowed time.Duration, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	p, ok := m.book.Next(Key{m.project, skill, step.Kind}, now)
	if !ok {
		return "", "", 0, 0, false
	}
	took, allowed = p.Took.Duration(), m.book.Allowance(now)
	tool, arguments, ok = step.Fill(p.Call)
	return tool, arguments, took, allowed, ok && took <= allowed
}
