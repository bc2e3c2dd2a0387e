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
	// maxSpill is how many bytes of one output are written to disk unless the policy sets a
	// limit.
	maxSpill = 64 << 20
	// spillAge is how long spill files are kept.
	spillAge    = 7 * 24 * time.Hour
	spillPrefix = "output-"
)

// spill is the file for an output that is too long for memory. Its folder is opened before
// the command starts, so that no change the command makes to the path can redirect the
// file. The file itself is created with the first byte.
type spill struct {
	dir    string
	room   *spillRoom
	root   *os.Root
	folder *os.File
	file   *os.File
	name   string
	limit  int64
	length int64
	// checked is the length that the file may reach before free disk space is checked again.
	checked int64
	// cut says why writing stopped; zero: nothing was left out so far.
	cut cut
}

// openSpill opens the folder, and creates it if it is missing. It refuses a folder that
// other users may write to.
func openSpill(room *spillRoom, dir string, limit int64) (*spill, error) {
	if limit <= 0 {
		limit = maxSpill
	}
	s := &spill{dir: dir, room: room, limit: limit}
	if err := s.openFolder(); err != nil {
		return nil, fmt.Errorf("spill folder: %w", err)
	}
	return s, nil
}

func (s *spill) openFolder() (err error) {
	if s.root, err = hostfile.OpenRoot(s.dir); errors.Is(err, fs.ErrNotExist) {
		if err = hostfile.MkdirAll(s.dir, 0o700); err == nil {
			s.root, err = hostfile.OpenRoot(s.dir)
		}
	}
	if err != nil {
		return err
	}
	fi, err := s.root.Stat(".")
	if err == nil && fi.Mode().Perm()&0o022 != 0 {
		err = fmt.Errorf("%s may be written by others (mode %#o)", s.dir, fi.Mode().Perm())
	}
	if err == nil {
		s.folder, err = s.root.Open(".")
	}
	if err != nil {
		s.root.Close()
	}
	return err
}

// write appends data as far as the limits allow. It returns no error: a full disk must not end the
// command.
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
		}
		data = data[written:]
	}
}

// allowed returns how many of n bytes may be written now, and sets cut if that is less than n.
func (s *spill) allowed(n int64) int64 {
	if left := s.limit - s.length; n > left {
		n = max(0, left)
		s.cut = cut{why: fmt.Sprintf("limit of %d MiB", s.limit>>20)}
	}
	if s.length+n > s.checked {
		step := max(n, min(spillStep, s.limit-s.length))
		if !s.room.enough(s.folder, step) {
			s.cut = cut{nearlyFull, true}
			return 0
		}
		s.checked = s.length + step
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
	// The lock keeps sweeps from removing the file while it is written. Some file systems
	// have no locks.
	_ = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	s.file, s.name = file, name
	return nil
}

// close closes the file and returns its path, its length, and why it is incomplete.
func (s *spill) close() (path string, length int64, why cut) {
	s.root.Close()
	s.folder.Close()
	if s.file != nil {
		s.file.Close()
	}
	return s.where()
}

// where returns the file's path, its length so far, and why the rest was not written. Without a
// file, the path is empty.
func (s *spill) where() (path string, length int64, why cut) {
	if s.file == nil {
		return "", 0, s.cut
	}
	return filepath.Join(s.dir, s.name), s.length, s.cut
}
