package undo

import (
	"maps"
	"path"
	"slices"
)

// findUnseen adds to a turn that was cut off what lies in the folders that its last
// calls made, moved there or put in the place of others, at most so many paths:
// nobody tells of that, and codeagent did not live to look (Call.Settle). None of it
// was there, since the folder was not. When it was changed is judged as for any path.
func (k *kept) findUnseen(w *walker, most int) {
	if k.ended {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(k.paths)) {
		// Of a folder that an earlier call was over with nobody knows what came to it
		// in between, perhaps by somebody else.
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
