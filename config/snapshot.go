package config

import (
	"io/fs"

	"codeagent/sandbox"
)

// snapshot looks at each entry once while a policy is built: a home folder lies on the way to most of
// what a policy names, so it would be looked at a hundred times. One goroutine uses it.
type snapshot struct {
	sandbox.FileSystem
	seen map[string]look
}

// look is what Lstat returned.
type look struct {
	mode fs.FileMode
	err  error
}

func newSnapshot(files sandbox.FileSystem) snapshot {
	return snapshot{files, map[string]look{}}
}

// Lstat is part of sandbox.FileSystem.
func (s snapshot) Lstat(path string) (fs.FileMode, error) {
	l, ok := s.seen[path]
	if !ok {
		l.mode, l.err = s.FileSystem.Lstat(path)
		s.seen[path] = l
	}
	return l.mode, l.err
}
