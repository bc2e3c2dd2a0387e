// Package answers keeps what models answered to first messages, and finds the answer to one that asks the same while
// everything that was read for it is unchanged. It sends nothing by itself: Options.Embed does. Start at Memory.Find, then
// at content (fold.go), which says when two messages ask the same.
//
// Threat: an answer is a model's text, which files of anybody may have shaped. One is shown only in the project, to the
// model, under the instructions and the policy for which it was made, so that it opens no way from one project into
// another. The file is private, and each read of it is bounded.
package answers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

	file sync.Mutex  // guards kept and seen
	kept []entry     // of the file as it was last read
	seen fs.FileInfo // nil: not read
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
	kept, err := m.load()
	m.notice(err)
	near := m.near(ctx, kept)
	for _, c := range near[:min(len(near), max(m.opt.TopK, 1))] {
		if c.score < m.opt.Threshold || c.score < 1 && content(c.text) != content(text) {
			continue
		}
		var b body
		if json.Unmarshal([]byte(c.body), &b) != nil {
			continue
		}
		if files, same := unchanged(b.Reads); same {
			return Hit{Answer: b.Answer, At: c.at, Score: c.score, Files: files}, true
		}
	}
	return hit, false
}

// candidate is an entry of the scope, and how near its message is.
type candidate struct {
	entry
	score float64
}

// near returns the entry of the same text, and else, where there is an embedding, those of the scope, the nearest first.
func (m *Memory) near(ctx context.Context, kept []entry) (out []candidate) {
	sum := digest(fold(m.text))
	for _, e := range kept {
		switch {
		case e.scope != m.scope:
		case e.sum == sum:
			return []candidate{{e, 1}}
		case e.by == m.opt.By && len(e.vector) > 0:
			out = append(out, candidate{entry: e})
		}
	}
	if m.opt.Embed == nil || len(out) == 0 || !m.embed(ctx) {
		return nil
	}
	for i := range out {
		out[i].score = math.Min(cosine(m.vector, out[i].vector), 0.999999) // not the same text
	}
	slices.SortStableFunc(out, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	return out
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
	text, err := json.Marshal(body{answer, reads})
	if !ok || err != nil {
		return
	}
	e := entry{scope: m.scope, sum: digest(fold(m.text)), at: m.now(), text: m.text, by: m.opt.By, body: string(text)}
	if m.opt.Embed != nil && (m.vector != nil || m.embed(ctx)) {
		e.vector = m.vector
	}
	m.notice(m.add(e))
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
	kept, err := m.load()
	if err != nil {
		return err
	}
	lines, size := []string{e.line()}, len(header)
	for _, o := range slices.Backward(kept) {
		if one := o.line(); o.scope != e.scope || o.sum != e.sum {
			lines = append(lines, one)
		}
	}
	most := 0
	for most < min(len(lines), maxEntries) && size+len(lines[most]) <= maxStore {
		size += len(lines[most])
		most++
	}
	lines = append(lines[:most], header)
	slices.Reverse(lines)
	return hostfile.Write(m.opt.File, []byte(strings.Join(lines, "")), 0o600)
}

// Load reads the file ahead of Find.
func (m *Memory) Load() {
	if m != nil {
		_, _ = m.load() // Find says what is wrong
	}
}

// load returns the entries of the file, which it reads if it has changed. One that is damaged is set aside.
func (m *Memory) load() (kept []entry, err error) {
	m.file.Lock()
	defer m.file.Unlock()
	info, err := hostfile.Lstat(m.opt.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && m.seen != nil && os.SameFile(info, m.seen) && info.ModTime().Equal(m.seen.ModTime()) && info.Size() == m.seen.Size():
		return m.kept, nil
	}
	var data []byte
	if err == nil {
		data, err = hostfile.Read(context.Background(), m.opt.File, maxStore)
	}
	if err == nil {
		kept, err = parse(string(data))
	}
	if large := new(hostfile.TooLargeError); errors.Is(err, errDamaged) || errors.As(err, &large) {
		aside := m.opt.File + ".damaged"
		m.notice(fmt.Errorf("%w; it is now %s", err, aside))
		return nil, hostfile.Rename(m.opt.File, aside)
	}
	if err == nil {
		m.kept, m.seen = kept, info
	}
	return kept, err
}
