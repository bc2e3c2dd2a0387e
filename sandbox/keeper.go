package sandbox

// Keeper is told what stands in the write roots before a command changes it, so
// that it can be put back.
type Keeper interface {
	// BeforeChange is called before the entry name of the folder dir is changed,
	// made, removed, replaced, moved or given another name, and before it is opened
	// for writing: what is written by the descriptor later is not told. The change
	// waits until it returns: then the old state is kept, or it is noted that it is
	// not.
	//
	//	dir   the open folder that the change itself goes through: a reference
	//	      (O_PATH), good for *at calls, the caller's own and valid during the call
	//	name  one entry of it, never "" or ".."; it need not be there. "." is the
	//	      folder dir itself, of which only mode, owner or attributes change
	//	path  the canonical path on the host of what is meant
	//
	// It is about the entry itself: a symbolic link is told as the link, and what is
	// to be written through it under its own path. A folder that is an entry is told
	// because it is moved, replaced or removed, and for all that is below it: the
	// keeper looks through it. So whatever was told under its name, not as ".", is
	// known from then on with all that is below: what is made below a name that
	// nothing had was not there, and is not told again by itself, nor is a path that
	// was told before. What is told may then fail to happen. The first state of a
	// path is the one to keep.
	//
	// A file with several names is told by the one that the change goes by. What is
	// written into it stands under the others too.
	//
	// Only what Policy.Keeps says is told, and no change of times alone: they hold
	// nobody's work, and putting them back would hide from make and git what else
	// was put back.
	//
	// The calls of one command come one at a time, those of several at once. No lock
	// is held meanwhile that another command waits for; the command's own calls wait.
	// A keeper never follows links, opens nothing that can block or that does
	// something when opened (FIFOs, sockets, devices: name can be any of them), and
	// never waits for the command. It may run on a thread with the command's rights:
	// root's codeagent can then read less than elsewhere.
	BeforeChange(dir int, name, path string)
}

// Keeps reports whether a Keeper is told of changes at path: it lies in a write
// root that is neither the folder for temporary files nor a cache, whose entries
// are thrown away as it is. The workspace, which is the first one, is none.
func (p Policy) Keeps(path string) bool {
	deepest, kept := 0, false
	for i, root := range p.Write {
		if len(root.Path) > deepest && Covers(root.Path, path) {
			_, cache := CacheOf(root.Path)
			deepest, kept = len(root.Path), i == 0 || !cache
		}
	}
	return kept && !(p.Temp != "" && len(p.Temp) >= deepest && Covers(p.Temp, path))
}
