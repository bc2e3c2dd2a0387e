// Package answers keeps what models answered to first messages, and finds the answer to one that asks the same while
// everything that was read for it is unchanged. It sends nothing by itself: Options.Embed does. Start at Memory.Find, then
// at content (fold.go), which says when two messages ask the same.
//
// Threat: an answer is a model's text, which files of anybody may have shaped. One is shown only in the project, to the
// model, under the instructions and the policy for which it was made, so that it opens no way from one project into
// another. The file is private, and each read of it is bounded.
package answers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"codeagent/hostfile"
)

const (
	// maxEntries and maxStore bound the file, maxText a message and its answer, maxVector the numbers of an embedding.
	maxEntries, maxStore = 200, 16 << 20
	maxText, maxAnswer   = 8 << 10, 128 << 10
	maxVector            = 8192
	// patience bounds the wait for an embedding.
	patience = 5 * time.Second
)

// Scope is where an answer holds. In another scope it does not exist.
type Scope struct {
	Project, Model, Agent string
	// Instructions are all that a request has beside the conversation, Policy is what calls may touch.
	Instructions, Policy string
}

func (s Scope) key() string {
	text, _ := json.Marshal(s) // strings alone
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Hit is an answer that was kept.
type Hit struct {
	Answer string
	At     time.Time
	// Score is the cosine of the messages, 1 for the same text. Files counts the files that were read for it.
	Score float64
	Files int
}

// Options configures a Memory.
type Options struct {
	// File is the absolute path of the file in codeagent's own folder.
	File string
	// Mask changes a text that holds a secret.
	Mask func(string) string
	// Embed returns the embedding of a text by the model By; nil: only the same text hits.
	Embed func(ctx context.Context, text string) ([]float32, error)
	By    string
	// Threshold is the least cosine of a hit. TopK bounds how many of a scope are compared, the nearest first.
	Threshold float64
	TopK      int
	// Notice tells the person what went wrong, once.
	Notice func(string)
}

// Memory finds and keeps the answer to the first message of a session. Nil finds and keeps none. It is safe for
// concurrent use.
type Memory struct {
	opt Options
	now func() time.Time

	mu sync.Mutex
	// scope, text and vector are of the message that is being answered. reads is nil while nothing is to be kept.
	scope, text string
	vector      []float32
	reads       map[string]look
	failed      atomic.Bool

	file   sync.Mutex // guards the following
	kept   []entry    // of the file, as it was read once
	loaded bool
}

// New returns a memory. It reads nothing before Find.
func New(o Options) *Memory { return &Memory{opt: o, now: time.Now} }

// notice shows err, once.
func (m *Memory) notice(err error) {
	if err != nil && !m.failed.Swap(true) {
		m.opt.Notice("earlier answers: " + err.Error())
	}
}

// Find looks for the answer to text, the first message of a session in scope s. From here on what tools look up belongs
// to that message, until Keep or Forget. again: the person wants another answer.
func (m *Memory) Find(ctx context.Context, s Scope, text string, again bool) (hit Hit, ok bool) {
	m.Forget()
	if m == nil || len(text) > maxText || m.opt.Mask(text) != text || fold(text) == "" {
		return hit, false
	}
	m.mu.Lock()
	m.scope, m.text, m.vector, m.reads = s.key(), text, nil, map[string]look{}
	m.mu.Unlock()
	if again {
		return hit, false
	}
	m.Load()
	for _, e := range m.near(ctx) {
		if e.score < m.opt.Threshold || e.score < 1 && content(e.Text) != content(text) {
			continue
		}
		if files, same := unchanged(e.Reads); same {
			return Hit{Answer: e.Answer, At: e.At, Score: e.score, Files: files}, true
		}
	}
	return hit, false
}

// near returns the entry of the same text, and else, where there is an embedding, the nearest of the scope.
func (m *Memory) near(ctx context.Context) (out []entry) {
	sum := digest(fold(m.text))
	for _, e := range m.kept {
		if e.Scope != m.scope {
			continue
		}
		if e.Sum == sum {
			e.score = 1
			return []entry{e}
		}
		if e.By == m.opt.By && len(e.Vector) > 0 {
			out = append(out, e)
		}
	}
	if m.opt.Embed == nil || len(out) == 0 || !m.embed(ctx) {
		return nil
	}
	for i, e := range out {
		out[i].score = math.Min(cosine(m.vector, e.Vector), 0.999999) // not the same text
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].score > out[j].score })
	return out[:min(len(out), max(m.opt.TopK, 1))]
}

