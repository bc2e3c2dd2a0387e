package undo

import (
	"crypto/sha256"
	"time"
)

// kind is the type of an entry.
type kind string

const (
	absent kind = "absent"
	file   kind = "file"
	link   kind = "link"
	folder kind = "folder"
	// special is a FIFO, a socket or a device: never opened, never kept.
	special kind = "special"
)

// inode names a file whatever it is called.
type inode struct{ dev, ino uint64 }

// state is what a path was at one moment.
type state struct {
	Kind kind `json:"k"`
	// Mode holds the permission bits alone: set-id bits are not given back, since
	// nobody vouches for what stands there now.
	Mode uint32 `json:"m,omitempty"`
	Dev  uint64 `json:"d,omitempty"`
	Ino  uint64 `json:"i,omitempty"`
	// Ctime is in nanoseconds; no program can set it.
	Ctime int64 `json:"c,omitempty"`
	// Size, in bytes, and Mtime are of all but folders, Links of files alone.
	Size  int64  `json:"n,omitempty"`
	Mtime int64  `json:"t,omitempty"`
	Links uint64 `json:"l,omitempty"`
	// Sum is the SHA-256 of a file's content, where it was read.
	Sum []byte `json:"h,omitempty"`
	// Target is where a link leads.
	Target []byte `json:"to,omitempty"`
	// Kept is where the content is stored; nil: it is not kept.
	Kept *place `json:"kept,omitempty"`
}

// place is where a content is stored in a turn's folder: a file of its own, or a part of
// the file for small contents.
type place struct {
	// Turn is the number of an earlier turn that kept it already, 0 for its own.
	Turn int `json:"turn,omitempty"`
	// File is the number of the file, 0 for the small ones'.
	File int64 `json:"f,omitempty"`
	// At is where it begins.
	At int64 `json:"at,omitempty"`
}

func (s state) inode() inode { return inode{s.Dev, s.Ino} }

// untouched reports that the kernel saw no change between two looks. Its clock
// may stand still for some milliseconds, so content decides where it is known.
func (s state) untouched(now state) bool {
	return s.Kind == now.Kind && s.Mode == now.Mode && s.Size == now.Size && s.inode() == now.inode() &&
		s.Mtime == now.Mtime && s.Ctime == now.Ctime && string(s.Target) == string(now.Target)
}

// brief is what is held of s in memory: of a link's target only a digest, because a command
// chooses its length.
func (s state) brief() state {
	if s.Target != nil {
		digest := sha256.Sum256(s.Target)
		s.Target = digest[:]
	}
	return s
}

// tick is more than any file system's clock takes to show a change.
const tick = 3 * time.Second

// settledBy reports that s was last changed well before t: whatever changed it after
// t shows.
func (s state) settledBy(t time.Time) bool { return t.Sub(time.Unix(0, s.Ctime)) > tick }
