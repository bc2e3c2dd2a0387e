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
	Path    string `json:"path"`
	Opened  bool   `json:"opened,omitempty"`
	Content string `json:"content"`
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawStdEncoding.EncodeToString(sum[:16])
}

// contentOf stands for what path holds. Of what nobody opens its state counts. The size of a file is taken from room.
func contentOf(path string, opened bool, room *int64) (string, error) {
	info, err := hostfile.Seen(path)
	if err != nil || !opened {
		state, _, err := draft.Look(path, false)
		return digest(state), err
	}
	if info.IsDir() {
		list, err := hostfile.ReadDir(path, maxListed)
		var names []string
		for _, e := range list {
			names = append(names, fmt.Sprintf("%q %v", e.Name(), e.Type()))
		}
		slices.Sort(names)
		return digest(strings.Join(names, "\n")), err
	}
	data, err := hostfile.Read(context.Background(), path, min(maxFile, max(*room, 0)))
	*room -= int64(len(data))
	return "file " + digest(string(data)), err
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
	state, changed, err := draft.Look(path, opened)
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
	now, _, err := draft.Look(path, l.opened)
	return err != nil || now != l.state
}

// seal returns what the turn read; false: something of it has changed, or is too much.
func seal(looks map[string]look) (out []read, ok bool) {
	room := int64(maxBytes)
	for path, l := range looks {
		content, err := contentOf(path, l.opened, &room)
		if err != nil || l.changed(path) {
			return nil, false
		}
		out = append(out, read{path, l.opened, content})
	}
	return out, true
}

// unchanged reports whether everything is as it was read, and how many files that are.
func unchanged(all []read) (files int, ok bool) {
	room := int64(maxBytes)
	for _, r := range all {
		if now, err := contentOf(r.Path, r.Opened, &room); err != nil || now != r.Content {
			return 0, false
		}
		if strings.HasPrefix(r.Content, "file ") {
			files++
		}
	}
	return files, true
}
