package sandbox

// ChangeObserver receives a change in a write root before the command makes it, so that it can save
// the old state for undo.
type ChangeObserver interface {
	// BeforeChange is called before an entry of a folder is changed, created, removed, replaced,
	// moved or given another name, and before it is opened for writing. Writes through the
	// descriptor that the open returns are not reported. The change waits until BeforeChange
	// returns. By then the observer must have saved the old state, or recorded that it could not.
	//
	//	dir   the open folder that the change itself goes through: a reference
	//	      (O_PATH), good for *at calls, the caller's own and valid during the call
	//	name  one entry of it, never "" or ".."; it need not exist. "." is the
	//	      folder dir itself, of which only mode, owner or attributes change
	//	path  the canonical path of the entry on the host
	//
	// The report is about the entry itself. A symbolic link is reported as the link; a write
	// through it is reported under the target's own path. A folder is reported when it is moved,
	// replaced or removed, and stands for everything in it: the observer scans it. From then on
	// everything below that name counts as reported, unless the name was ".". So a path is reported
	// once, and an entry created below a new name is not reported separately. The observer must
	// keep the first state of a path. A reported change may still fail to happen.
	//
	// A file with several names is reported under the name that the change uses. A write also
	// changes what is read under its other names.
	//
	// Only paths for which Policy.Observes holds are reported. A change of times alone is not
	// reported: restoring times would hide other restored content from make and git.
	//
	// The calls for one command come one at a time; those for several commands may run at the same
	// time. During the call nothing holds a lock that another command waits for; the command's own
	// calls wait. An observer never follows links and never waits for the command. It opens nothing
	// that can block or that acts when opened: name can be a FIFO, a socket or a device. It may run
	// on a thread with the command's rights: where codeagent runs as root, it can then read less
	// than usual.
	BeforeChange(dir int, name, path string)
}

// Observes reports whether changes at path are reported to a ChangeObserver. That holds if path is
// in a write root that is neither the folder for temporary files nor a cache, whose entries may be
// deleted at any time. The workspace, which is the first root, never counts as a cache.
func (p Policy) Observes(path string) bool {
	deepest, observed := 0, false
	for i, root := range p.Write {
		if len(root.Path) > deepest && Covers(root.Path, path) {
			_, cache := CacheOf(root.Path)
			deepest, observed = len(root.Path), i == 0 || !cache
		}
	}
	return observed && !(p.Temp != "" && len(p.Temp) >= deepest && Covers(p.Temp, path))
}
