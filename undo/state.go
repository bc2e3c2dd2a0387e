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
	// special is a FIFO, a socket or a device: never opened, never recorded.
	special kind = "special"
)

// inode identifies a file under any name.
type inode struct{ dev, ino uint64 }

// state is the state of a path at one moment.
type state struct {
	Kind kind `json:"k"`
	// Mode holds only the permission bits: set-id bits are not restored, since the present
	// content is not trusted.
	Mode uint32 `json:"m,omitempty"`
	Dev  uint64 `json:"d,omitempty"`
	Ino  uint64 `json:"i,omitempty"`
	// Ctime is in nanoseconds; no program can set it.
	Ctime int64 `json:"c,omitempty"`
	// Size, in bytes, and Mtime are not set for folders; Links only for files.
	Size  int64  `json:"n,omitempty"`
	Mtime int64  `json:"t,omitempty"`
	Links uint64 `json:"l,omitempty"`
	// Sum is the SHA-256 of a file's content, if it was read.
	Sum []byte `json:"h,omitempty"`
	// Target is the target of a link.
	Target []byte `json:"to,omitempty"`
	// Kept is where the content is stored; nil: it is not stored.
	Kept *place `json:"kept,omitempty"`
}

// place is where a content is stored in a turn's folder: a file of its own, or a part of
// the file for small contents.
type place struct {
	// Turn is the number of an earlier turn that stored it, 0 for the record's own turn.
	Turn int `json:"turn,omitempty"`
	// File is the number of the file, 0 for the file of small contents.
	File int64 `json:"f,omitempty"`
	// At is where it begins.
	At int64 `json:"at,omitempty"`
}

func (s state) inode() inode { return inode{s.Dev, s.Ino} }

// untouched reports whether the kernel saw no change between two looks. The kernel's clock
// advances in steps of some milliseconds, so the content decides if it is known.
func (s state) untouched(now state) bool {
	return s.Kind == now.Kind && s.Mode == now.Mode && s.Size == now.Size && s.inode() == now.inode() &&
		s.Mtime == now.Mtime && s.Ctime == now.Ctime && string(s.Target) == string(now.Target)
}

// brief returns the part of s that is kept in memory: of a link's target only a digest, because
// a command chooses its length.
func (s state) brief() state {
	if s.Target != nil {
		digest := sha256.Sum256(s.Target)
		s.Target = digest[:]
	}
	return s
}

// tick is longer than the time in which any file system's clock shows a change.
const tick = 3 * time.Second

// settledBy reports whether s was last changed well before t, so that any change after t is
// visible in its times.
func (s state) settledBy(t time.Time) bool { return t.Sub(time.Unix(0, s.Ctime)) > tick }
