package answers

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"codeagent/draft"
	"codeagent/hostfile"
	"codeagent/sandbox"
)

const (
	// maxReads bounds the names that a turn looked up, maxFile the size of one that is compared, maxBytes that of all.
	maxReads, maxFile, maxBytes = 4000, 16 << 20, 64 << 20
	maxListed                   = 200_000
	// tick is longer than the steps of the clock by which a file system notes changes.
	tick = 10 * time.Millisecond
)

// read is a name that a turn looked up, and what was there.
type read struct {
	Path string `json:"p"`
	// State changes with each change of the entry. Content stands for what the entry holds, "" if nobody opened it, and
	// begins with its type.
	State   string `json:"s"`
	Content string `json:"c,omitempty"`
}

func (r read) file() bool { return strings.HasPrefix(r.Content, "f") }

// stateOf is draft.Look, short.
func stateOf(path string, opened bool) (state string, changed time.Time, err error) {
	state, changed, err = draft.Look(path, opened)
	return digest(state), changed, err
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawStdEncoding.EncodeToString(sum[:16])
}

// contentOf reads what path holds, and takes its size from room.
func contentOf(path string, room *int64) (string, error) {
	info, err := hostfile.Seen(path)
	switch {
	case err != nil:
		return "-", nil // its state says what there is
	case info.IsDir():
		list, err := hostfile.ReadDir(path, maxListed)
		var names []string
		for _, e := range list {
			names = append(names, fmt.Sprintf("%q %v", e.Name(), e.Type()))
		}
		slices.Sort(names)
		return "d" + digest(strings.Join(names, "\n")), err
	}
	data, err := hostfile.Read(context.Background(), path, min(maxFile, max(*room, 0)))
	*room -= int64(len(data))
	return "f" + digest(string(data)), err
}

// Looked records that a tool of the turn is about to look up path, and whether it opens it.
func (m *Memory) Looked(path string, opened bool) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before, known := m.reads[path]
	if m.reads == nil || known && (before.opened || !opened) {
		return
	}
	state, changed, err := stateOf(path, opened)
	if err != nil || len(m.reads) >= maxReads || !utf8.ValidString(path) || sandbox.CoveredBy([]string{"/proc", "/sys", "/dev"}, path) ||
		changed.After(m.now().Add(-tick)) || known && before.changed(path) {
		m.reads = nil // what was read is not known
		return
	}
	m.reads[path] = look{state, opened}
}

// look is what Looked saw.
type look struct {
	state  string
	opened bool
}

func (l look) changed(path string) bool {
	now, _, err := stateOf(path, l.opened)
	return err != nil || now != l.state
}

// seal returns what the turn read; false: something of it has changed, or is too much.
func seal(looks map[string]look) (out []read, ok bool) {
	room := int64(maxBytes)
	for path, l := range looks {
		r := read{Path: path, State: l.state}
		if l.opened {
			var err error
			if r.Content, err = contentOf(path, &room); err != nil {
				return nil, false
			}
		}
		if l.changed(path) {
			return nil, false
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b read) int { return strings.Compare(a.Path, b.Path) })
	return out, true
}

// unchanged reports whether everything is as it was read, and how many files that are.
func unchanged(all []read) (files int, ok bool) {
	room := int64(maxBytes)
	for _, r := range all {
		if r.file() {
			files++
		}
		state, _, err := stateOf(r.Path, r.Content != "")
		if err == nil && state == r.State {
			continue
		}
		// A file that was written again may have the same content.
		if now, err := contentOf(r.Path, &room); len(r.Content) < 2 || err != nil || now != r.Content {
			return 0, false
		}
	}
	return files, true
}
