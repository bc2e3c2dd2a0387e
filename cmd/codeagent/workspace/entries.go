package workspace

import (
	"path/filepath"
	"time"

	"codeagent/hostfile"
)

// Limits of a count of entries. They suffice for a question to distinguish small from large
// folders.
const (
	mostEntries = 10_000
	entriesTime = 100 * time.Millisecond
)

// Entries counts the files and folders below a folder, without following links. more reports that a
// limit was reached. ok is false if the path is not a readable folder.
func Entries(folder string) (n int, more, ok bool) {
	end := time.Now().Add(entriesTime)
	todo := []string{folder}
	for len(todo) > 0 {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		list, err := hostfile.ReadDir(dir, mostEntries-n+1)
		if err != nil && dir == folder {
			return 0, false, false
		}
		more = more || err != nil
		for _, e := range list {
			if n++; n > mostEntries {
				return mostEntries, true, true
			}
			if e.IsDir() {
				todo = append(todo, filepath.Join(dir, e.Name()))
			}
		}
		if time.Now().After(end) {
			return n, more || len(todo) > 0, true
		}
	}
	return n, more, true
}
