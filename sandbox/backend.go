package sandbox

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// Process is one running command with all its descendants.
type Process interface {
	// Wait returns when the command and every process it left behind are gone. The error is a
	// *StartError if the command could not be executed.
	Wait() (Status, error)
	// Kill ends the command and all its descendants. Any goroutine may call it, at any time and
	// repeatedly.
	Kill()
	// Signal sends a signal number (1 to 64) to the command. Like a terminal, it sends SIGINT to
	// the whole process group if the command leads one.
	Signal(number int) error
	// Refused is what the backend has refused so far; it works while the command runs. It lacks
	// what becomes known only at the end, which Trace has.
	Refused() []Denial
	// Revoke takes back what c lists from the command and its descendants, if possible. It
	// returns when the revocation is in effect.
	Revoke(c Revocation) RevokeResult
	// Trace is what the backend saw. It is complete after Wait.
	Trace() Trace
}

// Stiller is a Backend that can make changes of files wait.
type Stiller interface {
	// Still calls do while every call of a command that changes files, or opens one for writing, waits.
	// do must start no command of this backend. Writes through open descriptors go on.
	Still(do func())
}

// Tree is a Process whose processes can be stopped and examined.
type Tree interface {
	// Stop stops the command and its descendants, and returns when none of them runs. resume continues
	// those that it stopped. On an error all run as before.
	Stop() (resume func(), err error)
	// Holds lists the files for which below holds that the command or a descendant holds open for
	// writing, or has mapped so that its writes are seen. all is false if something could not be
	// examined. It is exact only while the tree is stopped.
	Holds(below func(path string) bool) (files []string, all bool)
}

// Renewer is a Process that can serve several callers, one after the other, for example a server
// with one tool call after the other.
type Renewer interface {
	// Renew ends one part of the run and begins the next. It returns what was seen in the part that
	// ends, and denies its held calls. In the next part denials are recorded, refused calls are
	// asked about and changes are reported as for a new command: what one part did can neither
	// exhaust the bounds nor silence the questions of the next. A yes to a loss ends with its part.
	Renew() Trace
}

// Kept is the result of a backend that cannot revoke anything from a running command.
var Kept = RevokeResult{Stays: []string{"everything, in running commands: this sandbox cannot revoke anything from them"}}

// RevokeResult is the result of a revocation for a running command.
type RevokeResult struct {
	// Cut is the number of connections that were ended.
	Cut int
	// Stays says in words what could not be revoked.
	Stays []string
}

// Holder answers a denial while the refused call waits. For a model's commands, the only Holder
// that can allow a call is in agent/held.go.
type Holder interface {
	// Asks reports whether the refused call waits for an answer. Otherwise it fails at once. Asks is
	// called on the thread that answers the command's calls, so it must not wait.
	Asks(d Denial) bool
	// Hold returns the grant under which the call may continue, or false. Several calls may run at
	// the same time; after an answer, the same kind and target are not asked about again. When ctx
	// ends, nobody waits for the answer any more.
	Hold(ctx context.Context, d Denial) (Grant, bool)
}

// FileWorker as a Command's Path starts the backend's own file worker (package internal/fileworker)
// instead of a program. It serves on standard input and output until end of file.
const FileWorker = "codeagent:file-worker"

