// Package patterns predicts the next call of a model: after the same kind of step it is often the same call, with
// texts of the step before it. Book learns and predicts, without IO. Memory is the book of a session. Earlier sessions
// left a snapshot, which the side program makes of their journals (patterns/store).
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
	"sort"
	"time"
)

// A pattern counts half after halfLife, and is forgotten when it was not seen for MaxAge.
const halfLife, MaxAge = 14 * 24 * time.Hour, 30 * 24 * time.Hour

// A call is predicted if the last leastSeen predictions or more were right as often as leastBound at least, by the lower
// bound of Wilson with z: with 95 % confidence.
const leastSeen, leastBound, z = 5, 0.5, 1.645

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
	// Again: what came last was Call already. Else a habit was left, or a new one begins.
	Again bool `json:"again"`
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
	return max(0, share+zz/(2*p.N)-z*math.Sqrt(share*(1-share)/p.N+zz/(4*p.N*p.N))) / (1 + zz/p.N)
}

// Predicts reports whether the call is to run ahead.
func (p Pattern) Predicts(now time.Time) bool {
	return p.Call != "" && p.Again && p.Seen >= leastSeen && p.Bound() >= leastBound && now.Sub(p.At) <= MaxAge
}

// Observation is what followed a step once: a line of the journal.
type Observation struct {
	Key
	At   time.Time    `json:"at"`
	Call string       `json:"call,omitempty"`
	Took Milliseconds `json:"took_ms,omitempty"`
}

// Add returns p with o, which has its key. p may be zero.
func (p Pattern) Add(o Observation) Pattern {
	age := o.At.Sub(p.At)
	if age > MaxAge {
		return Pattern{Key: o.Key, Call: o.Call, Took: o.Took, At: o.At}
	}
	left := math.Exp2(-max(0, age.Hours()) / halfLife.Hours())
	p.Seen, p.N, p.Right, p.Again = p.Seen+1, p.N*left+1, p.Right*left, p.Call == o.Call
	if p.Again {
		p.Right++
	}
	p.Call, p.Took, p.At = o.Call, o.Took, o.At
	return p
}

// Book is patterns. A nil Book has none.
type Book map[Key]Pattern

// Add adds o.
func (b Book) Add(o Observation) { b[o.Key] = b[o.Key].Add(o) }

// Next returns the pattern of k, if it predicts a call.
func (b Book) Next(k Key, now time.Time) (Pattern, bool) {
	p, ok := b[k]
	return p, ok && p.Predicts(now)
}

// Patterns returns those that are not forgotten, the latest first.
func (b Book) Patterns(now time.Time) []Pattern {
	list := slices.DeleteFunc(slices.Collect(maps.Values(b)), func(p Pattern) bool { return now.Sub(p.At) > MaxAge })
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Project, b.Project), cmp.Compare(a.Skill, b.Skill), cmp.Compare(a.Step, b.Step)) < 0
	})
	return list
}

// Journal and SnapshotFile are files in the folder of the memory: codeagent adds a line to the journal for each
// observation, and the side program makes the snapshot of it.
const Journal, SnapshotFile = "journal.jsonl", "snapshot.json"

// Forget begins the argument by which the side program forgets a project.
const Forget = "forget="

// MaxSnapshot and MaxJournal bound them, in bytes. A journal of FoldFrom bytes is worth a run of the side program.
const MaxSnapshot, MaxJournal, FoldFrom = 64 << 10, 1 << 20, 1 << 10

// Snapshot is the patterns that the side program leaves for codeagent.
type Snapshot struct {
	Version  int       `json:"version"`
	Patterns []Pattern `json:"patterns"`
	// Notice is what the person is to know about the store, or "".
	Notice string `json:"notice,omitempty"`
}

// version is that of the snapshot and the journal.
const version = 1

// Encode returns the snapshot of b as JSON of at most MaxSnapshot, with the latest patterns.
func (b Book) Encode(now time.Time, notice string) []byte {
	s := Snapshot{Version: version, Patterns: b.Patterns(now), Notice: notice}
	for {
		data, err := json.Marshal(s)
		if err == nil && len(data) <= MaxSnapshot {
			return data
		}
		s.Patterns = s.Patterns[:len(s.Patterns)*9/10] // without patterns it fits
	}
}

// Decode returns the book in a snapshot, and its notice.
func Decode(data []byte) (b Book, notice string, err error) {
	var s Snapshot
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, "", err
	}
	if s.Version != version {
		return nil, "", errors.New("it has another version")
	}
	b = Book{}
	for _, p := range s.Patterns {
		if p.Seen < 0 || !(p.N >= 0) || !(p.Right >= 0) || p.Right > p.N || p.Took < 0 {
			return nil, "", errors.New("a pattern is damaged")
		}
		b[p.Key] = p
	}
	return b, s.Notice, nil
}
