//go:build linux

package spec

import "golang.org/x/sys/unix"

// OwnFile is one of codeagent's files inside a write root, in its state before the command started.
type OwnFile struct {
	Path string
	// Root is the write root that contains the file. The command can change entries only below
	// Root, and a restore creates or moves entries only there.
	Root string
	// Dirs are the modes of Root and of each folder between it and the file.
	Dirs []uint32
	// State is the recorded state. If State.Exists is false, the file was absent and must be absent
	// again.
	State FileState
	// Source is the descriptor of the copy; -1 if the file was absent.
	Source int
	// SourceState is set if Source is the file itself and not a sealed copy. Its content is valid
	// only while the file still has this state.
	SourceState *FileState
}

// FileState identifies a file and its version: no process can set the change time.
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
