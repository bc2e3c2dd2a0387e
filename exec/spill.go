package exec

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"codeagent/hostfile"
)

const (
	// maxSpill is how much of one output is written to disk unless the policy
	// says otherwise.
	maxSpill = 64 << 20
	// spillAge is how long spill files are kept.
	spillAge    = 7 * 24 * time.Hour
	spillPrefix = "output-"
)

// spill is the file that takes an output too long for memory. Its folder is
// held open before the command starts, so that nothing the command does to the
// path leads the file elsewhere; the file itself is made with the first byte.
type spill struct {
	dir    string
	room   *spillRoom
	root   *os.Root
	folder *os.File
	file   *os.File
	name   string
	limit  int64
	length int64
	// looked is up to which length the disk is known to have room.
	looked int64
	// cut is why nothing more is written; empty: all is.
	cut cut
	// done: it is closed. It is guarded by room.mu.
	done bool
}

// openSpill holds the folder open, creating it when it is missing. A folder that
// others may write to is refused.
func openSpill(room *spillRoom, dir string, limit int64) (*spill, error) {
	if limit <= 0 {
		limit = maxSpill
	}
	root, err := hostfile.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := hostfile.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("spill folder: %w", err)
		}
		root, err = hostfile.OpenRoot(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("spill folder: %w", err)
	}
	fi, err := root.Stat(".")
	if err == nil && fi.Mode().Perm()&0o022 != 0 {
		err = fmt.Errorf("%s may be written by others (mode %#o)", dir, fi.Mode().Perm())
	}
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("spill folder: %w", err)
	}
	folder, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("spill folder: %w", err)
	}
	return &spill{dir: dir, room: room, root: root, folder: folder, limit: limit}, nil
}

// write appends data as far as it may. A full disk must not end the command.
func (s *spill) write(data []byte) {
	if s.cut.why != "" || len(data) == 0 {
		return
	}
	if s.file == nil {
		if err := s.create(); err != nil {
			s.cut = failedCut(err)
			return
		}
	}
	for len(data) > 0 && s.cut.why == "" {
		n := s.allowed(int64(len(data)))
		written, err := s.file.Write(data[:n])
		s.length += int64(written)
		if err != nil {
			s.cut = failedCut(err)
			s.room.give(n - int64(written))
		}
		data = data[written:]
	}
}

// allowed says how many of n bytes may be written now; less sets the cut.
func (s *spill) allowed(n int64) int64 {
	if room := s.limit - s.length; n > room {
		n = max(0, room)
		s.cut = limited(s.limit, "")
	}
	if s.length+n > s.looked {
		step := max(n, min(spillStep, s.limit-s.length))
		if !s.room.enough(s.folder, step) {
			s.cut = cut{nearlyFull, true}
			return 0
		}
		s.looked = s.length + step
	}
	if taken, why := s.room.take(s, n); taken < n {
		n, s.cut = taken, why
	}
	return n
}

func (s *spill) create() error {
	s.room.sweep(s.root, s.folder, s.limit)
	if !s.room.enough(s.folder, spillStep) {
		return syscall.ENOSPC
	}
	name := fmt.Sprintf("%s%s-%08x.txt", spillPrefix, time.Now().UTC().Format("20060102T150405"), rand.Uint32())
	file, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	// No sweep removes what is still written. Some file systems have no locks.
	_ = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	s.file, s.name = file, name
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	s.room.files = append(s.room.files, s)
	return nil
}

// close returns where the output is, and why not all of it is.
func (s *spill) close() (path string, length int64, why cut) {
	s.root.Close()
	s.folder.Close()
	if s.file != nil {
		s.file.Close()
	}
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	s.done = true
	return s.where()
}

// where is the file's path and its length so far, or nothing when there is no file, and why
// the rest is not kept.
func (s *spill) where() (path string, length int64, why cut) {
	if s.file == nil {
		return "", 0, s.cut
	}
	return filepath.Join(s.dir, s.name), s.length, s.cut
}
