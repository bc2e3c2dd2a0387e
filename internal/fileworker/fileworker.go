// Package fileworker reads, writes, lists and searches files for codeagent's tools inside the
// sandbox: a backend starts Serve in a confined process, and codeagent uses a Client. It
// touches what the policy of its process allows, and imports only a small part of the
// standard library, because it is linked into the sandbox helper. Start reading at serve.go,
// then write.go.
//
// The kernel confines a file tool to the policy, as it confines a command: no symbolic link,
// race or ".." leads out. The checks here have another purpose: a file tool never blocks on a
// FIFO or a device, never writes through a link, never leaves half a file, and never replaces
// content that it has not seen.
package fileworker

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Bounds of one request or answer.
const (
	// MaxData is the most file content one ReadFile or WriteFile carries, in bytes.
	MaxData = 64 << 20
	// MaxEntries is the most directory entries one ReadDirs returns.
	MaxEntries = 100_000
	// MaxMatches is the most matches one Grep returns.
	MaxMatches = 10_000
	// MaxPaths is the most paths one request names.
	MaxPaths = 100_000
	// maxFrame is MaxData plus space for paths and numbers.
	maxFrame = MaxData + 4<<20
)

// Type is the type of a directory entry.
type Type string

const (
	File    Type = "file"
	Folder  Type = "folder"
	Symlink Type = "symlink"
	// Other is a FIFO, a socket or a device: never opened here.
	Other Type = "other"
)

// Info describes one file.
type Info struct {
	Type Type
	// Mode holds only the permission bits.
	Mode fs.FileMode
	// Size is in bytes.
	Size int64
	// Version changes whenever the file is replaced or written: it encodes device, inode,
	// size and modification time.
	Version string
}

// Entry is one name in a folder. Name holds the bytes of the file system, which need not be
// UTF-8.
type Entry struct {
	Name string
	Type Type
}

// Listing is the content of one folder, sorted by name.
type Listing struct {
	Entries []Entry
	// More is set when the limit was reached and entries are missing.
	More bool
	// Err says why the folder could not be read; nil on success.
	Err *Error
}

// Expect is a condition that a file must meet for WriteFile or Remove to change it.
// The zero value is always met.
type Expect struct {
	// Absent: the entry must not exist.
	Absent bool
	// Content is the whole content that was read; nil accepts any content.
	Content []byte
	// Version is the Info.Version that was seen.
	Version string
	// Parents: missing folders above the file are created (where a file is made).
	Parents bool
}

// GrepLimits bounds a search. A zero value means the default in parentheses.
type GrepLimits struct {
	// Matches is the maximum of matching lines in all (1,000).
	Matches int
	// LineBytes is how many bytes of a line are returned, around the match (400).
	LineBytes int
	// FileBytes is the largest file searched (16 MiB).
	FileBytes int64
}

// Match is one matching line.
type Match struct {
	Path string
	// Line counts from 1.
	Line int
	// Text is the line without its end, cut around the match if it is long.
	Text string
	// Cut is set if Text is not the whole line.
	Cut bool
}

// GrepResult is the result of a search and counts what was left out.
type GrepResult struct {
	Matches []Match
	// More is set when a limit on matches ended the search early.
	More bool
	// Binary, Large and Unreadable count the files left out. Folders and special files
	// count as unreadable.
	Binary, Large, Unreadable int
}

// PlaceholderTime is the modification time, in seconds since 1970, by which a backend marks
// an empty file in place of an absent one: Landlock binds a permission to an existing
// file. Such a file counts as absent here, and a new file is written into it.
const PlaceholderTime = 1

func isPlaceholder(fi fs.FileInfo) bool {
	return fi.Size() == 0 && fi.Mode().IsRegular() && fi.ModTime().UnixNano() == PlaceholderTime*1e9
}

// statFile is os.Stat, but a placeholder counts as absent.
func statFile(path string) (fs.FileInfo, error) {
	fi, err := os.Stat(path)
	if err == nil && isPlaceholder(fi) {
		err = syscall.ENOENT
	}
	return fi, err
}

func infoOf(fi fs.FileInfo) Info {
	return Info{
		Type:    typeOf(fi.Mode()),
		Mode:    fi.Mode().Perm(),
		Size:    fi.Size(),
		Version: versionOf(fi),
	}
}

func typeOf(m fs.FileMode) Type {
	switch {
	case m.IsRegular():
		return File
	case m.IsDir():
		return Folder
	case m&fs.ModeSymlink != 0:
		return Symlink
	}
	return Other
}

func versionOf(fi fs.FileInfo) string {
	var dev, ino uint64
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		dev, ino = uint64(st.Dev), st.Ino
	}
	return Version(dev, ino, fi.Size(), fi.ModTime().UnixNano())
}

// Version returns the Info.Version of the file with that device, inode, size in bytes
// and modification time in nanoseconds since 1970.
func Version(dev, ino uint64, size, mtime int64) string {
	return strings.Join([]string{strconv.FormatUint(dev, 36), strconv.FormatUint(ino, 36), strconv.FormatInt(size, 36), strconv.FormatInt(mtime, 36)}, ".")
}
