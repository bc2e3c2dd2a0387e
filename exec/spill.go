package exec

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
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
	root   *os.Root
	file   *os.File
	name   string
	limit  int64
	length int64
	err    error
}

// openSpill holds the folder open, creating it when it is missing. A folder that
// others may write to is refused.
func openSpill(dir string, limit int64) (*spill, error) {
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
	return &spill{dir: dir, root: root, limit: limit}, nil
}

// write appends data up to the limit. The first error ends the spill: a full
// disk must not end the command.
func (s *spill) write(data []byte) {
	if s.err != nil || s.length >= s.limit || len(data) == 0 {
		return
	}
	if s.file == nil {
		if s.err = s.create(); s.err != nil {
			return
		}
	}
	n, err := s.file.Write(data[:min(int64(len(data)), s.limit-s.length)])
	s.length += int64(n)
	s.err = err
}

func (s *spill) create() error {
	s.sweep()
	name := fmt.Sprintf("%s%s-%08x.txt", spillPrefix, time.Now().UTC().Format("20060102T150405"), rand.Uint32())
	file, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	s.file, s.name = file, name
	return err
}

// sweep removes the spill files of former weeks.
func (s *spill) sweep() {
	dir, err := s.root.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	entries, err := dir.ReadDir(10_000)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), spillPrefix) || !e.Type().IsRegular() {
			continue
		}
		if fi, err := s.root.Lstat(e.Name()); err == nil && time.Since(fi.ModTime()) > spillAge {
			_ = s.root.Remove(e.Name()) // the next sweep tries again
		}
	}
}

// close returns the file's path and length, or nothing when there is no file.
func (s *spill) close() (path string, length int64) {
	s.root.Close()
	if s.file != nil {
		s.file.Close()
	}
	return s.where()
}

// where is the file's path and its length so far, or nothing when there is none.
func (s *spill) where() (path string, length int64) {
	if s.file == nil {
		return "", 0
	}
	return filepath.Join(s.dir, s.name), s.length
}