// embed sets the vector of the message.
func (m *Memory) embed(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v, err := m.opt.Embed(ctx, m.text)
	if err == nil && !normalise(v) {
		err = errors.New("the provider's embedding is not usable")
	}
	if err != nil {
		m.notice(err)
		return false
	}
	m.vector = v
	return true
}

// normalise gives v the length 1; false: it has none, or is too long.
func normalise(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if len(v) > maxVector || !(sum > 0) || math.IsInf(sum, 0) {
		return false
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return true
}

// cosine compares two vectors of the length 1.
func cosine(a, b []float32) (sum float64) {
	if len(a) != len(b) {
		return 0
	}
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}

// Forget has nothing kept of the message that is being answered: something happened that no file shows.
func (m *Memory) Forget() {
	if m != nil {
		m.mu.Lock()
		m.reads = nil
		m.mu.Unlock()
	}
}

// Keep keeps the answer to the message of Find, unless a secret is in it or something that was read has changed.
func (m *Memory) Keep(ctx context.Context, answer string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	looks := m.reads
	m.reads = nil
	m.mu.Unlock()
	if looks == nil || len(answer) > maxAnswer || m.opt.Mask(answer) != answer {
		return
	}
	reads, ok := seal(looks)
	if !ok {
		return
	}
	e := entry{Scope: m.scope, Sum: digest(fold(m.text)), Text: m.text, By: m.opt.By, At: m.now(), Answer: answer, Reads: reads}
	if m.opt.Embed != nil && (m.vector != nil || m.embed(ctx)) {
		e.Vector = m.vector
	}
	m.notice(m.add(e))
}

// entry is an answer in the file.
type entry struct {
	Scope  string    `json:"scope"`
	Sum    string    `json:"sum"` // of the folded text
	Text   string    `json:"text"`
	By     string    `json:"by,omitempty"`
	Vector []float32 `json:"vector,omitempty"`
	At     time.Time `json:"at"`
	Answer string    `json:"answer"`
	Reads  []read    `json:"reads,omitempty"`
	score  float64
}

// store is the file: its entries, the oldest first.
type store struct {
	Version int     `json:"version"`
	Entries []entry `json:"entries"`
}

// add writes e in place of an answer to the same message, and drops the oldest entries beyond the bounds.
func (m *Memory) add(e entry) error {
	dir := filepath.Dir(m.opt.File)
	if err := hostfile.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	unlock, err := hostfile.Lock(dir)
	if err != nil {
		return err
	}
	defer unlock()
	kept, err := m.read()
	if err != nil {
		return err
	}
	kept = append(slices.DeleteFunc(kept, func(o entry) bool { return o.Scope == e.Scope && o.Sum == e.Sum }), e)
	for drop := max(0, len(kept)-maxEntries); ; drop = len(kept)/20 + 1 {
		kept = kept[drop:]
		data, err := json.Marshal(store{1, kept})
		if err != nil {
			return err
		}
		if len(data) <= maxStore {
			return hostfile.Write(m.opt.File, data, 0o600)
		}
	}
}

// Load reads the file, ahead of Find or as a part of it.
func (m *Memory) Load() {
	if m == nil {
		return
	}
	m.file.Lock()
	defer m.file.Unlock()
	if !m.loaded {
		var err error
		m.kept, err = m.read()
		m.loaded = true
		m.notice(err)
	}
}

// read reads the file. One that is damaged is set aside.
func (m *Memory) read() ([]entry, error) {
	data, err := hostfile.Read(context.Background(), m.opt.File, maxStore)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var s store
	large := new(hostfile.TooLargeError)
	if err == nil && (json.Unmarshal(data, &s) != nil || s.Version != 1 || len(s.Entries) > maxEntries) || errors.As(err, &large) {
		aside := m.opt.File + ".damaged"
		m.notice(errors.New("the file is damaged, or of another version; it is now " + aside))
		return nil, hostfile.Rename(m.opt.File, aside)
	}
	return s.Entries, err
}
