package sandbox

// Keeper is told what stands in the write roots before a command changes it, so
// that it can be put back.
type Keeper interface {
	// BeforeChange is called before the entry name of the folder dir is changed,
	// made, removed, replaced or moved, and before it is opened for writing: what is
	// written by the descriptor later is not told. The change waits until it returns:
	// then the old state is kept, or it is noted that it is not.
	//
	//	dir   the open folder that the change itself goes through: a reference
	//	      (O_PATH), good for *at calls, the caller's own and valid during the call
	//	name  one entry of it, never "", "." or ".."; it need not be there
	//	path  its canonical path on the host
	//
	// It is about the entry itself: a symbolic link is told as the link, and what is
	// to be written through it under its own path. A folder that is moved or replaced
	// is told as itself, for all that is below it: the keeper looks through it. What
	// is made below a folder is told by itself. A file with several names is told by
	// the one that the change goes by.
	//
	// The same path may be told again, and what is told may then fail to happen: the
	// first state of a path is the one to keep. A change of a write root alone is
	// told; not of Policy.Temp, and not one of times only: they hold nobody's work,
	// and putting them back would hide from make and git what else was put back.
	//
	// The calls of one command come one at a time, those of several at once. No lock
	// is held meanwhile that another command waits for; the command's own calls wait.
	// A keeper never follows links, opens nothing that can block or that does
	// something when opened (FIFOs, sockets, devices: name can be any of them), and
	// never waits for the command. It may run on a thread with the command's rights:
	// root's codeagent can then read less than elsewhere.
	BeforeChange(dir int, name, path string)
}
