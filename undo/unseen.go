package undo

import (
	"maps"
	"path"
	"slices"
)

// findUnseen adds, to a turn that was cut off, the content of folders that its last calls
// made, moved or replaced; at most most paths. Changes in such folders are not reported, and
// codeagent ended before Call.Settle could look. All of it is new, because the folder is new.
// The time of its change is judged as for any path.
func (k *kept) findUnseen(w *walker, most int) {
	if k.ended {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(k.paths)) {
		// After an earlier call, somebody else may have added to the folder.
		h := k.paths[name]
		if h.after != nil || h.again || h.back {
			continue
		}
		if now, err := w.look(name); err != nil || now.Kind != folder || now.inode() == h.before.inode() {
			continue
		}
		for folders := []string{name}; len(folders) > 0; {
			in := folders[len(folders)-1]
			folders = folders[:len(folders)-1]
			for _, n := range w.names(in, most+1) {
				p := path.Join(in, n)
				if k.paths[p] != nil {
					continue
				}
				if most--; most < 0 {
					return // a folder that is not empty stays
				}
				k.paths[p] = &history{before: state{Kind: absent}}
				if now, err := w.look(p); err == nil && now.Kind == folder {
					folders = append(folders, p)
				}
			}
		}
	}
}
