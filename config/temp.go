package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"codeagent/hostfile"
)

// Each session has a folder for temporary files, locked while its process lives. An unlocked
// one was left by a session that was killed.

const tempPrefix = "session-"

// tempAge is how long an unlocked folder is kept: a session makes its folder before it can
// lock it.
const tempAge = time.Hour

// NewTemp makes a session's private folder for temporary files. remove deletes it with
// everything in it.
func (p Paths) NewTemp() (dir string, remove func() error, err error) {
	if err := createPrivate(p.Temp); err != nil {
		return "", nil, err
	}
	if dir, err = hostfile.MkdirTemp(p.Temp, tempPrefix); err != nil {
		return "", nil, fmt.Errorf("folder for temporary files: %w", err)
	}
	// Some network file systems have no locks. There, no process can take the folder for a dead
	// session's either.
	lock, _ := lockFolder(dir)
	return dir, func() error {
		defer lock.Close()
		return hostfile.RemoveAll(dir)
	}, nil
}

// SweepTemp removes the folders of sessions that were killed. What cannot be removed is left
// for the next sweep.
func (p Paths) SweepTemp() {
	entries, err := hostfile.ReadDir(p.Temp, -1)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.IsDir() || !strings.HasPrefix(e.Name(), tempPrefix) || time.Since(info.ModTime()) < tempAge {
			continue
		}
		dir := filepath.Join(p.Temp, e.Name())
		if lock, err := lockFolder(dir); err == nil {
			_ = hostfile.RemoveAll(dir)
			lock.Close()
		}
	}
}

// lockFolder fails if another process has locked the folder.
func lockFolder(dir string) (*os.File, error) {
	f, err := hostfile.OpenFolder(dir)
	if errors.Is(err, fs.ErrPermission) { // a command removed its permissions
		if err = hostfile.Chmod(dir, 0o700); err == nil {
			f, err = hostfile.OpenFolder(dir)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return f, nil
}
