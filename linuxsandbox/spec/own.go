//go:build linux

package spec

import "golang.org/x/sys/unix"

// OwnFile is one of codeagent's files inside a write root, as it was before the
// command started.
type OwnFile struct {
	Path string
	// Root is the write root that it lies in. Only below Root could the command change
	// anything, and only there a restore makes or moves anything.
	Root string
	// Dirs are the modes of Root and of each folder from there down to the file.
	Dirs []uint32
	// State is what was seen. A file that was absent has State.Exists false, and must
	// be absent again.
	State FileState
	// Source is the descriptor of the copy, -1 for a file that was absent.
	Source int
	// SourceState is set when Source is the file itself and no sealed copy: its
	// content counts only while this still holds.
	SourceState *FileState
}

// FileState shows whether a file is still the same and unchanged: no process can set
// the change time.
type FileState struct {
	Exists bool
	Dev    uint64
	Ino    uint64
	Mode   uint32
	UID    uint32
	GID    uint32
	Size   int64
	Mtime  unix.Timespec
	Ctime  unix.Timespec
}
