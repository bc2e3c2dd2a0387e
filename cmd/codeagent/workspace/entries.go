package workspace

import (
	"path/filepath"
	"time"

	"codeagent/hostfile"
)

// Bounds of a count of entries: what a question needs to tell much from little.
const (
	mostEntries = 10_000
	entriesTime = 100 * time.Millisecond
)

// Entries counts the files and folders below a folder, through no link. more: there are others
// that were not counted. ok is false for what is no folder that can be read.
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
