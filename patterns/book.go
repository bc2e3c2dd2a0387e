// Package patterns predicts the next call of a model: after the same kind of step it is often the same call, with
// texts of the step before it. Book learns and predicts, without IO. Memory is the book of a session.
//
// Threat: calls come from a model, and texts in them from files of anybody. A prediction grants nothing: the call that
// it names runs as far as it would without a question, on a draft, and is kept only if the model makes the same call.
package patterns

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"time"
)

// A pattern counts half after halfLife, and is forgotten when it was not seen for maxAge.
const halfLife, maxAge = 14 * 24 * time.Hour, 30 * 24 * time.Hour

// A call is predicted if the last leastSeen predictions or more were right as often as leastBound at least, by the lower
// bound of Wilson with z: with 95 % confidence.
const leastSeen, leastBound, z = 5, 0.5, 1.645

// maxWaste is the share of the time of tools that runs without use may take.
const maxWaste = 0.25

// Key is where a pattern holds: in a folder, under a skill or "", after a kind of step.
type Key struct {
	Project string `json:"project"`
	Skill   string `json:"skill,omitempty"`
	Step    string `json:"step"`
}

// Pattern is what came after a kind of step.
type Pattern struct {
	Key
	// Call is the template of the last call; "": no call followed.
	Call string `json:"call,omitempty"`
	// Seen counts how often something followed that could be predicted, N and Right the same by age: N in all, Right
	// when it was Call.
	Seen  int     `json:"seen"`
	N     float64 `json:"n"`
	Right float64 `json:"right"`
	// Took is how long the call took.
	Took Milliseconds `json:"took_ms"`
	At   time.Time    `json:"at"`
}

// Milliseconds is a duration in JSON.
type Milliseconds int64

// Duration returns it.
func (m Milliseconds) Duration() time.Duration { return time.Duration(m) * time.Millisecond }

// Bound is the lower bound of Wilson for the share of predictions that are right.
func (p Pattern) Bound() float64 {
	if p.N <= 0 {
		return 0
	}
	share, zz := p.Right/p.N, z*z
	return (share + zz/(2*p.N) - z*math.Sqrt(share*(1-share)/p.N+zz/(4*p.N*p.N))) / (1 + zz/p.N)
}

// Predicts reports whether the call is to run ahead.
func (p Pattern) Predicts(now time.Time) bool {
	return p.Call != "" && p.Seen >= leastSeen && p.Bound() >= leastBound && now.Sub(p.At) <= maxAge
}

// Observation is what followed a step once: a line of the journal.
type Observation struct {
	Key
	At   time.Time    `json:"at"`
	Call string       `json:"call,omitempty"`
	Took Milliseconds `json:"took_ms,omitempty"`
	// Tools is how long all calls of the answer took, Wasted how long runs ahead of it that nothing used.
	Tools  Milliseconds `json:"tools_ms,omitempty"`
	Wasted Milliseconds `json:"wasted_ms,omitempty"`
}

// Book is patterns, and what they cost. Its zero value is empty.
type Book struct {
	patterns      map[Key]Pattern
	tools, wasted float64 // in milliseconds, by age
	at            time.Time
}

// half is what counts of something after age.
func half(age time.Duration) float64 { return math.Exp2(-max(0, age.Hours()) / halfLife.Hours()) }

// Add adds o.
func (b *Book) Add(o Observation) {
	if b.patterns == nil {
		b.patterns = map[Key]Pattern{}
	}
	b.age(o.At)
	b.tools += float64(o.Tools)
	b.wasted += float64(o.Wasted)
	p, known := b.patterns[o.Key]
	if known && o.At.Sub(p.At) > maxAge {
		p, known = Pattern{}, false
	}
	if known {
		left := half(o.At.Sub(p.At))
		p.Seen, p.N, p.Right = p.Seen+1, p.N*left+1, p.Right*left
		if p.Call == o.Call {
			p.Right++
		}
	}
	p.Key, p.Call, p.Took, p.At = o.Key, o.Call, o.Took, o.At
	b.patterns[o.Key] = p
}

func (b *Book) age(now time.Time) {
	left := half(now.Sub(b.at))
	b.tools, b.wasted = b.tools*left, b.wasted*left
	if now.After(b.at) {
		b.at = now
	}
}

// Next returns the pattern of k, if it predicts a call.
func (b *Book) Next(k Key, now time.Time) (Pattern, bool) {
	p, ok := b.patterns[k]
	return p, ok && p.Predicts(now)
}

// Allowance is how long a run may take that nothing uses.
func (b *Book) Allowance(now time.Time) time.Duration {
	b.age(now)
	return time.Duration((b.tools*maxWaste - b.wasted) * float64(time.Millisecond))
}

// Patterns returns those that are not forgotten, the latest first.
func (b *Book) Patterns(now time.Time) []Pattern {
	list := slices.DeleteFunc(slices.Collect(maps.Values(b.patterns)), func(p Pattern) bool { return now.Sub(p.At) > maxAge })
	slices.SortFunc(list, func(a, b Pattern) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Project, b.Project), cmp.Compare(a.Skill, b.Skill), cmp.Compare(a.Step, b.Step))
	})
	return list
}

// MaxSnapshot bounds a snapshot, in bytes.
const MaxSnapshot = 64 << 10

// snapshot is a Book in a file.
type snapshot struct {
	Version  int       `json:"version"`
	At       time.Time `json:"at"`
	Tools    float64   `json:"tools_ms"`
	Wasted   float64   `json:"wasted_ms"`
	Patterns []Pattern `json:"patterns"`
}

// Snapshot returns the latest patterns as JSON of at most MaxSnapshot.
func (b *Book) Snapshot(now time.Time) []byte {
	b.age(now)
	s := snapshot{Version: 1, At: now, Tools: b.tools, Wasted: b.wasted, Patterns: b.Patterns(now)}
	for {
		data, err := json.Marshal(s)
		if err == nil && len(data) <= MaxSnapshot {
			return data
		}
		s.Patterns = s.Patterns[:len(s.Patterns)*9/10] // without patterns it fits
	}
}

// Read returns the book in a snapshot.
func Read(data []byte) (*Book, error) {
	var s snapshot
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	if s.Version != 1 || !(s.Tools >= 0) || !(s.Wasted >= 0) {
		return nil, errors.New("it has another version, or is damaged")
	}
	b := &Book{patterns: map[Key]Pattern{}, tools: s.Tools, wasted: s.Wasted, at: s.At}
	for _, p := range s.Patterns {
		if p.Seen < 0 || !(p.N >= 0) || !(p.Right >= 0) || p.Right > p.N || p.Took < 0 {
			return nil, errors.New("a pattern is damaged")
		}
		b.patterns[p.Key] = p
	}
	return b, nil
}