// Command is what to start. It inherits only the three files.
type Command struct {
	// Path is an absolute program path, or FileWorker. A Path without a slash is looked up in the
	// PATH of Env.
	Path string
	// Args is the complete argv; Args[0] is the name that the program sees.
	Args []string
	// Dir is the working directory, absolute.
	Dir string
	// Env is the complete environment, "K=V".
	Env []string
	// Evidence is how much of what it refuses the backend must see and record: EvidenceFull,
	// EvidenceNetworkOnly or EvidenceNothing. Empty means EvidenceFull. It does not change what is
	// enforced.
	Evidence EvidenceLevel
	// Reads asks for the refused reads too, where Evidence is full: Trace.Reads reports whether the
	// backend sees them. It makes each open slower, and is for programs that must not read in silence.
	Reads bool
	// Observer receives changes in write roots before they happen; it may be nil.
	// Enforcement.Observes reports whether a backend calls it.
	Observer ChangeObserver
	// Changed, if set, receives each path where the command is about to change something, in any write
	// root: also where Policy.Observes is false, and for files that it opens for writing. Writes through
	// the descriptor are not reported. It may be called twice for one change, must not wait, and is
	// called if Enforcement.Observes.
	Changed func(path string)
	// Draft, if set, receives what the command changes, in place of the files themselves. Where a backend
	// cannot do that the command does not start.
	Draft Draft
	// Looked, if set, receives each name that the command looks up on a draft, before that happens: an absolute path,
	// through links, of what is there or is not. opened: it opens it. Without a slash in front it says what was not seen, or what no draft keeps. It makes each of
	// these calls slower, must not wait, and may be called twice for one name.
	Looked func(path string, opened bool)
	// Idle gives the command the lowest priority, where a backend can do that.
	Idle bool
	// Learn, if set, is called for each refusal that a grant could lift. It returns at once what
	// that one call may do, so one run shows all that a command needs. No Holder is asked then.
	// What is protected or closed to reading (Policy.Protected, DenyRead) stays refused, and Learn
	// does not see it. With Reads all else can be read, and Learn sees what Policy.Read does not open.
	// The command waits during the call, so Learn must neither block nor take long. The calls come one
	// at a time. A grant that does not cover Denial.Target is a refusal. A backend without a broker
	// never calls Learn.
	Learn func(Denial) (Grant, bool)
	// Listens, if set, receives each TCP port on which the command begins to listen in a network that
	// belongs to the session. It must not wait. A backend without such a network never calls it.
	Listens func(Listener)
	// Versions, if set, returns what name, a path in the work tree at top, was in the commits that the
	// person's own repository had when the session began. Content that a file had there may be put there
	// again, though its name is protected (Policy.JudgeTracked). It may take seconds.
	Versions func(top, name string) Versions
	// Named are paths below the shared folders for temporary files that the command names. A backend
	// that replaces these folders shows it the host's files there, to be read.
	Named []string
	// Alive, if set, is a file that a helper keeps open until all processes of the command have ended, also
	// when codeagent is killed: a lock on it says that they run. The command does not inherit it.
	// A backend without such a helper ignores it.
	Alive *os.File
	// Stdin, Stdout and Stderr become the command's descriptors 0, 1 and 2. A nil file is
	// /dev/null.
	Stdin, Stdout, Stderr *os.File
	// Foreground leaves the command in the caller's session, terminal and process group (for
	// `codeagent sandbox`). Otherwise the command gets its own session and no controlling terminal.
	Foreground bool
	// Terminal means that the three files are one terminal. It becomes the controlling terminal of
	// the command's own session. It excludes Foreground.
	Terminal bool
}

// Draft is where the changes of a command go instead of its write roots.
type Draft interface {
	// Layer returns two folders of one file system for the changes below root, a write root that is a
	// folder. upper has the changes of the commands before, and work is empty. Without work the command sees upper
	// itself in place of root.
	Layer(root string) (upper, work string, err error)
	// TooLarge reports whether the first change of the file at path would copy more than the draft takes. The
	// change then fails with EFBIG.
	TooLarge(path string) bool
}

// Listener is a TCP port on which a command listens in the session's own network. Executable is the
// file of the program that listens, Program its name where no file is known.
type Listener struct {
	Port                uint16
	Executable, Program string
	// Publish serves the port at host, an address of the host's IPv4 loopback, with the same port if that
	// is free. It ends with stop, and with the command. Only programs of this user and of root are served.
	Publish func(host netip.Addr) (at netip.AddrPort, stop func(), err error)
}

// Blob is git's name of a content, and whether the file was executable.
type Blob struct {
	ID         string
	Executable bool
}

// Versions are what a path was in a history.
type Versions struct {
	// Blobs are what it was as a regular file.
	Blobs map[Blob]bool
	// Folder: it was a folder.
	Folder bool
}

