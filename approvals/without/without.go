// Package without remembers, for one user, which refusals of the sandbox a program survives and
// which stop it. It only decides whether a person is asked: it opens nothing, and a command can
// teach it only about its own programs, because it learns from the kernel's records and exit
// statuses. It writes one file of codeagent's own folder. Start at Memory.
package without

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"codeagent/hostfile"
	"codeagent/sandbox"
)

const (
	// maxEntries limits the memory, and maxLessons the entries that one command adds.
	maxEntries, maxLessons = 1000, 32
	maxFile                = 2 << 20
	maxWord                = 1024
)

// Outcome is what the latest refusal meant for a program.
type Outcome string

const (
	// Unknown: nothing is remembered.
	Unknown Outcome = ""
	// Survived: the command succeeded without it.
	Survived Outcome = "survived"
	// Mattered: the command failed because of it.
	Mattered Outcome = "mattered"
)

// Entry is the memory of one program and one pattern of targets.
type Entry struct {
	// Program is the executable as the kernel reported it.
	Program string             `json:"program"`
	Kind    sandbox.DenialKind `json:"kind"`
	// Target is a pattern (see Pattern).
	Target string `json:"target"`
	// Last is what the latest refusal meant, and When is its time.
	Last Outcome   `json:"last"`
	When time.Time `json:"when"`
	// Survived and Mattered count commands. Denied counts those commands of Survived in which a person
	// said no, or a yes changed nothing.
	Survived int `json:"survived,omitempty"`
	Mattered int `json:"mattered,omitempty"`
	Denied   int `json:"denied,omitempty"`
}

// ID is a short name of the entry, the same in every process.
func (e Entry) ID() string {
	sum := sha256.Sum256([]byte(e.Program + "\x00" + string(e.Kind) + "\x00" + e.Target))
	return "w-" + hex.EncodeToString(sum[:4])
}

func (e Entry) same(o Entry) bool {
	return e.Program == o.Program && e.Kind == o.Kind && e.Target == o.Target
}

// Lesson is what one refusal meant for a finished command.
type Lesson struct {
	Denial sandbox.Denial
	// Mattered: the command failed because of it. Otherwise it succeeded without it.
	Mattered bool
	// Denied: a person denied it, or a yes changed nothing.
	Denied bool
}

// Memory holds the remembered entries. It is safe for concurrent use. Several processes may share
// its file. A nil Memory remembers nothing.
type Memory struct {
	file, home string

	writing sync.Mutex // held while the file changes; locked before mu, so that Of does not wait
	mu      sync.Mutex
	entries []Entry     // guarded by mu
	read    fs.FileInfo // the file as last read; nil: absent; guarded by mu
}

// Open reads the memory in file, an absolute path in codeagent's own folder. An absent file is an
// empty memory. After an error the memory is empty, and records nothing until it is cleared.
func Open(file, home string) (*Memory, error) {
	m := &Memory{file: file, home: home}
	return m, m.load()
}

// load reads the file, if it has changed.
func (m *Memory) load() error {
	info, err := hostfile.Lstat(m.file)
	if errors.Is(err, fs.ErrNotExist) {
		m.entries, m.read = nil, nil
		return nil
	}
	if err == nil && m.read != nil && info.ModTime().Equal(m.read.ModTime()) && info.Size() == m.read.Size() {
		return nil
	}
	var data []byte
	if err == nil {
		data, err = hostfile.Read(context.Background(), m.file, maxFile)
	}
	var list []Entry
	if err == nil {
		list, err = decode(data)
	}
	if err != nil {
		m.entries, m.read = nil, nil
		return fmt.Errorf("memory of refusals (%s): %w", m.file, err)
	}
	m.entries, m.read = list, info
	return nil
}

type document struct {
	Version int     `json:"version"`
	Entries []Entry `json:"entries"`
}

func decode(data []byte) ([]Entry, error) {
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	if d.Version != 1 {
		return nil, fmt.Errorf("version %d is not known", d.Version)
	}
	for _, e := range d.Entries {
		if e.Program == "" || len(e.Program) > maxWord || len(e.Target) > maxWord || e.Last != Survived && e.Last != Mattered {
			return nil, errors.New("an entry is damaged")
		}
	}
	return d.Entries, nil
}

