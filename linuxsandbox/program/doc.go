// Package program gets the helper ready that every keeper runs: it finds the file, copies it into
// memory that nothing can change, and checks the SHA-256 of the copy. It starts nothing. It imports
// little, so that package early can begin before most of codeagent is initialised: even path/filepath
// would come 0.4 ms later.
package program

import "golang.org/x/sys/unix"

// Image is an open file.
type Image struct {
	FD int
	// Stat is the state of the file that was copied, when it was opened.
	Stat unix.Stat_t
}