// Programs are the absolute paths that name may mean in the environment env; a name with a slash
// means itself. It skips relative and empty entries of PATH: a command that can write its working
// directory must not choose which program runs.
func Programs(name string, env []string) []string {
	if strings.Contains(name, "/") {
		return []string{name}
	}
	search := ""
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			search = value
		}
	}
	var out []string
	for dir := range strings.SplitSeq(search, ":") {
		if strings.HasPrefix(dir, "/") {
			out = append(out, strings.TrimSuffix(dir, "/")+"/"+name)
		}
	}
	return out
}

// Status is how a command ended. Exactly one of Exit and Signal is meaningful.
type Status struct {
	// Exit is the exit status; -1 if a signal ended the command.
	Exit int
	// Signal is the number of the signal that ended it; 0 if it exited.
	Signal int
	// Limit is the limit that the command reached, if the backend knows it for certain;
	// exec.Reached finds the others.
	Limit Limit
}

// These exit statuses report a failed start, as in env(1) and timeout(1).
const (
	ExitCannotConfine = 125
	ExitCannotExec    = 126
	ExitNotFound      = 127
)

// StartError reports that the command did not run, and why. The command itself never causes it.
type StartError struct {
	// Code is ExitCannotConfine, ExitCannotExec or ExitNotFound.
	Code int
	// Stage is the step that failed, e.g. "landlock", "seccomp", "exec".
	Stage string
	Err   error
}

func (e *StartError) Error() string {
	switch e.Code {
	case ExitNotFound:
		return fmt.Sprintf("command not found: %v", e.Err)
	case ExitCannotExec:
		return fmt.Sprintf("command cannot be executed: %v", e.Err)
	}
	return fmt.Sprintf("sandbox: %s: %v (the command did not run)", e.Stage, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// LeftError reports that processes of a command survived every attempt to kill them: they hang in
// the kernel, in a frozen group or on a file system that is gone. They stay confined.
type LeftError struct {
	// Processes are in the form "PID (program)".
	Processes []string
}

func (e *LeftError) Error() string {
	return "could not be killed and still there: process " + strings.Join(e.Processes, ", ")
}

// LayerState is how well a layer works here.
type LayerState string

const (
	LayerActive   LayerState = "active"
	LayerDegraded LayerState = "degraded"
	LayerAbsent   LayerState = "absent"
)

// Layer is one mechanism of a backend: "landlock", "seccomp", "notify",
// "userns", "mountns", "netns", "connect", "pidns", "cgroup", "seatbelt".
type Layer struct {
	Name  string     `json:"name"`
	State LayerState `json:"state"`
	// Reason is what was found, e.g. "ABI 7" or the error of the probe.
	Reason string `json:"reason,omitempty"`
}

// Enforcement is what a backend does for one policy on this machine.
type Enforcement struct {
	Backend string `json:"backend"`
	// LandlockABI is 0 if there is no Landlock.
	LandlockABI int        `json:"landlock_abi"`
	Layers      []Layer    `json:"layers"`
	Weaknesses  []Weakness `json:"weaknesses"`
	// Observes means that Command.Observer receives every change in a write root. Otherwise it
	// receives none, and undo needs another way. It is the same for every policy.
	Observes bool `json:"-"`
}

// Weak reports whether e lists the weakness with that ID.
func (e Enforcement) Weak(id string) bool {
	return slices.ContainsFunc(e.Weaknesses, func(w Weakness) bool { return w.ID == id })
}

// Active returns the names of the active layers, in order.
func (e Enforcement) Active() []string {
	names := []string{}
	for _, l := range e.Layers {
		if l.State == LayerActive {
			names = append(names, l.Name)
		}
	}
	return names
}

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
	// Unsaved says in words why the content of a regular file could not be restored. It is empty if
	// the content could be restored, or if the session made the file. For a folder it may give a
	// reason if anything in it could not be restored. It is called right before a reported entry is
	// deleted, replaced, emptied or moved away, with the arguments of BeforeChange. Other commands
	// wait during the call, so Unsaved reads no content.
	Unsaved(dir int, name, path string) (why string)
}