// Of returns the entry for d.
func (m *Memory) Of(d sandbox.Denial) Entry {
	if m == nil {
		return Entry{}
	}
	key, ok := m.key(d)
	if !ok {
		return Entry{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.IndexFunc(m.entries, key.same); i >= 0 {
		return m.entries[i]
	}
	return Entry{}
}

// alone reports whether d alone can explain why its program failed: cause has no other pattern of
// that program, apart from patterns that it is known to survive.
func (m *Memory) alone(d sandbox.Denial, cause []sandbox.Denial) bool {
	key, ok := m.key(d)
	others := 0
	for _, c := range cause {
		other, known := m.key(c)
		if known && other.Program == key.Program && !other.same(key) && m.Of(c).Last != Survived {
			others++
		}
	}
	return ok && others == 0
}

// Refresh reads what other processes have added.
func (m *Memory) Refresh() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = m.load() // Learn reports a damaged file
}

// List returns all entries, the latest first.
func (m *Memory) List() []Entry {
	if m == nil {
		return nil
	}
	m.Refresh()
	m.mu.Lock()
	defer m.mu.Unlock()
	out := slices.Clone(m.entries)
	sort.SliceStable(out, func(i, j int) bool { return out[i].When.After(out[j].When) })
	return out
}

// Clear removes the entries with these IDs, or all without IDs. It returns how many it removed.
func (m *Memory) Clear(ids ...string) (forgotten int, err error) {
	if m == nil {
		return 0, nil
	}
	err = m.change(len(ids) == 0, func(list []Entry) []Entry {
		return slices.DeleteFunc(list, func(e Entry) bool {
			gone := len(ids) == 0 || slices.Contains(ids, e.ID())
			if gone {
				forgotten++
			}
			return gone
		})
	})
	return forgotten, err
}

// Learn records what the refusals of one command meant.
func (m *Memory) Learn(now time.Time, lessons []Lesson) error {
	if m == nil {
		return nil
	}
	var keyed []Entry
	for _, l := range lessons {
		key, ok := m.key(l.Denial)
		if !ok || len(keyed) == maxLessons {
			continue
		}
		key.When, key.Last, key.Survived = now, Survived, 1
		if l.Mattered {
			key.Last, key.Survived, key.Mattered = Mattered, 0, 1
		} else if l.Denied {
			key.Denied = 1
		}
		switch i := slices.IndexFunc(keyed, key.same); {
		case i < 0:
			keyed = append(keyed, key)
		case key.Last == Mattered || keyed[i].Last == Survived && key.Denied > 0:
			keyed[i] = key // one lesson per entry and command; Mattered takes precedence
		}
	}
	if len(keyed) == 0 {
		return nil
	}
	return m.change(false, func(list []Entry) []Entry {
		for _, e := range keyed {
			if i := slices.IndexFunc(list, e.same); i >= 0 {
				e.Survived, e.Mattered, e.Denied = e.Survived+list[i].Survived, e.Mattered+list[i].Mattered, e.Denied+list[i].Denied
				list = slices.Delete(list, i, i+1)
			}
			list = append(list, e)
			list = list[max(len(list)-maxEntries, 0):]
		}
		return list
	})
}

// change applies do to the entries in the file and writes them, while the file is locked against
// other processes. afresh: a damaged file is replaced.
func (m *Memory) change(afresh bool, do func([]Entry) []Entry) error {
	m.writing.Lock()
	defer m.writing.Unlock()
	unlock, err := hostfile.Lock(filepath.Dir(m.file))
	if err != nil {
		return fmt.Errorf("memory of refusals: %w", err)
	}
	defer unlock()
	m.mu.Lock()
	m.read = nil // forces reading it again, whatever its timestamp says
	err = m.load()
	list := slices.Clone(m.entries)
	m.mu.Unlock()
	if err != nil && !afresh {
		return err
	}
	list = do(list)
	data, err := json.Marshal(document{1, list})
	if err == nil {
		err = hostfile.Write(m.file, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("memory of refusals: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries, m.read = list, nil // the next load reads the file again
	return nil
}

// key returns the entry for d. It returns false if the program or target has no permanent name.
func (m *Memory) key(d sandbox.Denial) (Entry, bool) {
	if m == nil {
		return Entry{}, false
	}
	e := Entry{Program: d.Executable, Kind: d.Kind, Target: Pattern(d, m.home)}
	if d.Kind == sandbox.KindMetadata {
		e.Kind = sandbox.KindWrite // the same answer opens both
	}
	return e, path.IsAbs(e.Program) && !strings.HasSuffix(e.Program, " (deleted)") && len(e.Program) <= maxWord && e.Target != "" && len(e.Target) <= maxWord
}

// Pattern returns the form in which the target of d is remembered. A host loses its port. A file
// becomes its folder and "*", with "*" for each word with a digit. Files
// directly in the home folder, in "/" and in the folders of "/" keep their names.
func Pattern(d sandbox.Denial, home string) string {
	if d.Kind == sandbox.KindNetwork {
		h, err := sandbox.ParseHostPort(d.Target)
		if err != nil {
			return ""
		}
		return strings.ToLower(h.Host)
	}
	if !path.IsAbs(d.Target) {
		return ""
	}
	dir, base := path.Split(path.Clean(d.Target))
	dir = path.Clean(dir)
	if dir == home || strings.Count(dir, "/") < 2 || sandbox.Covers(dir, home) || d.Kind == sandbox.KindSocket {
		return path.Join(general(dir), general("/" + base)[1:])
	}
	return cmp.Or(strings.TrimSuffix(general(dir), "/"), "/") + "/*"
}

// general replaces the words of a path that change from run to run: each with a digit in it, as a
// number, a version, a hash or a generated name has.
func general(p string) string { return numbered().ReplaceAllString(p, "*") }

var numbered = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z0-9]*[0-9][A-Za-z0-9]*`) })
