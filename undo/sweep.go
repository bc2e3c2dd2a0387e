package undo

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"codeagent/hostfile"
)

// Bounds of the whole store.
const (
	// maxAge is how long a session that nobody resumes keeps its turns.
	maxAge = 30 * 24 * time.Hour
	// maxStore bounds all sessions together, in bytes, without those in use.
	maxStore = 8 << 30
	// maxSession bounds one session, in bytes.
	maxSession = 4 << 30
)

// Sweep removes turns that are too old and, beyond the bound of the store, the sessions used
// longest ago. It leaves sessions in use, and what cannot be removed.
func (s *Store) Sweep() {
	entries, err := hostfile.ReadDir(s.dir, -1)
	if err != nil {
		return
	}
	type stored struct {
		id    string
		used  time.Time
		bytes int64
	}
	var list []stored
	var total int64
	for _, e := range entries {
		if !e.IsDir() || !ids().MatchString(e.Name()) {
			continue
		}
		one := stored{id: e.Name()}
		one.used, one.bytes = measure(filepath.Join(s.dir, one.id))
		list = append(list, one)
		total += one.bytes
	}
	sort.Slice(list, func(i, j int) bool { return list[i].used.Before(list[j].used) })
	for _, one := range list {
		if s.now().Sub(one.used) < maxAge && total <= s.bounds.store {
			return
		}
		if s.Remove(one.id) == nil {
			total -= one.bytes
		}
	}
}

// Remove removes the history of the session id. It fails with ErrInUse.
func (s *Store) Remove(id string) error {
	if !ids().MatchString(id) {
		return fs.ErrNotExist
	}
	dir := filepath.Join(s.dir, id)
	if _, err := hostfile.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := lockFile(filepath.Join(dir, lockName))
	if err != nil {
		return err
	}
	defer lock.Close()
	return hostfile.RemoveAll(dir)
}

// measure returns when something in the folder was last changed, and its size.
func measure(dir string) (used time.Time, bytes int64) {
	if info, err := hostfile.Lstat(dir); err == nil {
		used = info.ModTime()
	}
	entries, _ := hostfile.ReadDir(dir, -1) // a folder removed meanwhile is empty
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		at, size := info.ModTime(), int64(0)
		switch {
		case info.IsDir():
			at, size = measure(filepath.Join(dir, e.Name()))
		case info.Mode().IsRegular():
			size = info.Size()
		}
		if bytes += size; at.After(used) {
			used = at
		}
	}
	return used, bytes
}

// makeRoom removes the oldest turns until another one fits, unless they are being restored. mu is held.
func (s *History) makeRoom(restoring bool) {
	if s.sizes == nil {
		s.sizes = map[int]int64{}
		numbers, _ := s.turns() // unlisted turns are not removed
		for _, n := range numbers {
			_, s.sizes[n] = measure(s.folder(n))
		}
	}
	var total int64
	numbers := make([]int, 0, len(s.sizes))
	for n, size := range s.sizes {
		total += size
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	b := s.store.bounds
	for _, n := range numbers {
		if restoring || total+b.turn+b.longest() <= b.session {
			return
		}
		if hostfile.RemoveAll(s.folder(n)) == nil {
			total -= s.sizes[n]
			delete(s.sizes, n)
		}
	}
}
