package sandbox

// ChangeObserver hears of a change in a write root before the command makes it, so that
// the old state can be kept and restored.
type ChangeObserver interface {
	// BeforeChange is called before an entry of a folder is changed, made, removed,
	// replaced, moved or given another name, and before it is opened for writing.
	// Writes through the descriptor that the open returns are not reported. The change
	// waits until BeforeChange returns: the old state must be kept by then, or the fact
	// that it was not.
	//
	//	dir   the open folder that the change itself goes through: a reference
	//	      (O_PATH), good for *at calls, the caller's own and valid during the call
	//	name  one entry of it, never "" or ".."; it need not exist. "." is the
	//	      folder dir itself, of which only mode, owner or attributes change
	//	path  the canonical path of the entry on the host
	//
	// The report is about the entry itself. A symbolic link is reported as the link; a
	// write through it is reported under the target's own path. A folder is reported
	// when it is moved, replaced or removed, and stands for all that is below it: the
	// observer looks through it. From then on everything below that name counts as
	// reported, unless the name was ".". So a path is reported once, and what is made
	// below a new name is not reported by itself. The first state of a path is the one
	// to keep. A reported change may still fail to happen.
	//
	// A file with several names is reported under the name that the change uses. A
	// write changes what is read under its other names too.
	//
	// Only paths for which Policy.Observes holds are reported. A change of times alone
	// is not: restoring times would hide other restored content from make and git.
	//
	// The calls for one command come one at a time, those for several commands at once.
	// No lock is held meanwhile that another command waits for; the command's own calls
	// wait. An observer never follows links and never waits for the command. It opens
	// nothing that can block or that acts when opened: name can be a FIFO, a socket or a
	// device. It may run on a thread with the command's rights: where codeagent runs as
	// root, it can then read less than usual.
	BeforeChange(dir int, name, path string)
}

// Observes reports whether changes at path are reported to a ChangeObserver: path lies
// in a write root that is neither the folder for temporary files nor a cache, whose
// entries may be thrown away at any time. The workspace, which is the first root, is
// never taken for a cache.
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
