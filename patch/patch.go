// Package patch implements the patch format that models write: it parses the text,
// computes the new content of the named files, and commits the result, all or nothing,
// to a file tree that the caller passes. It does no IO of its own. Start reading at
// parse.go, then hunks.go and match.go, which find the place of a change.
//
//	*** Begin Patch
//	*** Add File: PATH          every line of the new file, each after a "+"
//	*** Delete File: PATH
//	*** Update File: PATH
//	*** Move to: PATH           optional, directly below
//	@@ a line above the change  optional; several narrow one after the other
//	 context                    a line that stays
//	-removed
//	+added
//	*** End of File             optional: the lines above end the file
//	*** End Patch
//
// The hunks of git ("@@ -1,3 +1,4 @@", "\ No newline at end of file") are
// understood too: their line numbers tell equal places apart.
package patch

import (
	"fmt"
	"io/fs"
	"slices"
)

// Bounds of one patch. A longer text is refused before it is looked at.
const (
	// MaxText is the longest patch text in bytes.
	MaxText = 4 << 20
	// MaxFiles is how many files one patch may name.
	MaxFiles = 500
	// MaxPath is the longest path in bytes (PATH_MAX).
	MaxPath = 4096
)

// Op is what a section does with its file.
type Op string

const (
	Add    Op = "add"
	Delete Op = "delete"
	Update Op = "update"
	// Move is an Update that also renames. It appears in a Change only.
	Move Op = "move"
)

// Patch is a parsed patch: its sections in the order they were written.
type Patch struct{ Files []File }

// File is one section.
type File struct {
	Op Op
	// Path is the path in the patch, or its result of Map.
	Path string
	// MoveTo is the new path of an Update; empty when it stays.
	MoveTo string
	// Content is the new file of an Add.
	Content []byte
	// Hunks are the changes of an Update, as written.
	Hunks []Hunk
	// Line is where the section starts in the patch text, from 1.
	Line int
}

// Hunk is one place of an Update.
type Hunk struct {
	// Anchors are the texts of the "@@" lines: each is found below the one
	// before, and the hunk below the last.
	Anchors []string
	// At is the line of the file, from 1, where a git hunk says it starts; 0
	// when it does not say.
	At int
	// Lines are context, removed and added lines.
	Lines []Line
	// EOF says that the old lines end the file.
	EOF bool
	// Final is what the hunk says about the newline at the file's end.
	Final Final
	// Line is where the hunk starts in the patch text, from 1.
	Line int
}

// Line is one line of a hunk without its newline.
type Line struct {
	// Kind is ' ', '-' or '+'.
	Kind byte
	Text string
	// Bare: the patch line was wholly empty, without even the space. It means
	// an empty context line, or nothing where it trails the hunk.
	Bare bool
}

// Final says whether a file ends with a newline.
type Final int

const (
	FinalKept    Final = iota // as it was
	FinalNewline              // with a newline
	FinalNone                 // without
)

// Content is a regular file: its bytes and its permission bits.
type Content struct {
	Data []byte
	// Mode is 0 for a new file: the tree then takes its default.
	Mode fs.FileMode
}

// Change is what one file becomes.
type Change struct {
	// Kind is Add, Delete, Update or Move.
	Kind Op
	Path string
	// From is the old path of a Move.
	From string
	// Old is nil for an Add, New is nil for a Delete.
	Old, New *Content
	// Notes say where a hunk was found other than exactly where it claimed.
	Notes []string
}

// Tree is what a patch is applied to.
type Tree interface {
	// Read returns a regular file, or an error for which
	// errors.Is(err, fs.ErrNotExist) holds when there is nothing.
	Read(path string) (Content, error)
	// MakeFolders makes the folders above path that are missing. It returns those
	// that it made itself, outermost first, with an error too.
	MakeFolders(path string) ([]string, error)
	// RemoveFolder removes a folder of MakeFolders. A folder that is no longer empty
	// stays, without an error: another program uses it.
	RemoveFolder(path string) error
	// Write makes path hold c. It fails unless path still holds old; nil means that
	// nothing may be there.
	Write(path string, c Content, old *Content) error
	// Remove deletes path. It fails unless path still holds old.
	Remove(path string, old Content) error
}

// Error is a fault of the patch: it is for whoever wrote it.
type Error struct {
	// Line is the line of the patch text, from 1.
	Line int
	// Path is the file it is about; empty for the grammar.
	Path string
	Msg  string
}

func (e *Error) Error() string {
	if e.Path != "" {
		return fmt.Sprintf("patch line %d, %s: %s", e.Line, e.Path, e.Msg)
	}
	return fmt.Sprintf("patch line %d: %s", e.Line, e.Msg)
}

// Paths lists every path the patch names, in order, each once.
func (p Patch) Paths() []string {
	var out []string
	for _, f := range p.Files {
		for _, name := range []string{f.Path, f.MoveTo} {
			if name != "" && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// Map returns p with every path replaced by name(path), which makes paths canonical:
// two spellings of one file become one file.
func (p Patch) Map(name func(path string) (string, error)) (Patch, error) {
	p.Files = slices.Clone(p.Files)
	for i := range p.Files {
		f := &p.Files[i]
		for _, path := range []*string{&f.Path, &f.MoveTo} {
			if *path == "" {
				continue
			}
			to, err := name(*path)
			if err != nil {
				return Patch{}, &Error{Line: f.Line, Msg: err.Error()}
			}
			*path = to
		}
	}
	return p, nil
}
