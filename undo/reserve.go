package undo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"codeagent/hostfile"
)

// A turn that cannot be recorded must not look like one that changed nothing: undo would
// then restore the turn before it. On a full disk no new file can record that. Therefore the
// store has a file of a fixed size, written while there is space, with a slot for each such
// turn. A slot is overwritten in place, which needs no space on most file systems. Where it
// does (copy on write), the end of the turn tries the turn's own folder once more.
//
//	slot: session ID, turn number, Unix time; blanks while it is free
const (
	reserveName = "unrecorded"
	slotFormat  = "%s %010d %010d\n"
	slotSize    = 16 + 1 + 10 + 1 + 10 + 1
	// slots is how many slots fit into one disk block.
	slots = 4096 / slotSize
)

// slot is one turn that could not be recorded.
type slot struct {
	id   string
	turn int
	at   int64
}

func (s slot) String() string {
	if s.id == "" {
		return string(bytes.Repeat([]byte{' '}, slotSize-1)) + "\n"
	}
	return fmt.Sprintf(slotFormat, s.id, s.turn, s.at)
}

// parseSlot reads a slot; an invalid one is free.
func parseSlot(text []byte) slot {
	var s slot
	_, err := fmt.Sscanf(string(text), "%s %d %d", &s.id, &s.turn, &s.at)
	if err != nil || !ids().MatchString(s.id) || s.turn <= 0 {
		return slot{}
	}
	return s
}

// makeReserve writes the file if it is missing or too short.
func (s *Store) makeReserve() error {
	f, err := s.openReserve(os.O_RDWR | os.O_CREATE)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	for at := info.Size() / slotSize; at < slots; at++ {
		if _, err := f.WriteAt([]byte(slot{}.String()), at*slotSize); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) openReserve(how int) (*os.File, error) {
	return hostfile.OpenFile(filepath.Join(s.dir, reserveName), how, 0o600)
}

// readSlots reads all slots.
func readSlots(f *os.File) ([]slot, error) {
	text := make([]byte, slots*slotSize)
	n, err := f.ReadAt(text, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	var out []slot
	for at := 0; at+slotSize <= n; at += slotSize {
		out = append(out, parseSlot(text[at:at+slotSize]))
	}
	return out, nil
}

// slots returns all slots; none without a reserve.
func (s *Store) slots() ([]slot, error) {
	f, err := s.openReserve(os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readSlots(f)
}

// Unrecorded returns the sessions with a turn that could not be recorded, and when that
// was. On a full disk a session may have left no other trace.
func (s *Store) Unrecorded() (map[string]time.Time, error) {
	list, err := s.slots()
	out := map[string]time.Time{}
	for _, one := range list {
		if at := time.Unix(one.at, 0); one.id != "" && at.After(out[one.id]) {
			out[one.id] = at
		}
	}
	return out, err
}

// unrecorded returns the turns of the session id that could not be recorded, or only in part,
// with the time of the failure.
func (s *Store) unrecorded(id string) (map[int]time.Time, error) {
	list, err := s.slots()
	out := map[int]time.Time{}
	for _, one := range list {
		if one.id == id {
			out[one.turn] = time.Unix(one.at, 0)
		}
	}
	return out, err
}

// changeSlots calls change with all slots, with the lock held, and writes those that it
// changed.
func (s *Store) changeSlots(change func([]slot)) error {
	f, err := s.openReserve(os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() // this also releases the lock
	for range 100 {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
			break // locked by another process, or a file system without locks
		}
		time.Sleep(time.Millisecond)
	}
	list, err := readSlots(f)
	if err != nil {
		return err
	}
	was := slices.Clone(list)
	change(list)
	for i, one := range list {
		if one == was[i] {
			continue
		}
		if _, err := f.WriteAt([]byte(one.String()), int64(i)*slotSize); err != nil {
			return err
		}
	}
	return nil
}

// noteUnrecorded records, in a slot, that a turn cannot be recorded. Without a free slot it
// takes the oldest.
func (s *Store) noteUnrecorded(id string, turn int) error {
	return s.changeSlots(func(list []slot) {
		oldest := 0 // a free slot has no time
		for i, one := range list {
			if one.id == id && one.turn == turn {
				return
			}
			if one.at < list[oldest].at {
				oldest = i
			}
		}
		if len(list) > 0 {
			list[oldest] = slot{id, turn, s.now().Unix()}
		}
	})
}

// forgetUnrecorded frees the slots of the session id: of one turn, or of all for 0.
func (s *Store) forgetUnrecorded(id string, turn int) error {
	return s.changeSlots(func(list []slot) {
		for i, one := range list {
			if one.id == id && (turn == 0 || one.turn == turn) {
				list[i] = slot{}
			}
		}
	})
}
